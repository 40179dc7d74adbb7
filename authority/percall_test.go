package authority

import (
	"context"
	"slices"
	"testing"

	"github.com/rootbound/rootbound"
)

func with(t *testing.T, a *Authority, c Capability, ans *Answer) *Use {
	t.Helper()
	u, err := a.AcquireWith(context.Background(), c, ans)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Release)
	return u
}

func TestAnswersForOneCall(t *testing.T) {
	top := tree(t, "p/a", "p/b", "out")
	yes := Capability{Declared: true}
	a := New(ceiling(t, project("p", top+"/p", rootbound.ReadWrite)), Options{})
	t.Cleanup(a.Close)
	var kinds []string
	a.notes.tell = func(e Event) { kinds = append(kinds, e.Kind) }
	gen := a.Generation()
	u := with(t, a, yes, answer(uri(top, "p/a")))
	v := with(t, a, yes, answer(uri(top, "p/b")))
	w := with(t, a, yes, answer(uri(top, "p/b")))
	x := with(t, a, Capability{}, nil)
	for i, want := range [][]string{{top + "/p/a"}, {top + "/p/b"}, {top + "/p/b"}, {top + "/p"}} {
		use := []*Use{u, v, w, x}[i]
		if got := paths(use); !slices.Equal(got, want) || use.Snapshot().Generation != gen {
			t.Errorf("granted %v in generation %d, want %v in %d", got, use.Snapshot().Generation, want, gen)
		}
	}
	if v.Snapshot().Grants[0].ID != w.Snapshot().Grants[0].ID {
		t.Error("the root id changed between two calls")
	}
	for _, c := range []struct {
		cap    Capability
		ans    *Answer
		reason rootbound.Reason
		detail string
	}{
		{yes, answer(), rootbound.RootsEmpty, ""},
		{yes, &Answer{}, rootbound.RootsMalformed, "not a list"},
		{yes, nil, rootbound.AuthorityUnavailable, "no answer"},
		{yes, answer(uri(top, "out")), rootbound.NoOverlap, "configured 1 folders, client 1, no overlap"},
	} {
		_, err := a.AcquireWith(context.Background(), c.cap, c.ans)
		isReason(t, err, c.reason, c.detail)
	}
	if u.Stale() != nil || a.Generation() != gen {
		t.Error("a refused answer ends nothing but its call")
	}
	if !slices.Equal(kinds, []string{"published", "published", "confirmed", "published", "unavailable", "unavailable", "unavailable", "unavailable"}) {
		t.Errorf("%q", kinds)
	}
	// Stale and revoked reach every call.
	a.Revoke("p")
	for _, use := range []*Use{u, v, w, x} {
		isReason(t, use.Commit(func() error { t.Error("committed"); return nil }), rootbound.RevokedByUser, "")
	}
	_, err := a.AcquireWith(context.Background(), yes, answer(uri(top, "p/a")))
	isReason(t, err, rootbound.RevokedByUser, "")
	a.Unrevoke()
	if y := with(t, a, yes, answer(uri(top, "p/a"))); y.Snapshot().Generation <= gen || y.Stale() != nil {
		t.Error(y.Snapshot().Generation)
	}
}

// What is sealed before the answer is there names the generation the answer will be used in, and no revocation in between
// is overlooked.
func TestGenerationForTokens(t *testing.T) {
	top := tree(t, "a")
	a := New(ceiling(t, project("p", top, rootbound.ReadWrite)), Options{})
	t.Cleanup(a.Close)
	sealed := a.Generation()
	if got := with(t, a, Capability{}, nil).Snapshot().Generation; got != sealed {
		t.Errorf("sealed %d, ran in %d", sealed, got)
	}
	a.Invalidate(rootbound.GenerationStale)
	sealed = a.Generation()
	a.Revoke("x")
	if got := with(t, a, Capability{}, nil).Snapshot().Generation; got == sealed {
		t.Error("a token outlived a revocation")
	}
}

// A modern request on a pipe that was initialised as legacy never gets more than the session has.
func TestModernRequestInALegacySession(t *testing.T) {
	top := tree(t, "p/a/in", "p/b")
	yes := Capability{Declared: true}
	c := declared(uri(top, "p/a"))
	a := c.authority(t, ceiling(t, project("p", top+"/p", rootbound.ReadWrite)))
	for _, ask := range []struct {
		cap  Capability
		ans  *Answer
		want []string
	}{
		{Capability{}, nil, []string{"/p/a"}},
		{yes, answer(uri(top, "p/a/in")), []string{"/p/a/in"}},
		{yes, answer(uri(top, "p")), []string{"/p/a"}},
		{yes, answer("file:///"), []string{"/p/a"}},
		{yes, answer(uri(top, "p/b")), nil},
	} {
		u, err := a.AcquireWith(context.Background(), ask.cap, ask.ans)
		if ask.want == nil {
			isReason(t, err, rootbound.NoOverlap, "configured 1 folders, client 1, no overlap")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := paths(u); len(got) != 1 || got[0] != top+ask.want[0] {
			t.Errorf("granted %v, want %v", got, ask.want)
		}
		if g := u.Snapshot().Grants[0]; top+"/p/"+g.Prefix != g.Root.Path() || g.Project.ID != "p" || u.CheckRoot(0, true) != nil {
			t.Errorf("%+v", g)
		}
		a.Invalidate(rootbound.GenerationStale)
		isReason(t, u.Stale(), rootbound.GenerationStale, "")
		u.Release()
	}
	c.set(func(c *client) { c.ans = answer() })
	a.Invalidate(rootbound.GenerationStale)
	_, err := a.AcquireWith(context.Background(), yes, answer(uri(top, "p/a")))
	isReason(t, err, rootbound.RootsEmpty, "")
}

func TestCurrentNeverAsks(t *testing.T) {
	top := tree(t, "a")
	ceil := ceiling(t, project("p", top, rootbound.ReadWrite))
	c := declared(uri(top, "a"))
	a := c.authority(t, ceil)
	_, err := a.Current()
	isReason(t, err, rootbound.AuthorityUnavailable, "not asked yet")
	granted(t, a, false)
	u, err := a.Current()
	if err != nil {
		t.Fatal(err)
	}
	u.Release()
	a.Invalidate(rootbound.GenerationStale)
	if _, err := a.Current(); err == nil {
		t.Error("an ended generation is shown")
	}
	if c.asked() != 1 {
		t.Errorf("%d asks", c.asked())
	}
	u, err = (&client{}).authority(t, ceil).Current() // nobody has to be asked
	if err != nil {
		t.Fatal(err)
	}
	u.Release()
	_, err = (&client{}).authority(t, ceiling(t)).Current()
	isReason(t, err, rootbound.NoScope, "the client declares no roots")
}
