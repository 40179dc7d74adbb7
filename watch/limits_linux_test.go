package watch

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/internal/rig"
)

// faulty is a notifier whose watches run out, and into which notices can be put.
type faulty struct {
	*beneath.Notifier
	left  atomic.Int64
	added atomic.Int64
	gone  atomic.Int64
	extra chan beneath.Notice // told before what the kernel tells
}

func (f *faulty) refuse() error {
	if f.left.Add(-1) < 0 {
		return &rootbound.Error{Reason: rootbound.LimitReached, Detail: "inotify watches", Next: "fs.inotify.max_user_watches"}
	}
	f.added.Add(1)
	return nil
}

func (f *faulty) Add(o *beneath.Object) (beneath.WatchID, error) {
	if err := f.refuse(); err != nil {
		return 0, err
	}
	return f.Notifier.Add(o)
}

func (f *faulty) AddSelf(o *beneath.Object) (beneath.WatchID, error) {
	if err := f.refuse(); err != nil {
		return 0, err
	}
	return f.Notifier.AddSelf(o)
}

func (f *faulty) AddTree(ctx context.Context, o *beneath.Object, entered func(beneath.WatchID, beneath.ObjectID, string, int) (bool, error),
	visit func(*beneath.Node) (beneath.Step, error), failed func(string, error)) error {
	return f.Notifier.AddTree(ctx, o, func(id beneath.WatchID, dir beneath.ObjectID, name string, depth int) (bool, error) {
		if err := f.refuse(); err != nil {
			f.Notifier.Remove(id)
			return false, err
		}
		return entered(id, dir, name, depth)
	}, visit, failed)
}

func (f *faulty) Remove(id beneath.WatchID) {
	f.gone.Add(1)
	f.Notifier.Remove(id)
}

func (f *faulty) Next(tell func(beneath.Notice)) error {
	return f.Notifier.Next(func(n beneath.Notice) {
		for {
			select {
			case e := <-f.extra:
				tell(e)
				continue
			default:
			}
			break
		}
		tell(n)
	})
}

func newFaulty(t *testing.T, o Options, left int64) (*Watcher, *faulty) {
	t.Helper()
	n, err := beneath.NewNotifier()
	must(t, err)
	f := &faulty{Notifier: n, extra: make(chan beneath.Notice, 8)}
	f.left.Store(left)
	in := newWith(f, o)
	t.Cleanup(in.Close)
	return in, f
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.do("mkdir ws/a/b/c/d", "mkdir ws/a/b/e")
	limited := func(err error) {
		t.Helper()
		if rootbound.ReasonOf(err) != rootbound.LimitReached || strings.Contains(err.Error(), w.dir) {
			t.Errorf("%v", err)
		}
	}
	o := w.open("a/b")
	defer o.Close()
	for left := range int64(6) { // the root, a, and four below: each of them may be the one too many
		in, f := newFaulty(t, Options{}, left)
		s := hiding("nothing")
		_, err := in.Add(context.Background(), o, true, s, func(Event) {})
		if limited(err); err != nil && !strings.Contains(err.Error(), "max_user_watches") {
			t.Errorf("the refusal does not say what to raise: %v", err)
		}
		<-s.closed
		if f.gone.Load() != left || len(in.watches) != 0 || len(in.owners.pages) != 0 {
			t.Errorf("%d of %d watches were removed, %d watches are left", f.gone.Load(), left, len(in.watches))
		}
		in.Close()
	}
	in := newWatcher(t, Options{Directories: 3})
	_, err := in.Add(context.Background(), o, true, nil, func(Event) {})
	limited(err)

	// A directory that appears and cannot be watched ends the watch: half a tree would be silence.
	in, f := newFaulty(t, Options{}, 6)
	_, l := w.watch(in, "a/b", true, nil)
	w.do("mkdir ws/a/b/new")
	l.until(Event{Kind: Ended, Why: rootbound.LimitReached})
	if f.left.Load() >= 0 {
		t.Error("the limit was not met")
	}
}

func TestCancelled(t *testing.T) {
	w := newWorld(t)
	for n := range 200 {
		w.do(fmt.Sprintf("mkdir ws/%d", n))
	}
	in, f := newFaulty(t, Options{}, 1<<30)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := w.open("")
	defer o.Close()
	if _, err := in.Add(ctx, o, true, nil, func(Event) {}); rootbound.ReasonOf(err) != rootbound.Cancelled {
		t.Errorf("%v", err)
	}
	if f.added.Load() != f.gone.Load() {
		t.Errorf("%d added, %d removed", f.added.Load(), f.gone.Load())
	}
}

// After lost notices everybody is told to read again, and the directories that were missed are watched.
func TestLostNotices(t *testing.T) {
	w := newWorld(t)
	w.do("mkdir ws/a", "mkdir ws/b")
	in, f := newFaulty(t, Options{Window: -1}, 1<<30)
	_, l := w.watch(in, "", true, nil)
	_, lb := w.watch(in, "b", false, nil)
	f.extra <- beneath.Notice{What: beneath.Lost}
	w.do("file ws/a/f x")
	l.until(Event{Kind: Overflow})
	lb.until(Event{Kind: Overflow})
	w.do("file ws/a/g x")
	l.untilAny(Event{Rel: "a/g", Kind: Changed}, Event{Kind: Overflow})

	// a whole tree of which there were no notices
	quiet, fq := newFaulty(t, Options{Window: -1, Queue: 1}, 1<<30)
	x, lx := w.watch(quiet, "", true, nil)
	x.Suspend()
	for n := range 5 {
		w.do(fmt.Sprintf("mkdir ws/n%d/m", n))
	}
	o := w.open("")
	defer o.Close()
	must(t, x.Resume(o, nil))
	lx.untilAny(Event{Kind: Changed}, Event{Kind: Overflow}) // the latter for what was read after Resume
	fq.extra <- beneath.Notice{ID: 1 << 30, What: beneath.Made, Name: "nobody"}
	w.do("file ws/n4/m/f x")
	lx.untilAny(Event{Rel: "n4/m/f", Kind: Changed}, Event{Kind: Overflow})
}

// The kernel's own limits: in a user namespace, which has some of its own.
func TestKernelLimits(t *testing.T) {
	if !rig.OwnLimits(t) {
		return
	}
	w := newWorld(t)
	for n := range 30 {
		w.do(fmt.Sprintf("mkdir ws/%d", n))
	}
	rig.Limit(t, "max_inotify_watches", 20)
	in := newWatcher(t, Options{})
	o := w.open("")
	defer o.Close()
	told := newLog(t)
	if _, err := in.Add(t.Context(), o, true, nil, told.add); rootbound.ReasonOf(err) != rootbound.LimitReached || !strings.Contains(err.Error(), "fs.inotify.max_user_watches") {
		t.Errorf("%v", err)
	}
	x, err := in.Add(t.Context(), o, false, nil, told.add) // nothing is left of the first
	must(t, err)
	x.Close()
	rig.Limit(t, "max_inotify_instances", 1)
	if _, err := New(Options{}); rootbound.ReasonOf(err) != rootbound.LimitReached || !strings.Contains(err.Error(), "fs.inotify.max_user_instances") {
		t.Errorf("%v", err)
	}
}
