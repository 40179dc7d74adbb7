package beneath

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

func walkAll(t testing.TB, s *Set, p string) (paths, failed []string) {
	t.Helper()
	o, err := s.Open(Ref{0, p}, Dir)
	must(t, err)
	defer o.Close()
	must(t, o.Walk(ctx(), func(n *Node) (Step, error) {
		paths = append(paths, fmt.Sprintf("%d %s", n.Depth(), n.At().Path))
		return Into, nil
	}, func(rel string, err error) { failed = append(failed, rel+": "+outcome(err)) }))
	return paths, failed
}

// TestWalkOrder compares with filepath.WalkDir on a tree whose names would be out of order if whole paths were sorted.
func TestWalkOrder(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/a/x 1", "file ws/a.b 1", "file ws/a-b/y 1", "file ws/a0 1", "mkdir ws/empty", "file ws/\xff 1", "link ws/up ..", "link ws/a/out ../../out")
	var want []string
	must(t, filepath.WalkDir(w.path("ws"), func(p string, e fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(w.path("ws"), p); rel != "." {
			want = append(want, fmt.Sprintf("%d %s", 1+strings.Count(rel, "/"), rel))
		}
		return nil
	}))
	got, failed := walkAll(t, w.set(false), "")
	if !slices.Equal(got, want) || failed != nil {
		t.Errorf("%q\nwant %q\nfailed %q", got, want, failed)
	}
}

func TestWalkSteps(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/e/g/h x", "link ws/l d/f", "link ws/out ../out/secret")
	s := w.set(false)
	o, err := s.Open(Ref{}, Dir)
	must(t, err)
	defer o.Close()
	var seen []string
	must(t, o.Walk(ctx(), func(n *Node) (Step, error) {
		seen = append(seen, n.At().Path)
		switch n.Name() {
		case "d":
			return Over, nil
		case "g":
			return Stop, nil
		}
		return Into, nil
	}, nil))
	if strings.Join(seen, " ") != "alive d e e/g" {
		t.Error(seen)
	}
	boom := errors.New("boom")
	if err := o.Walk(ctx(), func(*Node) (Step, error) { return Into, boom }, nil); err != boom {
		t.Error(err)
	}
	must(t, o.List(ctx(), "", func(n *Node) (Step, error) {
		switch n.Name() {
		case "l":
			i, ok := n.Target()
			if n.Type() != fs.ModeSymlink || !ok || i.Size != int64(len(inside)) {
				t.Error("link:", n.Type(), i, ok)
			}
			if _, err := n.Open(); outcome(err) != "path_unresolvable [link]" {
				t.Error(err)
			}
			if i, err := n.Info(); err != nil || i.Mode.Type() != fs.ModeSymlink || i.Size != int64(len("d/f")) {
				t.Error(i, err)
			}
		case "out":
			if _, ok := n.Target(); ok {
				t.Error("tells of what is outside")
			}
		case "alive":
			f, err := n.Open()
			must(t, err)
			defer f.Close()
			if f.At() != (Ref{0, "alive"}) || f.IsDir() {
				t.Error(f.At())
			}
		}
		return Over, nil
	}))
	f, err := s.Open(Ref{0, "alive"}, File)
	must(t, err)
	defer f.Close()
	if err := f.List(ctx(), "", nil); outcome(err) != "not_a_directory" {
		t.Error(err)
	}
}

func TestListAfter(t *testing.T) {
	w := newWorld(t)
	for i := range 300 {
		w.do(fmt.Sprintf("file ws/many/%03d x", i))
	}
	o, err := w.set(false).Open(Ref{0, "many"}, Dir)
	must(t, err)
	defer o.Close()
	var all []string
	for pages, after := 0, ""; ; pages++ {
		n := 0
		must(t, o.List(ctx(), after, func(e *Node) (Step, error) {
			all, after, n = append(all, e.Name()), e.Name(), n+1
			if n == 70 {
				return Stop, nil
			}
			return Into, nil
		}))
		if n == 0 {
			if pages != 5 {
				t.Error(pages, "pages")
			}
			break
		}
	}
	if len(all) != 300 || !slices.IsSorted(all) {
		t.Error(len(all))
	}
}

func TestWalkEnds(t *testing.T) {
	w := newWorld(t)
	for i := range 200 {
		w.do(fmt.Sprintf("file ws/many/%03d x", i))
	}
	o, err := w.set(false).Open(Ref{}, Dir)
	must(t, err)
	defer o.Close()
	c, cancel := context.WithCancelCause(ctx())
	stale := &rootbound.Error{Reason: rootbound.GenerationStale}
	n := 0
	err = o.Walk(c, func(*Node) (Step, error) {
		if n++; n == 10 {
			cancel(stale)
		}
		return Into, nil
	}, nil)
	if err != error(stale) || n > 100 {
		t.Error(n, err)
	}
	c, stop := context.WithCancel(ctx())
	stop()
	if err := o.List(c, "", nil); outcome(err) != "cancelled" {
		t.Error(err)
	}
}

// TestWalkDeep goes below what may be held open and finds its way back; a directory that is moved away meanwhile is
// reported and left.
func TestWalkDeep(t *testing.T) {
	w := newWorld(t)
	s := w.set(false)
	const depth = 5 * heldLevels
	deep := strings.TrimSuffix(repeat(depth, "s/"), "/")
	o, _, err := s.MkdirAll(Ref{0, deep}, allow, direct)
	must(t, err)
	o.Close()
	for _, at := range []int{0, 1, heldLevels, depth - 1} {
		w.do("file ws/" + repeat(at, "s/") + "z x")
	}
	before := openFDs(t)
	got, failed := walkAll(t, s, "")
	if failed != nil || len(got) != 3+depth+4 {
		t.Errorf("%d entries, failed %q", len(got), failed)
	}
	if last := got[len(got)-1]; last != "1 z" {
		t.Error("last:", last)
	}
	top, err := s.Open(Ref{}, Dir)
	must(t, err)
	defer top.Close()
	most, seen := 0, 0
	failed = nil
	must(t, top.Walk(ctx(), func(n *Node) (Step, error) {
		most = max(most, openFDs(t)-before)
		if n.Depth() == depth && n.Name() == "s" {
			must(t, os.Rename(w.path("ws/s/s/s"), w.path("out/away")))
		}
		seen++
		return Into, nil
	}, func(rel string, err error) { failed = append(failed, rel+": "+outcome(err)) }))
	if most > heldLevels+4 {
		t.Error(most, "descriptors at once")
	}
	if len(failed) == 0 || !strings.HasSuffix(failed[0], "moved_out") || failed[0] != "s/s: moved_out" {
		t.Error("failed:", failed)
	}
	if after := openFDs(t); after != before+1 {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// openFDs counts the descriptors of this process without /proc.
func openFDs(t testing.TB) int {
	n := 0
	for fd := range 1024 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			n++
		}
	}
	return n
}

func TestNothingStaysOpen(t *testing.T) {
	eachTier(t, func(t *testing.T, walkOnly bool) {
		w := newWorld(t)
		w.do("link ws/l d/f", "link ws/out ../out/secret", "link ws/abs $ROOT/d", "link ws/a ws/b", "file ws/x/y/z q")
		s := w.set(walkOnly)
		before := openFDs(t)
		for _, p := range []string{"d/f", "l", "abs/f", "out", "a", "d/f/", "nope", "x/y/../y/z", "x/y/z/q", "d", "", "abs/..", "x/nope/y"} {
			for _, how := range []How{Any, File, Dir, Handle} {
				read(s, Ref{0, p}, how)
			}
			for _, follow := range []bool{false, true} {
				if e, err := s.Entry(Ref{0, p}, follow); err == nil {
					if o, err := e.Open(Any); err == nil {
						o.Close()
					}
					e.Close()
				}
			}
			if o, _, err := s.MkdirAll(Ref{0, p}, func(Ref, int) error { return os.ErrPermission }, direct); err == nil {
				o.Close()
			}
		}
		put(t, s, "l", "x")
		_ = write(s, "d", "x")
		walkAll(t, s, "")
		if after := openFDs(t); after != before {
			t.Errorf("%d descriptors, %d before", after, before)
		}
	})
}
