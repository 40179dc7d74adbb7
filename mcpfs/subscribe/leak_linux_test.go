package subscribe

import (
	"os"
	"runtime"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/watch"
)

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Whatever way a session, listen or generation ends, nothing of it stays: no goroutine, no watch, no descriptor.
func TestNothingStays(t *testing.T) {
	start, end := Watching(watch.Options{})
	w := newWorld(t, mcpscope.Options{}, Options{Watch: start})
	t.Cleanup(end)
	first := w.legacy() // what is made once
	first.subscribed(2, of("app", "a.txt"))
	listener := w.dial()
	listener.listening(1, `{"toolsListChanged":true}`)
	one := w.legacy("app")
	one.In.Close()
	w.eventually("the first session is gone", func() bool { n, _ := w.hub.Count(); return n == 2 })
	fds, goroutines := 0, 0
	round := func() {
		t.Helper()
		p, q := w.legacy("app"), w.dial()
		for i, uri := range []string{of("app", "a.txt"), of("app", "sub"), of("app", "."), of("app", "a.txt")} {
			p.subscribed(10+i, uri)
		}
		q.listening(1, uris(of("app", "sub"), of("lib", ".")))
		q.listening(2, uris(of("app", "a.txt")))
		q.listening(3, `{"resourcesListChanged":true}`)
		p.rootsChanged() // some are dropped at a switch
		p.call(20, "app", "sub/b.txt")
		p.answer(w.roots("app/sub"))
		p.answeredAndListed(20)
		if err := w.ceiling.Activate([]rootbound.RootID{"lib"}); err != nil { // and these
			t.Fatal(err)
		}
		if err := w.ceiling.Activate(nil); err != nil {
			t.Fatal(err)
		}
		q.cancel(3)
		p.In.Close()
		q.In.Close()
		w.eventually("the sessions are gone", func() bool { n, _ := w.hub.Count(); return n == 2 })
	}
	round()
	w.eventually("what is made once is made", func() bool {
		was := goroutines
		fds, goroutines = descriptors(t), runtime.NumGoroutine()
		return was == goroutines
	})
	for range 10 {
		round()
	}
	w.eventually("no descriptor and no goroutine more than after one round", func() bool {
		return descriptors(t) <= fds+1 && runtime.NumGoroutine() <= goroutines+2
	})
}
