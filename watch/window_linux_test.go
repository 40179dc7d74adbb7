package watch

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rootbound/rootbound/beneath"
	"golang.org/x/sys/unix"
)

// script is a notifier without a kernel: all it tells is put into it.
type script struct {
	notices  chan beneath.Notice
	last     beneath.WatchID
	unmarked bool
}

func (s *script) Add(*beneath.Object) (beneath.WatchID, error) { s.last++; return s.last, nil }
func (s *script) AddSelf(o *beneath.Object) (beneath.WatchID, error) {
	return s.Add(o)
}
func (s *script) AddTree(context.Context, *beneath.Object, func(beneath.WatchID, beneath.ObjectID, string, int) (bool, error),
	func(*beneath.Node) (beneath.Step, error), func(string, error)) error {
	return nil
}
func (s *script) Mark() (beneath.WatchID, error) {
	if s.unmarked {
		return 0, closed()
	}
	s.last++
	return s.last, nil
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

// A writer who closes what he wrote tells nothing new: one appended line is told once. What he wrote otherwise is told.
func TestClosingIsNoChange(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/f 1", "file ws/g 1", "file ws/h 1", "file ws/i 1")
	synctest.Test(t, func(t *testing.T) {
		s := &script{notices: make(chan beneath.Notice)}
		in := newWith(s, Options{Window: 100 * time.Millisecond})
		defer in.Close()
		o := w.open("")
		defer o.Close()
		var mu sync.Mutex
		var told []string
		x, err := in.Add(t.Context(), o, false, nil, func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprintf("%s:%d", e.Rel, e.Kind))
		})
		must(t, err)
		after := func(what beneath.What, name string) {
			s.notices <- beneath.Notice{ID: x.top(), What: what, Name: name}
			synctest.Wait()
		}
		after(beneath.Written, "f")
		after(beneath.Shut, "f")
		after(beneath.Written, "g") // changed by other means before it is closed
		w.do("file ws/g other")
		after(beneath.Shut, "g")
		after(beneath.Written, "h") // written once more before it is closed
		after(beneath.Written, "h")
		after(beneath.Shut, "h")
		after(beneath.Written, "i") // gone
		w.do("rm ws/i")
		after(beneath.Shut, "i")
		time.Sleep(time.Second)
		after(beneath.Shut, "f") // of which nothing was told lately
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		if got, want := strings.Join(told, " "), "f:1 g:1 h:1 i:1 g:1 h:1 i:2 f:1"; got != want {
			t.Errorf("told  %s\nwant  %s", got, want)
		}
	})
}

// The same with a real file: an appended line leaves nothing to tell, and what was written through a mapping is told when
// it is closed.
func TestAppendedLine(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/f 1")
	in := newWatcher(t, Options{Window: time.Hour})
	x, l := w.watch(in, "", false, nil)
	line := func() {
		f, err := os.OpenFile(w.dir+"/ws/f", os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString("line\n")
		must(t, err)
		must(t, f.Close())
	}
	line()
	l.until(Event{Rel: "f", Kind: Changed})
	var got window
	for !got.shut && !got.again {
		x.settled()
		x.mu.Lock()
		if o := x.pend.open[spot{x.top(), "f"}]; o != nil && !x.running {
			got = *o
		}
		x.mu.Unlock()
		runtime.Gosched()
	}
	if got.again {
		t.Error("one line is told twice")
	}

	short := newWatcher(t, Options{Window: 2 * time.Second})
	_, m := w.watch(short, "", false, nil)
	f, err := os.OpenFile(w.dir+"/ws/f", os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("A"), 0)
	must(t, err)
	m.until(Event{Rel: "f", Kind: Changed})
	before, err := f.Stat()
	must(t, err)
	for same := true; same; { // as far as the clock of the file system goes
		w.do("file out/clock x")
		i, err := os.Stat(w.dir + "/out/clock")
		must(t, err)
		same = !i.ModTime().After(before.ModTime())
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	b[0] = 'B'
	must(t, unix.Munmap(b))
	must(t, f.Close())
	m.until(Event{Rel: "f", Kind: Changed})
}
