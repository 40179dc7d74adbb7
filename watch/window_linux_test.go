package watch

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rootbound/rootbound/beneath"
)

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
