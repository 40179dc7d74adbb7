package watch

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// brief is a Sight whose generation ends: when it is told to, or, with walk, before a walk of the whole tree is over.
type brief struct {
	everything
	walk bool
	over atomic.Bool
}

func (b *brief) Sees(*beneath.Look, bool) error {
	if b.over.Load() {
		return &rootbound.Error{Reason: rootbound.GenerationStale}
	}
	return nil
}

func (b *brief) Below(o *beneath.Object) (func(*beneath.Node) bool, error) {
	b.over.Store(b.walk)
	return b.everything.Below(o)
}

// What happened under generations that have ended is told under the next one, even if that does not last as long as it
// takes to look at all directories: else nothing would be told of a large tree while generations change all the time.
func TestToldBeforeTheTreeIsWalked(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		w := newWorld(t)
		w.do("file ws/d/f 1", "mkdir ws/d/e")
		first := &brief{}
		x, l := w.watch(newWatcher(t, Options{Window: -1}), "d", true, first)
		first.over.Store(true)
		if suspended {
			x.Suspend()
		}
		w.do("file ws/d/f 2")
		for heard := false; !heard; runtime.Gosched() {
			x.mu.Lock()
			heard = len(x.waiting) > 0 || !x.running && len(x.held) > 0
			x.mu.Unlock()
		}
		if l.mu.Lock(); len(l.all) > 0 {
			t.Errorf("told %+v of a generation that has ended", l.all)
		}
		l.mu.Unlock()
		o := w.open("d")
		for range 2 { // the second has nothing to tell
			must(t, x.Resume(o, &brief{walk: true}))
			x.settled()
		}
		l.mu.Lock()
		if len(l.all) == 0 || l.all[0] != (Event{Kind: Changed}) {
			t.Errorf("suspended %v: told %+v", suspended, l.all)
		}
		l.all = nil
		l.mu.Unlock()
		w.do("file ws/d/e/g 3") // what was walked is watched
		must(t, x.Resume(o, nil))
		o.Close()
		l.untilAny(Event{Kind: Changed}, Event{Rel: "e/g", Kind: Changed})
	}
}
