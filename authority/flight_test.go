package authority

import (
	"context"
	"errors"
	"os"
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

// Without listChanged: reads accept 2 s, each mutating call asks, an equal answer keeps the generation.
func TestAge(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		c.cap.ListChanged = false
		a := c.authority(t, ceil)
		var kinds []string
		a.notes.tell = func(e Event) { kinds = append(kinds, e.Kind) }
		step := func(after time.Duration, mutates bool, asks int, gen rootbound.Generation) {
			t.Helper()
			time.Sleep(after)
			u := ok(t, <-start(t.Context(), a, mutates))
			if c.asks != asks || u.Snapshot().Generation != gen {
				t.Errorf("%d asks, generation %d; want %d, %d", c.asks, u.Snapshot().Generation, asks, gen)
			}
		}
		step(0, false, 1, 1)
		first := ok(t, <-start(t.Context(), a, false))
		step(2*time.Second, false, 1, 1)
		step(time.Millisecond, false, 2, 1)
		step(0, true, 3, 1)
		step(0, true, 4, 1)
		step(2*time.Second, false, 4, 1)
		if first.Stale() != nil {
			t.Error("age alone cancels nothing")
		}
		c.set(func(c *client) { c.ans = answer(uri(top, "b")) })
		step(time.Second, true, 5, 2)
		if first.Stale() == nil {
			t.Error("another list is another generation")
		}
		want := []string{"asked", "answered", "published", "asked", "answered", "confirmed", "asked", "answered", "confirmed",
			"asked", "answered", "confirmed", "asked", "answered", "published"}
		if !slices.Equal(kinds, want) {
			t.Errorf("%q", kinds)
		}
	})
}

// A mutating call is never content with a question that was sent before it came.
func TestMutatingFollowersAskAnew(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		c.cap.ListChanged = false
		c.hold = make(chan struct{})
		a := c.authority(t, ceil)
		first := start(t.Context(), a, true)
		synctest.Wait()
		later := []<-chan result{start(t.Context(), a, true), start(t.Context(), a, true), start(t.Context(), a, true)}
		reader := start(t.Context(), a, false)
		synctest.Wait()
		c.set(func(c *client) { c.ans = answer(uri(top, "b")); close(c.hold); c.hold = nil })
		ok(t, <-first)
		ok(t, <-reader)
		for _, r := range later {
			if got := paths(ok(t, <-r)); !slices.Equal(got, []string{top + "/b"}) {
				t.Errorf("granted %v", got)
			}
		}
		if c.asks != 2 || c.most != 1 {
			t.Errorf("%d asks, %d at once", c.asks, c.most)
		}
	})
}

// Names, order and spellings are not the approved set: they are renewed inside the generation.
func TestConfirmation(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		if err := os.Symlink(top+"/a", top+"/link"); err != nil {
			t.Fatal(err)
		}
		c := declared(uri(top, "a"), uri(top, "b"))
		c.cap.ListChanged = false
		a := c.authority(t, ceil)
		u := ok(t, <-start(t.Context(), a, true))
		c.set(func(c *client) {
			c.ans = &Answer{Roots: []RootEntry{{URI: uri(top, "b"), Name: "B"}, {URI: uri(top, "link"), Name: "L"}}}
		})
		v := ok(t, <-start(t.Context(), a, true))
		if v.Snapshot().Generation != 1 || u.Stale() != nil || v.Snapshot().RootsDigest != u.Snapshot().RootsDigest {
			t.Error("an equal set is another generation")
		}
		if g := v.Snapshot().Grants; g[0].Name != "B" || g[1].Name != "L" || g[1].Root.Spelled() != top+"/link" {
			t.Errorf("%+v", g)
		}
		a.Invalidate(rootbound.GenerationStale)
		if u.Stale() == nil || v.Stale() == nil {
			t.Error("the end reaches both")
		}
		// After list_changed even an equal set is a new generation.
		if w := ok(t, <-start(t.Context(), a, true)); w.Snapshot().Generation != 2 {
			t.Error(w.Snapshot().Generation)
		}
	})
}

func TestG08RefreshFailureDenies(t *testing.T) {
	for _, failure := range []func(*client){
		func(c *client) { c.err = errors.New("-32603") },
		func(c *client) { c.err = ErrUnsupported },
		func(c *client) { c.ans = &Answer{} },
		func(c *client) { c.ans = nil },
		func(c *client) { c.hold = make(chan struct{}) },
	} {
		bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
			// By age: the last good list is gone for everybody, also for reads that would have been content with it.
			c := declared(uri(top, "a"))
			c.cap.ListChanged = false
			a := c.authority(t, ceil)
			u := ok(t, <-start(t.Context(), a, true))
			c.set(failure)
			if r := <-start(t.Context(), a, true); r.err == nil {
				t.Error("granted after a failed refresh")
			}
			if r := <-start(t.Context(), a, false); r.err == nil {
				t.Error("a read got the last good list")
			}
			if u.Stale() == nil || u.Commit(func() error { return nil }) == nil {
				t.Error("what was in flight goes on")
			}
			// After list_changed.
			c = declared(uri(top, "a"))
			a = c.authority(t, ceil)
			ok(t, <-start(t.Context(), a, true))
			a.Invalidate(rootbound.GenerationStale)
			c.set(failure)
			for range 2 {
				if r := <-start(t.Context(), a, false); r.err == nil {
					t.Error("granted after a failed refresh")
				}
			}
			if _, err := a.Current(); err == nil {
				t.Error("there is a current snapshot")
			}
			c.set(func(c *client) { c.ans, c.err, c.hold = answer(uri(top, "a")), nil, nil })
			if u := ok(t, <-start(t.Context(), a, false)); u.Snapshot().Generation != 2 {
				t.Error(u.Snapshot().Generation)
			}
		})
	}
}

func TestLeaderLeavesDuringRefresh(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		c.cap.ListChanged = false
		a := c.authority(t, ceil)
		u := ok(t, <-start(t.Context(), a, true))
		c.set(func(c *client) { c.hold = make(chan struct{}) })
		ctx, cancel := context.WithCancel(t.Context())
		r := start(ctx, a, true)
		synctest.Wait()
		cancel()
		isReason(t, (<-r).err, rootbound.Cancelled, "")
		if u.Stale() != nil {
			t.Error("a caller who left is no failed refresh")
		}
		ok(t, <-start(t.Context(), a, false))
	})
}

func TestHungCommitStallsOnlyTheNextGeneration(t *testing.T) {
	bubble(t, func(t *testing.T, top string, ceil *Ceiling) {
		c := declared(uri(top, "a"))
		a := c.authority(t, ceil)
		u := ok(t, <-start(t.Context(), a, true))
		hung, done := make(chan struct{}), make(chan error)
		go func() { done <- u.Commit(func() error { <-hung; return nil }) }()
		synctest.Wait()
		t0 := time.Now()
		if a.MarkStale(rootbound.GenerationStale, 250*time.Millisecond) || time.Since(t0) != 250*time.Millisecond {
			t.Error("settled over a lease")
		}
		if err := u.Commit(func() error { t.Error("a new lease"); return nil }); err == nil {
			t.Error("a new lease")
		}
		r := <-start(t.Context(), a, false)
		isReason(t, r.err, rootbound.AuthorityUnavailable, "a change is still being committed")
		if r.took != defaultTimeout {
			t.Error(r.took)
		}
		next := start(t.Context(), a, false)
		synctest.Wait()
		close(hung)
		if err := <-done; err != nil || !u.Committed() {
			t.Errorf("what was committed is done: %v, %v", err, u.Committed())
		}
		if v := ok(t, <-next); v.Snapshot().Generation != 2 {
			t.Error(v.Snapshot().Generation)
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
