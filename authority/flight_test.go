package authority

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rootbound/rootbound"
)

// bubble runs f with a fake clock, a directory with a, b and c, and a ceiling that holds all of it.
func bubble(t *testing.T, f func(t *testing.T, top string, ceil *Ceiling)) {
	top := tree(t, "a", "b", "c")
	synctest.Test(t, func(t *testing.T) { f(t, top, ceiling(t, project("p", top, rootbound.ReadWrite))) })
}

// start acquires in a goroutine; the result is read after synctest.Wait or from the channel.
type result struct {
	u    *Use
	err  error
	took time.Duration
}

func start(ctx context.Context, a *Authority, mutates bool) <-chan result {
	out := make(chan result, 1)
	t0 := time.Now()
	go func() {
		u, err := a.Acquire(ctx, mutates)
		out <- result{u, err, time.Since(t0)}
	}()
	return out
}

func ok(t *testing.T, r result) *Use {
	t.Helper()
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(r.u.Release)
	return r.u
}

func TestOneQuestionForAll(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		c.hold = make(chan struct{})
		a := c.authority(t, ceil)
		var all []<-chan result
		for range 20 {
			all = append(all, start(t.Context(), a, true))
		}
		synctest.Wait()
		if s := a.Status().State; s != "pending" {
			t.Error(s)
		}
		close(c.hold)
		for _, r := range all {
			if u := ok(t, <-r); u.Snapshot().Generation != 1 {
				t.Error(u.Snapshot().Generation)
			}
		}
		if c.asks != 1 || c.most != 1 {
			t.Errorf("%d asks, %d at once", c.asks, c.most)
		}
	})
}

func TestFollowersWaitOnTheirOwnContext(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		c.hold = make(chan struct{})
		a := c.authority(t, ceil)
		lead, leave := context.WithCancel(t.Context())
		leader := start(lead, a, false)
		synctest.Wait()
		short, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("client gone"))
		defer cancel()
		impatient, patient := start(short, a, false), start(t.Context(), a, false)
		r := <-impatient
		isReason(t, r.err, rootbound.Cancelled, "")
		if r.took != time.Second {
			t.Errorf("took %v", r.took)
		}
		leave() // the one who waits asks himself
		isReason(t, (<-leader).err, rootbound.Cancelled, "")
		synctest.Wait()
		if c.asked() != 2 {
			t.Fatalf("%d asks", c.asked())
		}
		close(c.hold)
		ok(t, <-patient)
	})
}

func TestSilence(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		c.hold = make(chan struct{})
		a := c.authority(t, ceil)
		first := start(t.Context(), a, false)
		time.Sleep(2 * time.Second)
		second := start(t.Context(), a, false)
		for _, r := range []<-chan result{first, second} {
			r := <-r
			isReason(t, r.err, rootbound.AuthorityUnavailable, "timeout")
			if r.took > defaultTimeout {
				t.Errorf("took %v", r.took)
			}
		}
		if s := a.Status(); s.State != "unavailable" || s.Err == nil {
			t.Errorf("%+v", s)
		}
		c.set(func(c *client) { c.hold = nil })
		ok(t, <-start(t.Context(), a, false)) // the next call asks again
	})
}

func TestFailureIsShared(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared()
		c.hold, c.err = make(chan struct{}), errors.New("-32603")
		a := c.authority(t, ceil)
		var all []<-chan result
		for range 20 {
			all = append(all, start(t.Context(), a, false))
		}
		synctest.Wait()
		close(c.hold)
		seen := map[*rootbound.Error]bool{}
		for _, r := range all {
			r := <-r
			isReason(t, r.err, rootbound.AuthorityUnavailable, "error")
			e := r.err.(*rootbound.Error)
			if seen[e] {
				t.Error("two callers share one error value")
			}
			seen[e] = true
		}
		if c.asks != 1 {
			t.Errorf("%d asks", c.asks)
		}
	})
}

func TestG09LateAnswerIsDiscarded(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"), uri(top, "b"))
		c.hold = make(chan struct{})
		a := c.authority(t, ceil)
		r := start(t.Context(), a, true)
		synctest.Wait()
		// The answer with b is on its way when b is closed.
		c.set(func(c *client) { c.ans = answer(uri(top, "a")) })
		if !a.MarkStale(rootbound.GenerationStale, 250*time.Millisecond) {
			t.Error("not settled, and nothing was committed")
		}
		old := c.hold
		c.set(func(c *client) { c.hold = nil })
		close(old)
		u := ok(t, <-r)
		if got := paths(u); !slices.Equal(got, []string{top + "/a"}) {
			t.Errorf("granted %v", got)
		}
		if u.Snapshot().Generation != 1 || c.asked() != 2 {
			t.Errorf("generation %d, %d asks", u.Snapshot().Generation, c.asked())
		}
	})
}

// The same between the answer and its publication, while a commit of the generation before is still out.
func TestLateAnswerWhileSettling(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		c.cap.ListChanged = false
		a := c.authority(t, ceil)
		u := ok(t, <-start(t.Context(), a, true))
		hung := make(chan struct{})
		go u.Commit(func() error { <-hung; return nil })
		synctest.Wait()
		c.set(func(c *client) { c.ans = answer(uri(top, "b")) })
		r := start(t.Context(), a, true) // another list: waits for the lease
		synctest.Wait()
		c.set(func(c *client) { c.ans = answer(uri(top, "c")) })
		a.Invalidate(rootbound.GenerationStale)
		close(hung)
		if got := paths(ok(t, <-r)); !slices.Equal(got, []string{top + "/c"}) {
			t.Errorf("granted %v", got)
		}
	})
}

func TestAtMostThreeAsks(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		c.hold, c.in = make(chan struct{}), make(chan struct{})
		a := c.authority(t, ceil)
		r := start(t.Context(), a, true)
		for range 3 {
			<-c.in
			a.Invalidate(rootbound.GenerationStale)
			c.set(func(c *client) { close(c.hold); c.hold = make(chan struct{}) })
		}
		got := <-r
		isReason(t, got.err, rootbound.AuthorityUnavailable, "overtaken")
		if c.asks != 3 {
			t.Errorf("%d asks", c.asks)
		}
	})
}

func TestAskPanics(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		boom := true
		a := c.authority(t, ceil, func(o *Options) {
			o.Ask = func(ctx context.Context) (*Answer, error) {
				if boom {
					panic("boom")
				}
				return c.ask(ctx)
			}
		})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("swallowed")
				}
			}()
			a.Acquire(t.Context(), false)
		}()
		boom = false
		ok(t, <-start(t.Context(), a, false))
	})
}

func TestCloseEndsEverything(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		a := c.authority(t, ceil)
		u := ok(t, <-start(t.Context(), a, true))
		ctx, stop := With(t.Context(), u)
		defer stop()
		a.Invalidate(rootbound.GenerationStale)
		c.set(func(c *client) { c.hold = make(chan struct{}) })
		r := start(t.Context(), a, false)
		synctest.Wait()
		a.Close()
		got := <-r
		isReason(t, got.err, rootbound.AuthorityUnavailable, "closed")
		if got.took != 0 {
			t.Errorf("took %v", got.took)
		}
		isReason(t, context.Cause(ctx), rootbound.GenerationStale, "")
		isReason(t, u.Stale(), rootbound.GenerationStale, "")
		denied(t, a, rootbound.AuthorityUnavailable, "closed")
		if s := a.Status().State; s != "closed" {
			t.Error(s)
		}
	})
}

// Events come in order and whole, from wherever they are told; Drop comes before a snapshot is visible.
func TestNoteAndDrop(t *testing.T) {
	top := tree(t, "a", "b")
	c := declared(uri(top, "a"))
	var mu sync.Mutex
	var told []string
	var a *Authority
	a = c.authority(t, ceiling(t, project("p", top, rootbound.ReadWrite)), func(o *Options) {
		o.Note = func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e.Kind)
			if e.Kind == "published" && (e.Snapshot == nil || len(e.Verdicts) != 1 || e.Verdicts[0].Root == "") {
				t.Errorf("%+v", e)
			}
		}
		o.Drop = func(old, next *Snapshot) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, "drop")
			if next != nil && (old == nil) != (next.Generation == 1) {
				t.Errorf("%v, %v", old, next)
			}
			if a.Status().State == "current" {
				t.Error("dropped after the new generation was visible")
			}
		}
	})
	granted(t, a, false)
	a.Invalidate(rootbound.GenerationStale)
	granted(t, a, false)
	a.Revoke("p")
	a.Acquire(context.Background(), false)
	a.Close()
	want := []string{"asked", "answered", "drop", "published", "stale", "asked", "answered", "drop", "published", "revoked",
		"asked", "answered", "unavailable", "drop", "closed"}
	// Drop is called by the one who publishes, events before it may still be waiting for their turn.
	order := func(s []string) (out []string) {
		for _, k := range s {
			if k != "drop" {
				out = append(out, k)
			}
		}
		return out
	}
	if !slices.Equal(order(told), order(want)) || len(told) != len(want) {
		t.Errorf("%q\n%q", told, want)
	}
}
