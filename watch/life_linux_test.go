package watch

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// settled waits until the watch has done what it was told.
func (x *Watch) settled() {
	for busy := true; busy; runtime.Gosched() {
		x.mu.Lock()
		busy = x.running || x.renewed != nil || len(x.waiting) > 0
		x.mu.Unlock()
	}
}

// rests waits until the watch has done what it was told and has no window open.
func (x *Watch) rests() {
	for busy := true; busy; runtime.Gosched() {
		x.mu.Lock()
		busy = x.running || len(x.waiting) > 0 || x.lost || x.pend.flood != nil || len(x.pend.open) > 0
		x.mu.Unlock()
	}
}

func TestSuspendAndResume(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/d/f 1", "mkdir ws/other")
	x, l := w.watch(newWatcher(t, Options{Window: -1}), "d", true, nil)
	quiet, lq := w.watch(newWatcher(t, Options{Window: -1}), "d", true, hiding("hidden"))
	x.Suspend()
	quiet.Suspend()
	w.do("file ws/d/hidden1 x", "mkdir ws/d/hidden2")
	quietSight := hiding("hidden")
	o := w.open("d")
	defer o.Close()
	must(t, quiet.Resume(o, quietSight))
	quiet.settled()
	w.do("file ws/d/after x")
	if told := lq.until(Event{Rel: "after", Kind: Changed}); len(told) != 1 {
		t.Errorf("told of what is hidden: %+v", told)
	}
	w.do("file ws/d/f 2", "file ws/d/n/m/f 3", "rm ws/d/f", "file ws/d/f 4")
	if l.mu.Lock(); len(l.all) > 0 {
		t.Errorf("told while suspended: %+v", l.all)
	}
	l.mu.Unlock()
	for read := false; !read; runtime.Gosched() { // of which the reader has told
		x.mu.Lock()
		for _, n := range x.waiting {
			read = read || n.Name == "f" && n.What&beneath.Made != 0
		}
		x.mu.Unlock()
	}
	must(t, x.Resume(o, nil))
	if told := l.until(Event{Kind: Changed}); len(told) != 1 {
		t.Errorf("told %+v before the one change", told)
	}
	w.do("file ws/d/n/m/g 5")
	l.until(Event{Rel: "n/m/g", Kind: Changed})
	x.Suspend()
	other := w.open("other")
	defer other.Close()
	s := hiding("nothing")
	if err := x.Resume(other, s); rootbound.ReasonOf(err) != rootbound.MovedOut {
		t.Errorf("resumed with another object: %v", err)
	}
	<-s.closed
	x.Close()
	s = hiding("nothing")
	if err := x.Resume(o, s); err == nil {
		t.Error("resumed after the end")
	}
	<-s.closed
	quiet.Close()
	<-quietSight.closed
}

// The next generation may reach the object from another root.
func TestResumeUnderAnotherRoot(t *testing.T) {
	w := newWorld(t)
	w.do("mkdir ws/a/b/c", "file ws/a/b/f 1")
	in := newWatcher(t, Options{Window: -1})
	dir, ld := w.watch(in, "a/b", true, nil)
	file, lf := w.watch(in, "a/b/f", false, nil)
	for _, root := range []string{"ws/a", "ws"} {
		r, err := beneath.OpenRoot(w.dir + "/" + root)
		must(t, err)
		defer r.Release()
		set := beneath.NewSet([]beneath.Member{{Root: r}}, nil)
		at := strings.TrimPrefix("ws/a/b", root+"/")
		for p, x := range map[string]*Watch{at: dir, at + "/f": file} {
			o, err := set.Open(beneath.Ref{Path: p}, beneath.Handle)
			must(t, err)
			must(t, x.Resume(o, nil))
			x.settled()
			o.Close()
		}
		name := fmt.Sprintf("c/%d", len(root))
		w.do("file ws/a/b/"+name+" 1", "file ws/a/b/f "+root)
		ld.until(Event{Rel: name, Kind: Changed})
		lf.until(Event{Kind: Changed})
	}
	w.do("mv ws/a ws/z")
	ld.until(Event{Kind: Ended, Why: rootbound.MovedOut})
	lf.until(Event{Kind: Ended, Why: rootbound.MovedOut})
}

// Suspend waits for a function that runs, and Close may be called by it.
func TestSuspendWaits(t *testing.T) {
	w := newWorld(t)
	in := newWatcher(t, Options{Window: -1})
	o := w.open("")
	defer o.Close()
	var x *Watch
	var running atomic.Bool
	entered, leave := make(chan struct{}), make(chan struct{})
	x, err := in.Add(context.Background(), o, false, nil, func(Event) {
		running.Store(true)
		entered <- struct{}{}
		<-leave
		running.Store(false)
	})
	must(t, err)
	w.do("file ws/f 1")
	<-entered
	done := make(chan bool)
	go func() { x.Suspend(); done <- running.Load() }()
	leave <- struct{}{}
	for waiting := true; waiting; { // a second notice may have been under way
		select {
		case <-entered:
			leave <- struct{}{}
		case still := <-done:
			waiting = false
			if still {
				t.Error("Suspend returned while the function ran")
			}
		}
	}
	x.Close()

	closed := make(chan struct{})
	var once sync.Once
	var calls atomic.Int32
	var y *Watch
	ready := make(chan struct{})
	s := hiding("nothing")
	y, err = in.Add(context.Background(), o, false, s, func(Event) {
		<-ready
		calls.Add(1)
		y.Close()
		once.Do(func() { close(closed) })
	})
	must(t, err)
	close(ready)
	w.do("file ws/g 1", "file ws/h 1")
	<-closed
	<-s.closed
	w.do("file ws/i 1")
	if n := calls.Load(); n != 1 {
		t.Errorf("called %d times", n)
	}
}

// A file system that does not answer, here a function that waits, holds up its own watch only.
func TestOneWatchHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	w.do("mkdir ws/a", "mkdir ws/b")
	in := newWatcher(t, Options{Window: -1})
	o := w.open("a")
	defer o.Close()
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	x, err := in.Add(context.Background(), o, false, nil, func(Event) { once.Do(func() { close(entered); <-leave }) })
	must(t, err)
	_, l := w.watch(in, "b", false, nil)
	w.do("file ws/a/f 1")
	<-entered
	for n := range 3 {
		w.do(fmt.Sprintf("file ws/b/%d x", n))
		l.until(Event{Rel: fmt.Sprint(n), Kind: Changed})
	}
	close(leave)
	x.Close()
}

// Watches of the same directories do not disturb each other, whoever begins and ends meanwhile, and nothing stays.
func TestSharedDirectories(t *testing.T) {
	w := newWorld(t)
	for n := range 20 {
		w.do(fmt.Sprintf("mkdir ws/d%d/sub/deep", n))
	}
	before := descriptors(t)
	in := newWatcher(t, Options{Window: -1})
	_, l := w.watch(in, "", true, nil)
	if n := descriptors(t); n != before+3 {
		t.Errorf("%d descriptors for 61 directories, want that of inotify and two to hear of mounts", n-before)
	}
	var others sync.WaitGroup
	for i := range 3 {
		others.Go(func() {
			for n := range 30 {
				o, err := w.set.Open(beneath.Ref{Path: fmt.Sprintf("d%d", (n+i)%20)}, beneath.Handle)
				if err != nil {
					t.Error(err)
					return
				}
				told := make(chan struct{}, 1)
				x, err := in.Add(context.Background(), o, true, nil, func(Event) {
					select {
					case told <- struct{}{}:
					default:
					}
				})
				o.Close()
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(fmt.Sprintf("%s/ws/d%d/sub/deep/f%d", w.dir, (n+i)%20, i), []byte{byte(n)}, 0o644); err != nil {
					t.Error(err)
				}
				<-told // of this very file, or one of another's: either way the watch works
				x.Close()
			}
		})
	}
	others.Wait()
	for n := range 20 {
		w.do(fmt.Sprintf("file ws/d%d/sub/deep/last x", n))
	}
	l.until(Event{Rel: "d19/sub/deep/last", Kind: Changed})
	in.Close()
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors more than before", n-before)
	}
	if _, err := in.Add(context.Background(), w.open(""), true, nil, l.add); err == nil {
		t.Error("added to a closed watcher")
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}
