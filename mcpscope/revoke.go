package mcpscope

import (
	"slices"

	"github.com/rootbound/rootbound"
)

// Who selects authorities. Empty fields match everybody.
type Who struct {
	Principal string
	Session   string // Origin.Session
	Client    string // self-reported, legacy sessions only: a principal of 2026-07-28 is matched whatever its client calls itself
}

type rule struct {
	who Who
	ids []rootbound.RootID
}

func (r rule) binds(p *party) bool {
	return (r.who.Principal == "" || r.who.Principal == p.principal) &&
		(r.who.Session == "" || r.who.Session == p.origin.Session) &&
		(r.who.Client == "" || p.session == nil || r.who.Client == p.origin.ClientName)
}

// Revoke takes projects or roots back (no ids: everything) from all who match, now and later: revoked_by_user. What runs
// is cancelled; a commit under way is finished first.
func (s *Scope) Revoke(w Who, ids ...rootbound.RootID) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	r := rule{w, slices.Compact(ids)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, r)
	for _, p := range s.partiesLocked() {
		if r.binds(p) {
			p.auth.Revoke(r.ids...)
		}
	}
}

// Unrevoke lifts what Revoke with the same arguments laid down, unless another rule lays it down too. It reports whether
// there was such a rule.
func (s *Scope) Unrevoke(w Who, ids ...rootbound.RootID) bool {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	r := rule{w, slices.Compact(ids)}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.rules)
	s.rules = slices.DeleteFunc(s.rules, func(o rule) bool { return o.who == r.who && slices.Equal(o.ids, r.ids) })
	if len(s.rules) == before {
		return false
	}
	for _, p := range s.partiesLocked() {
		if r.binds(p) {
			everything, kept := s.bindingLocked(p)
			p.auth.Revise(everything, kept...)
		}
	}
	return true
}

// bindingLocked is what all rules together take from p.
func (s *Scope) bindingLocked(p *party) (everything bool, ids []rootbound.RootID) {
	for _, r := range s.rules {
		if r.binds(p) {
			everything = everything || len(r.ids) == 0
			ids = append(ids, r.ids...)
		}
	}
	return everything, ids
}

// Invalidate ends the current generation of every authority, for a configuration that changed. It never blocks.
func (s *Scope) Invalidate(why rootbound.Reason) {
	for _, p := range s.parties() {
		p.auth.Invalidate(why)
	}
}

// CloseSession cancels what runs in a legacy session and ends its authority: the SDK waits for handlers without
// cancelling them when a session is deleted over HTTP, so call this first. It asks nobody whose the id is: Sessions does.
func (s *Scope) CloseSession(id string) { s.closeSession(id) }

func (s *Scope) closeSession(id string) []*party {
	s.mu.Lock()
	parties := slices.Clone(s.named[id])
	s.mu.Unlock()
	for _, p := range parties {
		p.close()
	}
	return parties
}
