package watch

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// state describes each entry below ws as far as an event must tell of its change.
func (w *world) state() map[string]string {
	w.t.Helper()
	seen := map[string]string{}
	top := w.dir + "/ws"
	must(w.t, filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == top {
			return err
		}
		i, err := os.Lstat(p)
		if err != nil {
			return err
		}
		st := i.Sys().(*syscall.Stat_t)
		s := fmt.Sprint(i.Mode(), st.Ino)
		switch {
		case i.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			s += fmt.Sprintf(" %d %q", st.Mtim.Nano(), b)
		case i.Mode()&fs.ModeSymlink != 0:
			s, _ = os.Readlink(p)
		}
		seen[p[len(top)+1:]] = s
		return nil
	}))
	return seen
}

// unsaid lists the paths that changed and that nothing tells of: Overflow, an event of that very path, or for what is gone
// one of a directory that it was in.
func unsaid(before, after map[string]string, told []Event) []string {
	said := map[string]bool{}
	for _, e := range told {
		if e.Kind == Overflow {
			return nil
		}
		said[e.Rel] = true
	}
	var list []string
	for p := range before {
		if _, there := after[p]; there || said[p] {
			continue
		}
		up := path.Dir(p)
		for up != "." && !said[up] {
			up = path.Dir(up)
		}
		if up == "." {
			list = append(list, p)
		}
	}
	for p := range after {
		if before[p] != after[p] && !said[p] {
			list = append(list, p)
		}
	}
	return list
}

// change makes one change somewhere; what cannot be done is left.
func (w *world) change(pick func(label string, n int) int) string {
	names := []string{"a", "b", "c"}
	place := func(label string) string {
		p := "ws"
		for range 1 + pick(label+" depth", 4) {
			p += "/" + names[pick(label+" name", len(names))]
		}
		return p
	}
	p, q := place("p"), place("q")
	abs, to := w.dir+"/"+p, w.dir+"/"+q
	away := fmt.Sprintf("%s/out/away%d", w.dir, pick("away", 3))
	switch pick("step", 11) {
	case 0, 1:
		_ = os.MkdirAll(abs, 0o755)
		return "mkdir " + p
	case 2, 3:
		_ = os.WriteFile(abs, fmt.Append(nil, pick("text", 1000)), 0o644)
		return "write " + p
	case 4:
		_ = os.RemoveAll(abs)
		return "rm " + p
	case 5, 6:
		_ = os.Rename(abs, to)
		return "mv " + p + " " + q
	case 7:
		_ = os.Rename(abs, away)
		return "mv out " + p + " " + away[len(w.dir):]
	case 8:
		_ = os.Rename(away, abs)
		return "mv in " + away[len(w.dir):] + " " + p
	case 9:
		_ = os.Symlink(strings.Repeat("../", strings.Count(p, "/"))+"out", abs)
		return "link " + p
	default:
		_ = unix.Renameat2(unix.AT_FDCWD, abs, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
		return "exchange " + p + " " + q
	}
}

// told waits for the event of a file that is made now, after everything before it, or for Overflow. It gives what was
// told until then.
func (w *world) told(l *log, n int) []Event {
	w.t.Helper()
	w.do(fmt.Sprintf("file ws/last%d x", n))
	return l.untilAny(Event{Rel: fmt.Sprintf("last%d", n), Kind: Changed}, Event{Kind: Overflow})
}

// Whatever is done to a tree, each path whose state differs afterwards was told of before a file that is made after it all.
func TestModel(t *testing.T) {
	in := newWatcher(t, Options{Window: -1})
	few := newWatcher(t, Options{Window: -1, Queue: 3, Pending: 4})
	rapid.Check(t, func(r *rapid.T) {
		by := in
		if rapid.IntRange(0, 3).Draw(r, "queue") == 0 {
			by = few
		}
		w := newWorld(t)
		var steps []string
		pick := func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(r, label) }
		for range 5 {
			steps = append(steps, w.change(pick))
		}
		x, l := w.watch(by, "", true, nil)
		defer x.Close()
		for round := range 3 {
			before := w.state()
			for range rapid.IntRange(1, 12).Draw(r, "steps") {
				steps = append(steps, w.change(pick))
			}
			told := w.told(l, round)
			if list := unsaid(before, w.state(), told); len(list) > 0 {
				r.Fatalf("round %d: nobody said that %q changed: %v\nafter %q", round, list, told, steps)
			}
			steps = append(steps, "-")
		}
	})
}

// The same with windows: in the end everything was told, and the watched directories are those of the tree.
func TestModelWindows(t *testing.T) {
	in := newWatcher(t, Options{Pending: 8})
	rounds := 4
	if os.Getenv("RB_LONG") != "" {
		rounds = 200
	}
	for seed := range uint64(rounds) {
		w := newWorld(t)
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(_ string, n int) int { return r.IntN(n) }
		x, l := w.watch(in, "", true, nil)
		before := w.state()
		var steps []string
		for range 200 {
			steps = append(steps, w.change(pick))
		}
		after := w.state()
		var told []Event
		l.eventually(func(all []Event) bool {
			told = all
			return len(unsaid(before, after, all)) == 0
		}, func() string {
			return fmt.Sprintf("seed %d: nobody said that %q changed after %q", seed, unsaid(before, after, told), steps)
		})
		x.Close()
	}
}
