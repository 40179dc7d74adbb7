package mcpscope

import (
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
)

// Terms are what the client's roots mean: the part of the Options that may change while a Scope serves, with the same
// meanings and defaults.
type Terms struct {
	authority.Terms
	NeverAskModern bool
}

func filled(t Terms) *Terms {
	if t.Mode == "" {
		t.Mode = authority.Narrow
	}
	return &t
}

// Govern puts other terms in force at once, for every session and principal: see authority.Authority.Govern. Safe for
// concurrent use.
func (s *Scope) Govern(t Terms) {
	next := filled(t)
	s.mu.Lock()
	last := s.terms.Swap(next)
	all := s.partiesLocked()
	s.mu.Unlock()
	for _, p := range all {
		p.auth.Govern(next.Terms)
		if p.session == nil && last.NeverAskModern != next.NeverAskModern { // what looks without asking may not any more
			p.auth.Invalidate(rootbound.GenerationStale)
		}
	}
}

func (s *Scope) mode() authority.Mode { return s.terms.Load().Mode }
