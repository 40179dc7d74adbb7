package watch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a root ws with something outside beside it.
type world struct {
	t   testing.TB
	dir string
	set *beneath.Set
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{t: t, dir: dir}
	w.do("mkdir ws", "file out/f x")
	root, err := beneath.OpenRoot(dir + "/ws")
	must(t, err)
	t.Cleanup(root.Release)
	w.set = beneath.NewSet([]beneath.Member{{Root: root}}, nil)
	return w
}

// do performs steps: "mkdir P", "file P TEXT", "link P TARGET", "rm P", "mv A B". Parents are made.
func (w *world) do(steps ...string) {
	w.t.Helper()
	for _, s := range steps {
		f := strings.SplitN(s, " ", 3)
		p := w.dir + "/" + f[1]
		must(w.t, os.MkdirAll(filepath.Dir(p), 0o755))
		switch f[0] {
		case "mkdir":
			must(w.t, os.MkdirAll(p, 0o755))
		case "file":
			must(w.t, os.WriteFile(p, []byte(f[2]), 0o644))
		case "link":
			must(w.t, os.Symlink(f[2], p))
		case "rm":
			must(w.t, os.RemoveAll(p))
		case "mv":
			must(w.t, os.Rename(p, w.dir+"/"+f[2]))
		default:
			w.t.Fatalf("no step %q", s)
		}
	}
}

func (w *world) open(p string) *beneath.Object {
	w.t.Helper()
	o, err := w.set.Open(beneath.Ref{Path: p}, beneath.Handle)
	must(w.t, err)
	return o
}

// log collects events.
type log struct {
	t    testing.TB
	mu   sync.Mutex
	cond sync.Cond
	all  []Event
}

func newLog(t testing.TB) *log {
	l := &log{t: t}
	l.cond.L = &l.mu
	return l
}

func (l *log) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
	l.cond.Broadcast()
}

// until waits for an event, forgets it and all before it, and gives those.
func (l *log) until(want Event) []Event { l.t.Helper(); return l.untilAny(want) }

func (l *log) untilAny(want ...Event) (got []Event) {
	l.t.Helper()
	l.eventually(func(all []Event) bool {
		for i, e := range all {
			if slices.Contains(want, e) {
				got = all[:i+1]
				l.all = all[i+1:]
				return true
			}
		}
		return false
	}, func() string { return fmt.Sprintf("no %+v in %+v", want, l.all) })
	return got
}

// eventually waits until enough was told, a minute at most.
func (l *log) eventually(enough func([]Event) bool, why func() string) {
	l.t.Helper()
	end := time.Now().Add(time.Minute)
	late := time.AfterFunc(time.Minute, func() { l.mu.Lock(); l.cond.Broadcast(); l.mu.Unlock() })
	defer late.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for !enough(l.all) {
		if !time.Now().Before(end) {
			l.t.Fatal(why())
		}
		l.cond.Wait()
	}
}

func newWatcher(t testing.TB, o Options) *Watcher {
	t.Helper()
	w, err := New(o)
	must(t, err)
	t.Cleanup(w.Close)
	return w
}

func (w *world) watch(in *Watcher, p string, tree bool, see Sight) (*Watch, *log) {
	w.t.Helper()
	l := newLog(w.t)
	o := w.open(p)
	defer o.Close()
	x, err := in.Add(context.Background(), o, tree, see, l.add)
	must(w.t, err)
	return x, l
}

func TestDirectory(t *testing.T) {
	w := newWorld(t)
	w.do("mkdir ws/d/sub", "file ws/d/old 1")
	in := newWatcher(t, Options{})
	_, l := w.watch(in, "d", false, nil)
	w.do("file ws/d/new x")
	l.until(Event{Rel: "new", Kind: Changed})
	w.do("file ws/d/old 2")
	l.until(Event{Rel: "old", Kind: Changed})
	w.do("rm ws/d/new")
	l.until(Event{Rel: "new", Kind: Gone})
	w.do("file ws/d/sub/deep x", "rm ws/d")
	for _, e := range l.until(Event{Kind: Ended, Why: rootbound.NotFound}) {
		if strings.Contains(e.Rel, "deep") {
			t.Errorf("told of what lies deeper: %+v", e)
		}
	}
}

func TestFile(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/d/f 1", "file ws/d/g 1")
	in := newWatcher(t, Options{})
	_, l := w.watch(in, "d/f", false, nil)
	w.do("file ws/d/g 2", "file ws/d/f 2")
	l.until(Event{Kind: Changed})
	w.do("file ws/d/tmp 3", "mv ws/d/tmp ws/d/f")
	l.until(Event{Kind: Changed})
	w.do("file ws/d/h 1")
	slow := newWatcher(t, Options{Window: time.Hour}) // the file may be missing that long
	_, h := w.watch(slow, "d/h", false, nil)
	w.do("mv ws/d/h ws/d/h~", "file ws/d/h 2")
	h.until(Event{Kind: Changed})
	w.do("rm ws/d/f")
	for _, e := range l.until(Event{Kind: Ended, Why: rootbound.NotFound}) {
		if e.Rel != "" {
			t.Errorf("%+v", e)
		}
	}
}

// What one owner watches in all is bounded, others are not touched, and what ends is given back.
func TestTogether(t *testing.T) {
	w := newWorld(t)
	w.do("mkdir ws/a/b", "mkdir ws/c")
	in := newWatcher(t, Options{Together: 5})
	o := w.open("")
	defer o.Close()
	add := func(owner string) (*Watch, error) {
		return in.AddFor(context.Background(), owner, o, true, nil, func(Event) {})
	}
	x, err := add("one")
	must(t, err)
	_, err = add("one")
	if rootbound.ReasonOf(err) != rootbound.LimitReached {
		t.Fatal(err)
	}
	_, err = add("two")
	must(t, err)
	x.Close()
	for { // it ends on a goroutine of its own
		if _, err = add("one"); err == nil {
			break
		}
		runtime.Gosched()
	}
}

func TestTree(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/a/b/c/f 1", "mkdir ws/x")
	in := newWatcher(t, Options{})
	_, l := w.watch(in, "", true, nil)
	w.do("file ws/a/b/c/f 2")
	l.until(Event{Rel: "a/b/c/f", Kind: Changed})
	w.do("file ws/n/m/o/f 1")
	l.until(Event{Rel: "n/m/o/f", Kind: Changed})
	w.do("mv ws/a/b ws/x/y", "file ws/x/y/c/g 1")
	l.until(Event{Rel: "x/y/c/g", Kind: Changed})
	w.do("rm ws/x")
	l.until(Event{Rel: "x", Kind: Gone})
	w.do("file ws/last x")
	l.until(Event{Rel: "last", Kind: Changed})
}

func TestMovedOut(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/a/b/f 1")
	in := newWatcher(t, Options{})
	_, l := w.watch(in, "a/b", true, nil)
	w.do("mv ws/a out/a")
	l.until(Event{Kind: Ended, Why: rootbound.MovedOut})
}
