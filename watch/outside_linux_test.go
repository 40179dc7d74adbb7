package watch

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"golang.org/x/sys/unix"
)

const canary = "OUTSIDE-CANARY-40e1"

// hides is a Sight that lets no name be seen that holds a text.
type hides struct {
	text   string
	closed chan struct{}
}

func hiding(text string) *hides { return &hides{text, make(chan struct{})} }

func (h *hides) Sees(l *beneath.Look, _ bool) error {
	if strings.Contains(l.At.Path+"/"+l.Name, h.text) {
		return &rootbound.Error{Reason: rootbound.RuleDenied}
	}
	return nil
}

func (h *hides) Below(*beneath.Object) (func(*beneath.Node) bool, error) {
	return func(n *beneath.Node) bool { return !strings.Contains(n.Name(), h.text) }, nil
}

func (h *hides) Close() { close(h.closed) }

// nothing fails for events that hold the canary.
func nothing(t *testing.T, told []Event) {
	t.Helper()
	for _, e := range told {
		if strings.Contains(e.Rel, canary) {
			t.Fatalf("told of what is outside: %+v", e)
		}
	}
}

// What is outside of the root, was moved out of it, or is hidden by the Sight is never told of: neither by name, nor as a
// number, nor by holding back what may be told.
func TestG40WatchersReportNothingOutside(t *testing.T) {
	t.Run("MovedOut", func(t *testing.T) { // the directory that is watched, and another takes its place
		w := newWorld(t)
		w.do("file ws/a/b/c/f 1", "mkdir out/a/b/c")
		_, l := w.watch(newWatcher(t, Options{Window: -1}), "a/b", true, nil)
		must(t, unix.Renameat2(unix.AT_FDCWD, w.dir+"/ws/a", unix.AT_FDCWD, w.dir+"/out/a", unix.RENAME_EXCHANGE))
		w.do("file out/a/b/"+canary+" x", "file out/a/b/c/"+canary+" x")
		var told []Event
		l.eventually(func(all []Event) bool {
			told = all
			for _, e := range all {
				if e.Kind == Ended || strings.Contains(e.Rel, canary) {
					return true
				}
			}
			return false
		}, func() string { return fmt.Sprint(told) })
		nothing(t, told)
	})
	t.Run("Replaced", func(t *testing.T) { // directories below the watched one
		w := newWorld(t)
		w.do("file ws/m/sub/f 1", "file ws/n/sub/f 1")
		_, l := w.watch(newWatcher(t, Options{Window: -1}), "", true, nil)
		w.do("mv ws/m out/m", "mkdir ws/m/sub", "mv ws/n out/n", "link ws/n ../out/n",
			"file out/m/"+canary+" x", "file out/m/sub/"+canary+" x", "file out/n/sub/"+canary+" x", "file out/"+canary+"/f x")
		nothing(t, w.told(l, 0))
	})
	t.Run("Hidden", func(t *testing.T) {
		w := newWorld(t)
		w.do("mkdir ws/seen", "mkdir ws/"+canary+"-dir", "file ws/f 1")
		_, l := w.watch(newWatcher(t, Options{Pending: 2}), "", true, hiding(canary))
		for n := range 1000 {
			w.do(fmt.Sprintf("file ws/seen/%s-%d x", canary, n), fmt.Sprintf("file ws/%s-dir/%d x", canary, n))
		}
		w.do("file ws/seen/"+canary+"-new/f x", "mv ws/"+canary+"-dir ws/seen/"+canary+"-dir2")
		w.do("file ws/f 2")
		for _, e := range l.until(Event{Rel: "f", Kind: Changed}) {
			if e != (Event{Rel: "f", Kind: Changed}) {
				t.Fatalf("told of what is hidden: %+v", e)
			}
		}
	})
	t.Run("Storm", g40storm)
}

// g40storm exchanges directories and files inside with links to their outside twins, and the root's own name, while what
// is outside changes. A watcher that goes by paths must be seen to leak in the same storm.
func g40storm(t *testing.T) {
	w := newWorld(t)
	for _, tree := range []string{"ws", "out", "fake"} {
		w.do("file "+tree+"/d/sub/f 1", "file "+tree+"/a/b/c/f 1", "file "+tree+"/x 1", "mkdir "+tree+"/m/n")
	}
	w.do("link ws/evil ../out/d", "link ws/a/b/evil ../../../out/a/b/c", "link ws/xevil ../out/x", "mkdir park")
	_, l := w.watch(newWatcher(t, Options{Window: -1}), "", true, nil)
	paths := leaky(t, w.dir+"/ws")
	swap := func(dir, a, b string) {
		_ = unix.Renameat2(unix.AT_FDCWD, w.dir+"/"+dir+"/"+a, unix.AT_FDCWD, w.dir+"/"+dir+"/"+b, unix.RENAME_EXCHANGE)
	}
	var outside []*os.Root // held, so that what is made there is never made inside
	for _, p := range []string{"out", "out/d", "out/d/sub", "out/a/b/c", "out/m", "fake", "fake/d", "fake/a/b/c", "fake/m"} {
		outside = append(outside, held(t, w.dir+"/"+p))
	}
	inside := held(t, w.dir+"/ws")
	var attackers sync.WaitGroup
	stop := make(chan struct{})
	forever := func(f func(n int)) {
		attackers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					f(n)
				}
			}
		})
	}
	forever(func(n int) {
		swap("ws", "d", "evil")
		if n%2 == 0 {
			swap("ws/a/b", "c", "evil")
			swap("ws", "x", "xevil")
		}
		if n%3 == 0 {
			from, to := "ws", "park"
			if n%2 == 0 {
				from, to = to, from
			}
			_ = unix.Renameat2(unix.AT_FDCWD, w.dir+"/"+from+"/m", unix.AT_FDCWD, w.dir+"/"+to+"/m", unix.RENAME_NOREPLACE)
		}
		if n%7 == 0 {
			swap("", "ws", "fake")
		}
	})
	forever(func(n int) {
		for _, dir := range outside {
			name := fmt.Sprintf("%s-%d", canary, n%5)
			if dir.Mkdir(name, 0o755) == nil {
				_ = dir.WriteFile(name+"/"+canary, []byte("x"), 0o644)
			}
			_ = dir.RemoveAll(name)
		}
	})
	rounds := 300
	if os.Getenv("RB_LONG") != "" {
		rounds = 100_000
	}
	told := 0
	look := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		nothing(t, l.all)
		told += len(l.all)
		l.all = nil
	}
	for n := 0; n < rounds || paths.leaks.Load() == 0; n++ {
		must(t, inside.WriteFile(fmt.Sprintf("alive%d", n%10), fmt.Append(nil, n), 0o644))
		if n%50 == 0 {
			look()
		}
	}
	close(stop)
	attackers.Wait()
	must(t, inside.WriteFile("last", nil, 0o644))
	nothing(t, l.untilAny(Event{Rel: "last", Kind: Changed}, Event{Kind: Overflow}))
	look()
	t.Logf("%d events told; a watcher by paths told %d of the outside", told, paths.leaks.Load())
}

func held(t *testing.T, dir string) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// byPaths watches as one would who trusts paths: it adds what a path leads to.
type byPaths struct {
	leaks atomic.Int64
	fd    int
	paths map[int32]string
}

func leaky(t *testing.T, dir string) *byPaths {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(t, err)
	b := &byPaths{fd: fd, paths: map[int32]string{}}
	b.add(dir, 0)
	f, done := os.NewFile(uintptr(fd), "inotify"), make(chan struct{})
	go func() {
		defer close(done)
		for buf := make([]byte, 64<<10); ; {
			n, err := f.Read(buf)
			if err != nil {
				return
			}
			for rest := buf[:n]; len(rest) > 0; {
				end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
				name := strings.TrimRight(string(rest[unix.SizeofInotifyEvent:end]), "\x00")
				if strings.Contains(name, canary) {
					b.leaks.Add(1)
				}
				if binary.NativeEndian.Uint32(rest[4:])&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 {
					b.add(b.paths[int32(binary.NativeEndian.Uint32(rest))]+"/"+name, 0)
				}
				rest = rest[end:]
			}
		}
	}()
	t.Cleanup(func() { f.Close(); <-done })
	return b
}

func (b *byPaths) add(dir string, depth int) {
	wd, err := unix.InotifyAddWatch(b.fd, dir, unix.IN_ONLYDIR|unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_MODIFY)
	if err != nil || depth > 5 {
		return
	}
	b.paths[int32(wd)] = dir
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		b.add(dir+"/"+e.Name(), depth+1)
	}
}
