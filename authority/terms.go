package authority

import (
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/pins"
)

// Terms are what the client's roots mean: the part of the Options that may change while an Authority lives, with the same
// meanings and defaults.
type Terms struct {
	Mode           Mode
	Timeout        time.Duration
	EmptyIsCeiling bool
	AllowWide      bool
}

// terms are Terms with what follows from them. A value is never changed.
type terms struct {
	Terms
	policy string // digest of what an approved set depends on beside the projects
}

func (a *Authority) filled(t Terms) *terms {
	if t.Mode == "" {
		t.Mode = Narrow
		if a.ceiling.bare {
			t.Mode = Client
		}
	}
	if t.Timeout <= 0 {
		t.Timeout = defaultTimeout
	}
	return &terms{t, pins.Digest(string(t.Mode), a.client, t.AllowWide)}
}

// Govern puts other terms in force at once: when it returns, the generation that was made under other ones has ended as
// with Invalidate(generation_stale), and so has an answer on its way; the next call asks as far as the new terms say. Terms
// that differ in the timeout only, or not at all, end nothing. What is Client may become another mode and grants nothing by it;
// the reverse would make the client the one who grants, which is for New. Safe for concurrent use.
func (a *Authority) Govern(t Terms) {
	next := a.filled(t)
	a.mu.Lock()
	last := a.terms.Swap(next).Terms
	last.Timeout = next.Timeout
	if last == next.Terms {
		a.mu.Unlock()
		return
	}
	a.supersede(rootbound.GenerationStale, "stale")
}
