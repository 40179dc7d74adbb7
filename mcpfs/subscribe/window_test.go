package subscribe

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/mcpscope"
)

// What was judged right before a generation ended is not written after that, by which way ever it was judged, and is not
// forgotten if it may still be seen then.
func TestWhatWasJudgedBeforeASwitchIsNotWrittenAfterIt(t *testing.T) {
	for _, kept := range []bool{true, false} {
		w := newWorld(t, mcpscope.Options{}, Options{})
		q := w.dial()
		q.listening(1, `{"resourceSubscriptions":["rootbound://app/a.txt"],"resourcesListChanged":true}`)
		st := w.only()
		s := st.subs[of("app", "a.txt")]
		uri, gen, err := st.judge(context.Background(), s, "")
		if err != nil || uri != s.uri {
			t.Fatal(uri, err)
		}
		active := []rootbound.RootID{"lib"}
		if kept {
			active = []rootbound.RootID{"app"}
		}
		if err := w.ceiling.Activate(active); err != nil {
			t.Fatal(err)
		}
		if st.update(context.Background(), uri, uri, gen) {
			t.Error("what was judged in a generation that has ended was written")
		}
		q.notified("notifications/resources/list_changed", "", 1.0)
		st.owe(uri)
		st.nudge()
		if kept {
			q.updated(uri, 1.0)
		}
		q.silent(2)
	}
}

// only is the one stream there is.
func (w *world) only() (st *stream) {
	w.t.Helper()
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for _, g := range w.hub.groups {
		for _, one := range g.all() {
			if st != nil {
				w.t.Fatal("several streams")
			}
			st = one
		}
	}
	return st
}

// The next generation is visible when what was being written under the one before is written; a client that does not read
// delays it once, and for a moment.
func TestTheNextGenerationWaitsForWhatIsBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{})
		g := &group{streams: map[*stream]bool{}}
		h.groups["a"] = g
		drop := func(gen rootbound.Generation) (done chan struct{}) {
			done = make(chan struct{})
			go func() {
				h.Drop(nil, &authority.Snapshot{Authority: "a", Generation: gen})
				close(done)
			}()
			synctest.Wait()
			return done
		}
		visible := func(done chan struct{}) bool {
			select {
			case <-done:
				return true
			default:
				return false
			}
		}
		g.gen = 1
		reads, not := g.begin(1), g.begin(1)
		h.Mark("a", 1)
		if g.begin(1) != nil {
			t.Error("begun after the mark")
		}
		next := drop(2)
		if visible(next) {
			t.Error("the next generation is visible while something of the last is being written")
		}
		if g.begin(1) != nil {
			t.Error("begun after the next generation")
		}
		reads()
		synctest.Wait()
		if visible(next) {
			t.Error("waited for one of two")
		}
		<-next // not for ever
		if !visible(drop(3)) {
			t.Error("waited twice for the same")
		}
		after := g.begin(3)
		not()
		next = drop(4)
		if visible(next) {
			t.Error("did not wait for what began after something that is never written")
		}
		after()
		synctest.Wait()
		if !visible(next) {
			t.Error("waits for nothing")
		}
	})
}
