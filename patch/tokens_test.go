package patch_test

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/token"
	"github.com/rootbound/rootbound/patch"
)

func TestG36TokensAreSingleUse(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full})
	spender := &token.Memory{} // shared, as on a disk
	o.desk = o.another(spender)
	ctx, _ := o.session("")
	p, i := o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
	again := func() {
		t.Helper()
		if err := os.Remove(o.path("p/new")); err != nil { // so that it would fit once more
			t.Fatal(err)
		}
	}
	if err := o.apply(ctx, "p", i.Token); err != nil {
		t.Fatal(err)
	}
	again()
	wants(t, "the token again", o.apply(ctx, "p", i.Token), rootbound.ArgumentInvalid, "used up")
	wants(t, "the id again", o.apply(ctx, "p", p.ID), rootbound.ArgumentInvalid, "no such plan")
	_, err := o.desk.Apply(ctx, o.g, p)
	wants(t, "a plan that was redeemed before it was applied", err, rootbound.ArgumentInvalid, "applied or rejected before")
	_, err = o.another(spender).Apply(ctx, o.g, p)
	wants(t, "another process", err, rootbound.ArgumentInvalid, "applied or rejected before")
	if got := o.content("p/new"); got != "absent" {
		t.Errorf("applied twice: %q", got)
	}

	// Twenty at once: one is applied.
	p, _ = o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
	var done atomic.Int32
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if _, err := o.desk.Apply(ctx, o.g, p); err == nil {
				done.Add(1)
			}
		})
	}
	wait.Wait()
	if done.Load() != 1 {
		t.Errorf("applied %d times", done.Load())
	}

	// Rejected is used up too.
	p, i = o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("other", "", "x")}})
	if err := o.desk.Reject(p); err != nil {
		t.Fatal(err)
	}
	wants(t, "rejected", o.apply(ctx, "p", i.Token), rootbound.ArgumentInvalid, "used up")
	if got := o.content("p/other"); got != "absent" {
		t.Errorf("applied though it was rejected: %q", got)
	}
}

// A token is good for whom and for what it was made.
func TestTokensBind(t *testing.T) {
	o := open(t, rootbound.Project{ID: "p", Rights: rootbound.Full}, rootbound.Project{ID: "q", Rights: rootbound.Full})
	ctx, a := o.session("alice")
	p, i := o.propose(ctx, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
	_, j := o.propose(ctx, patch.Request{Root: "q", Edits: []patch.Edit{edit("new", "", "x")}})
	const other, forged = "another session, project or plan", "none of ours"
	wants(t, "another project", o.apply(ctx, "q", i.Token), rootbound.ArgumentInvalid, other)
	wants(t, "another project by id", o.apply(ctx, "q", p.ID), rootbound.ArgumentInvalid, other)
	wants(t, "no such project", o.apply(ctx, "nowhere", i.Token), rootbound.ArgumentInvalid, other)
	stranger, _ := o.session("alice")
	wants(t, "another session", o.apply(stranger, "p", i.Token), rootbound.ArgumentInvalid, other)
	wants(t, "another session by id", o.apply(stranger, "p", p.ID), rootbound.ArgumentInvalid, other)
	wants(t, "another principal", o.apply(o.call(a, "bob"), "p", i.Token), rootbound.ArgumentInvalid, other)
	wants(t, "forged", o.apply(ctx, "p", "rb1.AAAA"), rootbound.ArgumentInvalid, forged)
	wants(t, "changed", o.apply(ctx, "p", i.Token[:len(i.Token)-2]+"AA"), rootbound.ArgumentInvalid, forged)
	wants(t, "swapped", o.apply(ctx, "p", i.Token[:len(i.Token)/2]+j.Token[len(j.Token)/2:]), rootbound.ArgumentInvalid, forged)
	wants(t, "no id", o.apply(ctx, "p", "nosuchplan"), rootbound.ArgumentInvalid, "no such plan")
	wants(t, "empty", o.apply(ctx, "p", ""), rootbound.ArgumentInvalid, "no such plan")
	_, err := o.another(nil).Redeem(ctx, "p", i.Token)
	wants(t, "another key", err, rootbound.ArgumentInvalid, "expired, or the server")

	// A new generation ends it, though everything would fit.
	a.MarkStale(rootbound.GenerationStale, time.Second)
	wants(t, "stale call", o.apply(ctx, "p", i.Token), rootbound.GenerationStale, "")
	next := o.call(a, "alice")
	wants(t, "another generation", o.apply(next, "p", i.Token), rootbound.GenerationStale, "other roots or rules")

	p, i = o.propose(next, patch.Request{Root: "p", Edits: []patch.Edit{edit("new", "", "x")}})
	o.now = p.Expires
	wants(t, "expired", o.apply(next, "p", i.Token), rootbound.ArgumentInvalid, "expired")
	_, err = o.desk.Apply(next, o.g, p)
	wants(t, "expired after it was redeemed", err, rootbound.ArgumentInvalid, "expired")
	o.now = p.Expires.Add(-time.Millisecond)
	if got := o.content("p/new") + o.content("q/new"); got != "absentabsent" {
		t.Errorf("applied: %q", got)
	}
	if err := o.apply(next, "p", i.Token); err != nil { // all that did not spoil it
		t.Error(err)
	}
}
