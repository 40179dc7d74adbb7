package undo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/internal/state"
	"github.com/rootbound/rootbound/patch"
)

func init() { rig.FirstThread() }

// TestMain makes, in a child of the tests below, one change: told are the directory that holds the project, the state
// directory and, but for a patch, the change and the directory of a second project.
func TestMain(m *testing.M) {
	if told := rig.Told(); told != nil {
		work := func(ctx context.Context, h *house) error {
			_, err := patch.Apply(ctx, h.g, "p", change(), nil)
			return err
		}
		second := ""
		if len(told) > 2 {
			work, second = single(told[2]), told[3]
		}
		err := child(told[0], told[1], second, work)
		if err == nil {
			fmt.Println("applied")
		}
		rig.Leave(err)
	}
	os.Exit(m.Run())
}

func child(tmp, stateDir, second string, work func(context.Context, *house) error) error {
	h, err := furnish(tmp, stateDir, Options{})
	if err != nil {
		return err
	}
	d, err := state.Open(stateEnv(h.state))
	if err != nil {
		return err
	}
	journal, err := d.Journal()
	if err != nil {
		return err
	}
	h.g = guard.New(guard.Options{Keep: h.s, Locks: h.locks, Journal: journal})
	h.add(second)
	ctx, done, err := h.enter()
	if err != nil {
		return err
	}
	defer done()
	rig.Begin()
	err = work(ctx, h)
	rig.End()
	return err
}

// change is a patch with a file of each kind.
func change() []patch.File {
	on := true
	return []patch.File{
		{Path: "a", After: []byte("new a\n")},
		{Path: "d/b", Delete: true},
		{Path: "d/c", Before: "absent", After: []byte("new c\n")},
		{Path: "run", After: []byte("#!/bin/sh\n"), Exec: &on},
	}
}

func project(t testing.TB, dir string) {
	put(t, dir+"/a", "old a\n")
	put(t, dir+"/d/b", "old b\n")
	put(t, dir+"/run", "#!/bin/sh\n")
}

// restart is what a server does at its start: roll back, then remove temporary files.
func restart(t *testing.T, tmp, stateDir string) (h *house, notes []string) {
	t.Helper()
	return recovered(t, tmp, stateDir, "")
}

// recovered is restart with a second project.
func recovered(t *testing.T, tmp, stateDir, second string) (h *house, notes []string) {
	t.Helper()
	// Two hours later, so that what was cut short in the store is no longer taken for what is being made.
	h, err := furnish(tmp, stateDir, Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.s.Close(); h.locks.Close() })
	h.add(second)
	notes = h.s.Recover(t.Context(), h.projects, h.locks)
	d, err := state.Open(stateEnv(h.state))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Recover(t.Context(), state.RemoveLeftover); err != nil {
		t.Error(err)
	}
	return h, notes
}

// between lets a test act when everything is staged and written down and nothing is visible.
type between struct {
	guard.Keeper
	act func()
}

func (b between) Keep(ctx context.Context, c guard.Change) (guard.Kept, error) {
	k, err := b.Keeper.Keep(ctx, c)
	b.act()
	return k, err
}

// TestG35ApplyIsAllOrNothing: whatever stops a patch, every file holds what it held, or every file what it was to hold.
func TestG35ApplyIsAllOrNothing(t *testing.T) {
	t.Run("another program changes one of the files", func(t *testing.T) {
		for _, file := range []string{"a", "d/b", "d/c", "run"} {
			h := build(t, Options{})
			project(t, h.dir)
			before := listing(t, h.dir)
			after := ""
			_, err := patch.Apply(h.ctx, h.g, "p", change(), between{h.s, func() {
				put(t, h.dir+"/"+file, "theirs\n")
				after = listing(t, h.dir)
			}})
			if r := rootbound.ReasonOf(err); r != rootbound.VersionConflict && r != rootbound.Exists {
				t.Errorf("%s: %v", file, err)
			}
			after = visible(after)
			if got := visible(listing(t, h.dir)); got != after || !strings.Contains(got, "theirs") {
				t.Errorf("%s: from\n%s\nto\n%s", file, before, got)
			}
			if left := names(t, h.state+"/undo/begun"); len(left) > 0 {
				t.Errorf("%s: the journal still says that it has begun: %v", file, left)
			}
		}
	})
	t.Run("killed", func(t *testing.T) { killed(t, func(tmp string) string { return tmp + "/state" }) })
	t.Run("killed, with the state on another file system", func(t *testing.T) {
		if os.Getenv("RB_LONG") == "" {
			t.Skip("environment: set RB_LONG=1 for the long form")
		}
		killed(t, func(string) string { return elsewhere(t) })
	})
}

// visible leaves temporary names out.
func visible(list string) string {
	var b strings.Builder
	for line := range strings.Lines(list) {
		if !strings.Contains(line, beneath.TempPrefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// killed ends the process in front of every call that changes something, and starts anew.
func killed(t *testing.T, stateFor func(tmp string) string) {
	fresh := func() (tmp, stateDir, before string) {
		tmp = t.TempDir()
		stateDir = stateFor(tmp)
		project(t, tmp+"/p")
		h, err := furnish(tmp, stateDir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		h.s.Close()
		h.locks.Close()
		return tmp, stateDir, listing(t, tmp+"/p")
	}
	tmp, stateDir, old := fresh()
	calls := slices.DeleteFunc(rig.Trace(t, rig.Child(tmp, stateDir)), func(c rig.Call) bool { return !c.Changes() })
	done := listing(t, tmp+"/p")
	if strings.Contains(done, beneath.TempPrefix) || done == old {
		t.Fatalf("without a kill:\n%s", done)
	}
	back, forth := 0, 0
	for _, c := range calls {
		tmp, stateDir, old := fresh()
		var out bytes.Buffer
		child := rig.Child(tmp, stateDir)
		child.Stdout = &out
		if !rig.Kill(t, child, c) {
			continue
		}
		h, notes := restart(t, tmp, stateDir)
		// A file that was made and not yet written down is empty and has a name that tells what it is.
		got := visible(listing(t, tmp+"/p"))
		switch {
		case got == old:
			back++
		case got == done:
			forth++
		default:
			t.Errorf("killed at %v: neither all old nor all new:\n%s%q", c, got, notes)
		}
		if acknowledged := strings.Contains(out.String(), "applied"); acknowledged && got != done {
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
		if n := names(t, h.state+"/undo/data"); got == old && len(n) > 0 {
			t.Errorf("killed at %v: the store holds %v", c, n)
		}
	}
	t.Logf("killed at %d calls: %d times all old, %d times all new", len(calls), back, forth)
	if back == 0 || forth == 0 {
		t.Error("the calls before and after the end of the change are not both among them")
	}
}
