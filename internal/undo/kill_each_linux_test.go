package undo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
)

// single are the changes beside patches, each in the project of grove.
func single(what string) func(context.Context, *house) error {
	work := func(r guard.Request, do func(context.Context, *guard.Target) error) func(context.Context, *house) error {
		return func(ctx context.Context, h *house) error {
			if what == "delete a tree, nothing kept" {
				h.g.Tune(guard.Tuning{})
			}
			return h.g.Do(ctx, r, do)
		}
	}
	switch what {
	case "write":
		return work(guard.Request{Op: rootbound.OpWrite, Root: "p", Path: "a"}, func(ctx context.Context, on *guard.Target) error {
			_, err := fileop.Write(ctx, on, []byte("new a\n"), fileop.Expected{})
			return err
		})
	case "append":
		return work(guard.Request{Op: rootbound.OpWrite, Root: "p", Path: "a"}, func(ctx context.Context, on *guard.Target) error {
			_, err := fileop.Append(ctx, on, []byte("and more\n"), fileop.Expected{}, 0)
			return err
		})
	case "copy a tree":
		return work(guard.Request{Op: rootbound.OpCopy, Root: "p", Path: "t", DestRoot: "p", Dest: "u"}, func(ctx context.Context, on *guard.Target) error {
			_, err := fileop.Copy(ctx, on, fileop.Expected{})
			return err
		})
	case "delete a tree", "delete a tree, nothing kept":
		return work(guard.Request{Op: rootbound.OpDelete, Root: "p", Path: "t", Recursive: true}, func(ctx context.Context, on *guard.Target) error {
			_, err := fileop.Delete(ctx, on, fileop.Expected{})
			return err
		})
	case "move a tree across file systems":
		return work(guard.Request{Op: rootbound.OpMove, Root: "p", Path: "t", DestRoot: "q", Dest: "t"}, func(ctx context.Context, on *guard.Target) error {
			_, err := fileop.Move(ctx, on, false)
			return err
		})
	case "move a file across file systems, over another":
		return work(guard.Request{Op: rootbound.OpMove, Root: "p", Path: "a", DestRoot: "q", Dest: "a", Overwrite: true}, func(ctx context.Context, on *guard.Target) error {
			_, err := fileop.Move(ctx, on, true)
			return err
		})
	}
	return func(context.Context, *house) error { return errors.New("no such change") }
}

// grove makes the two projects: p with a file and a tree, and, where there is another file system, q with one file.
func grove(t *testing.T, across bool) (tmp, stateDir, second string) {
	t.Helper()
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	put(t, tmp+"/p/a", "old a\n")
	put(t, tmp+"/p/t/b", "b\n")
	put(t, tmp+"/p/t/s/c", "c\n")
	if across {
		second = elsewhere(t)
		put(t, second+"/a", "their a\n")
	}
	stateDir = tmp + "/state"
	h, err := furnish(tmp, stateDir, Options{})
	must(t, err)
	must(t, errors.Join(h.s.Close(), h.locks.Close()))
	return tmp, stateDir, second
}

// both lists both projects.
func both(t *testing.T, tmp, second string) string {
	t.Helper()
	out := listing(t, tmp+"/p")
	if second != "" {
		out += "on the other file system:\n" + listing(t, second)
	}
	return out
}

// TestKilledAtEachCall: a process that is killed in front of any call that changes something leaves, after the next start,
// all old or all new; a move to another file system is, between the two, the copy and what of the source is not yet gone.
// What another program wrote between the end and the start is there still, under the name it chose, and what is left over
// has a name that tells what it is.
func TestKilledAtEachCall(t *testing.T) {
	for _, what := range []string{
		"write", "append", "copy a tree", "delete a tree", "delete a tree, nothing kept",
		"move a tree across file systems", "move a file across file systems, over another",
	} {
		t.Run(what, func(t *testing.T) {
			if what == "append" && os.Getenv("RB_LONG") == "" {
				t.Skip("environment: set RB_LONG=1 for the long form")
			}
			killedAtEach(t, what)
		})
	}
}

func killedAtEach(t *testing.T, what string) {
	across := strings.Contains(what, "across")
	tmp, stateDir, second := grove(t, across)
	old := both(t, tmp, second)
	calls := slices.DeleteFunc(rig.Trace(t, rig.Child(tmp, stateDir, what, second)), func(c rig.Call) bool { return !c.Changes() })
	done := both(t, tmp, second)
	if strings.Contains(done, beneath.TempPrefix) || done == old {
		t.Fatalf("without a kill:\n%s", done)
	}
	back, half, forth := 0, 0, 0
	for i, c := range calls {
		if i%3 == 1 || os.Getenv("RB_LONG") != "" {
			tmp, stateDir, second := grove(t, across)
			if rig.Kill(t, rig.Child(tmp, stateDir, what, second), c) {
				path := meddle(t, strings.Contains(what, "tree"), tmp+"/p", second)
				_, notes := recovered(t, tmp, stateDir, second)
				if b, err := os.ReadFile(path); err != nil || string(b) != "theirs\n" {
					t.Errorf("killed at %v: what another program wrote to %s: %q %v\n%s%q", c, path, b, err, both(t, tmp, second), notes)
				}
			}
		}
		tmp, stateDir, second := grove(t, across)
		var out bytes.Buffer
		child := rig.Child(tmp, stateDir, what, second)
		child.Stdout = &out
		if !rig.Kill(t, child, c) {
			continue
		}
		h, notes := recovered(t, tmp, stateDir, second)
		got := visible(both(t, tmp, second))
		acknowledged := strings.Contains(out.String(), "applied")
		switch {
		case got == old:
			back++
		case got == done:
			forth++
		case across && onItsWay(got, old, done) && !acknowledged:
			half++
		default:
			t.Errorf("killed at %v: neither all old nor all new:\n%s%q", c, got, notes)
		}
		if acknowledged && got != done {
			t.Errorf("killed at %v: acknowledged and taken back", c)
		}
		for _, note := range notes {
			if !strings.Contains(note, "was rolled back") {
				t.Errorf("killed at %v: %s", c, note)
			}
		}
		if n := names(t, h.state+"/undo/begun"); len(n) > 0 {
			t.Errorf("killed at %v: begun holds %v", c, n)
		}
		leftovers(t, c, tmp+"/p", second)
	}
	t.Logf("killed at %d calls: %d times all old, %d times all new, %d times in between", len(calls), back, forth, half)
	if back == 0 { // that the end is reached is seen in the trace
		t.Error("no call before the effect is among them")
	}
}

// onItsWay reports whether a move is between its copy and the end: what is new is whole, and of what is old nothing changed.
func onItsWay(got, old, done string) bool {
	is := strings.Split(got, "\n")
	for line := range strings.SplitSeq(done, "\n") {
		if !slices.Contains(is, line) {
			return false
		}
	}
	for _, line := range is {
		if !strings.Contains(old, line+"\n") && !strings.Contains(done, line+"\n") && line != "" {
			return false
		}
	}
	return true
}

// meddle writes to a visible file of what changes, as a program does that knows nothing of us, and names it.
func meddle(t *testing.T, tree bool, dirs ...string) (path string) {
	t.Helper()
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case strings.HasPrefix(d.Name(), beneath.TempPrefix) && d.IsDir():
				return fs.SkipDir
			case strings.HasPrefix(d.Name(), beneath.TempPrefix), !d.Type().IsRegular():
			case path == "", tree && strings.Contains(p, "/t/"), tree && strings.Contains(p, "/u/"):
				path = p
			}
			return nil
		}))
	}
	must(t, os.WriteFile(path, []byte("theirs\n"), 0o640))
	return path
}

// leftovers may only be what was made and not yet written down: empty, under a name that tells what it is.
func leftovers(t *testing.T, c rig.Call, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasPrefix(d.Name(), beneath.TempPrefix) {
				return err
			}
			i, err := d.Info()
			if err != nil {
				return err
			}
			if d.IsDir() {
				if n := names(t, p); len(n) > 0 {
					t.Errorf("killed at %v: %s is left with %v", c, p, n)
				}
				return nil
			}
			if i.Size() > 0 {
				t.Errorf("killed at %v: %s is left with %d bytes", c, p, i.Size())
			}
			return nil
		}))
	}
}
