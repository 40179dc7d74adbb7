package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

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
	if os.Getenv("WATCH_FEW") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestKernelLimits$")
		c.Env = append(os.Environ(), "WATCH_FEW=1", "TMPDIR="+t.TempDir())
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		var failed *exec.ExitError
		switch out, err := c.CombinedOutput(); {
		case errors.As(err, &failed):
			t.Errorf("%v\n%s", err, out)
		case err != nil || strings.Contains(string(out), "no user namespaces"):
			t.Skipf("no user namespaces: %v %s", err, out)
		}
		return
	}
	limit := func(name string, n int) {
		if err := os.WriteFile("/proc/sys/user/max_inotify_"+name, fmt.Append(nil, n), 0o644); err != nil {
			fmt.Println("no user namespaces:", err)
			os.Exit(0)
		}
	}
	w := newWorld(t)
	for n := range 30 {
		w.do(fmt.Sprintf("mkdir ws/%d", n))
	}
	limit("watches", 20)
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
	limit("instances", 1)
	if _, err := New(Options{}); rootbound.ReasonOf(err) != rootbound.LimitReached || !strings.Contains(err.Error(), "fs.inotify.max_user_instances") {
		t.Errorf("%v", err)
	}
}

// script is a notifier without a kernel: all it tells is put into it.
type script struct {
	notices chan beneath.Notice
	last    beneath.WatchID
}

func (s *script) Add(*beneath.Object) (beneath.WatchID, error) { s.last++; return s.last, nil }
func (s *script) AddSelf(o *beneath.Object) (beneath.WatchID, error) {
	return s.Add(o)
}
func (s *script) AddTree(context.Context, *beneath.Object, func(beneath.WatchID, beneath.ObjectID, string, int) (bool, error),
	func(*beneath.Node) (beneath.Step, error), func(string, error)) error {
	return nil
}
func (s *script) Remove(beneath.WatchID) {}
func (s *script) Close() error           { close(s.notices); return nil }
func (s *script) Next(tell func(beneath.Notice)) error {
	n, ok := <-s.notices
	if !ok {
		return closed()
	}
	tell(n)
	return nil
}

// The first change of a path is told at once, those within the window once at its end; each path has a window of its own,
// and more paths than there may be become one Overflow for each window.
func TestWindows(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/f 1", "file ws/g 1", "file ws/h 1")
	synctest.Test(t, func(t *testing.T) {
		s := &script{notices: make(chan beneath.Notice)}
		in := newWith(s, Options{Window: 100 * time.Millisecond, Pending: 2})
		defer in.Close()
		o := w.open("")
		defer o.Close()
		start := time.Now()
		var mu sync.Mutex
		var told []string
		x, err := in.Add(t.Context(), o, false, nil, func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			name := e.Rel
			if e.Kind == Overflow {
				name = "overflow"
			}
			told = append(told, fmt.Sprintf("%s@%d", name, time.Since(start).Milliseconds()))
		})
		must(t, err)
		at := func(ms int, names ...string) {
			time.Sleep(time.Until(start.Add(time.Duration(ms) * time.Millisecond)))
			for _, n := range names {
				s.notices <- beneath.Notice{ID: x.top(), What: beneath.Written, Name: n}
				synctest.Wait()
			}
		}
		at(0, "f", "f", "f")
		at(30, "g")
		at(150, "f")
		at(1000, "f", "g", "h", "h")
		at(1050, "f")
		at(2000, "h")
		at(3000)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		want := "f@0 g@30 f@100 f@200 f@1000 g@1000 overflow@1000 overflow@1100 h@2000"
		if got := strings.Join(told, " "); got != want {
			t.Errorf("told  %s\nwant  %s", got, want)
		}
		x.Close()
		synctest.Wait()
	})
}

// As an ordinary user: a directory that may not be read is left out until it may be.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() == 0 {
		dir := t.TempDir()
		for p := dir; p != "/"; p = filepath.Dir(p) { // the user needs to get there
			if i, err := os.Stat(p); err == nil && i.Mode().Perm()&0o001 == 0 {
				must(t, os.Chmod(p, i.Mode().Perm()|0o011))
			}
		}
		must(t, os.Chmod(dir, 0o777))
		bin := dir + "/test"
		b, err := os.ReadFile(os.Args[0])
		must(t, err)
		must(t, os.WriteFile(bin, b, 0o755))
		c := exec.Command(bin, "-test.run=^(TestOrdinaryUser|TestTree|TestFile|TestMovedOut)$")
		c.Env = append(os.Environ(), "TMPDIR="+dir)
		c.Dir = dir
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	w := newWorld(t)
	w.do("mkdir ws/open", "file ws/shut/sub/f 1")
	must(t, os.Chmod(w.dir+"/ws/shut", 0))
	in := newWatcher(t, Options{Window: -1})
	_, l := w.watch(in, "", true, nil)
	must(t, os.Chmod(w.dir+"/ws/shut", 0o755))
	l.until(Event{Rel: "shut", Kind: Changed})
	w.do("file ws/shut/sub/f 2")
	l.until(Event{Rel: "shut/sub/f", Kind: Changed})
	must(t, os.Mkdir(w.dir+"/ws/locked", 0))
	o := w.open("locked")
	defer o.Close()
	if _, err := in.Add(context.Background(), o, true, nil, l.add); err == nil {
		t.Error("watches what may not be read")
	}
	must(t, os.Chmod(w.dir+"/ws/locked", 0o755))
}
