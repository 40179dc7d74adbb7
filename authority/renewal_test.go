package authority

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rootbound/rootbound"
)

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
