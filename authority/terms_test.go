package authority

import (
	"context"
	"testing"

	"github.com/rootbound/rootbound"
)

// TestGovern: other terms end what was made under the last ones at once, and an answer that was asked for under them never
// comes into force; equal ones and another timeout end nothing.
func TestGovern(t *testing.T) {
	top := tree(t, "p", "q")
	ceil := ceiling(t, project("p", top+"/p", rootbound.ReadWrite))
	c := declared()
	a := c.authority(t, ceil, mode(Ignore))
	u := acquire(t, a, true)
	defer u.Release()
	a.Govern(Terms{Mode: Ignore, Timeout: 1})
	if u.Stale() != nil || c.asked() != 0 {
		t.Error("another timeout ended the generation")
	}
	a.Govern(Terms{Mode: Narrow, EmptyIsCeiling: true})
	if rootbound.ReasonOf(u.Stale()) != rootbound.GenerationStale {
		t.Errorf("it goes on: %v", u.Stale())
	}
	if err := u.Commit(func() error { t.Error("committed"); return nil }); err == nil {
		t.Error("a change of the ended generation was committed")
	}
	if got := granted(t, a, true); len(got) != 1 || c.asked() != 1 {
		t.Errorf("an empty first list is no opinion: %v after %d asks", got, c.asked())
	}
	a.Govern(Terms{Mode: Narrow})
	denied(t, a, rootbound.RootsEmpty, "")

	// The operator changes his mind while the client is asked.
	a.Govern(Terms{Mode: Narrow, EmptyIsCeiling: true})
	c.set(func(c *client) { c.hold, c.in = make(chan struct{}), make(chan struct{}, 2) })
	late := start(context.Background(), a, true)
	<-c.in
	a.Govern(Terms{Mode: Narrow})
	close(c.hold)
	if r := <-late; rootbound.ReasonOf(r.err) != rootbound.RootsEmpty {
		t.Errorf("an answer of before: %v", r.err)
	}

	// From client: nothing is granted until a project is.
	bare := ceiling(t)
	c = declared(uri(top, "q"))
	a = c.authority(t, bare, mode(Client))
	if got := granted(t, a, true); len(got) != 1 {
		t.Fatal(got)
	}
	a.Govern(Terms{Mode: Narrow})
	denied(t, a, rootbound.NoOverlap, "configured 0 folders, client 1, no overlap")
	if s := a.Status(); s.Mode != Narrow {
		t.Errorf("%+v", s)
	}
}
