package watch

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/rootbound/rootbound/beneath"
)

// What waits for suspended watches is bounded for all of one owner together. Who has too much hears that the whole changed,
// and other owners are as before.
func TestWaitingIsBoundedTogether(t *testing.T) {
	w := newWorld(t)
	s := &script{notices: make(chan beneath.Notice)}
	in := newWith(s, Options{Window: -1, Queue: 100, Waiting: 250})
	end := sync.OnceFunc(in.Close)
	t.Cleanup(end)
	o := w.open("")
	defer o.Close()
	var all []*Watch
	var logs []*log
	add := func(owner string) {
		t.Helper()
		l := newLog(t)
		x, err := in.AddFor(context.Background(), owner, o, false, nil, l.add)
		must(t, err)
		x.Suspend()
		all, logs = append(all, x), append(logs, l)
	}
	for range 6 {
		add("one")
	}
	add("two")
	waiting := func(owner string) (n int) {
		for _, x := range all {
			x.mu.Lock()
			if x.owner == owner {
				n += len(x.waiting)
			}
			x.mu.Unlock()
		}
		return n
	}
	w.do("file ws/f 1")
	for range 90 {
		for _, x := range all {
			s.notices <- beneath.Notice{ID: x.top(), What: beneath.Written, Name: "f"}
		}
	}
	s.notices <- beneath.Notice{ID: 1 << 20} // when it is taken those before are queued
	if n := waiting("one"); n > 250 || n == 0 {
		t.Errorf("%d notices wait, 250 may", n)
	}
	if n := waiting("two"); n != 90 {
		t.Errorf("%d of 90 notices of another owner wait", n)
	}
	for i, x := range all {
		must(t, x.Resume(o, nil))
		logs[i].until(Event{Kind: Changed})
		x.settled()
	}
	for owner, s := range in.each {
		if n := s.waiting.Load(); n != 0 {
			t.Errorf("%d notices of %q are still counted", n, owner)
		}
	}
	for _, x := range all {
		x.Suspend()
		s.notices <- beneath.Notice{ID: x.top(), What: beneath.Written, Name: "f"}
	}
	s.notices <- beneath.Notice{ID: 1 << 20}
	shares := []*share{in.each["one"], in.each["two"]}
	for _, x := range all {
		x.Close()
	}
	end()
	if n := shares[0].waiting.Load() + shares[1].waiting.Load(); n != 0 || len(in.each) != 0 {
		t.Errorf("%d notices are counted after the end, %d owners are left", n, len(in.each))
	}
}

// Where many files of a directory are watched, each by itself, a change of one is work for its own watch only.
func TestOtherFilesAreNoWork(t *testing.T) {
	w := newWorld(t)
	in := newWatcher(t, Options{Window: -1})
	var logs []*log
	for i := range 50 {
		w.do(fmt.Sprintf("file ws/d/%d x", i))
		_, l := w.watch(in, fmt.Sprintf("d/%d", i), false, nil)
		logs = append(logs, l)
	}
	d, _ := w.watch(in, "d", false, nil)
	work := in.dispatch(beneath.Notice{ID: d.top(), What: beneath.Attributes, Name: "7"}, nil)
	if len(work) > 2 {
		t.Errorf("a change of one file is work for %d watches", len(work))
	}
	for _, x := range work {
		in.wg.Go(x.work)
	}
	for i, l := range logs { // and all hear of their own
		w.do(fmt.Sprintf("file ws/d/%d y", i))
		l.until(Event{Kind: Changed})
	}
}
