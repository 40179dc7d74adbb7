package authority

import (
	"maps"
	"time"

	"github.com/rootbound/rootbound"
)

// Invalidate ends the current generation and never blocks. When it returns nothing new of it commits and everything made
// for it is cancelled; when the channel is closed the last effect that was under way is done. An answer on its way is
// discarded. why is what those who are stopped are told, generation_stale for a list_changed.
func (a *Authority) Invalidate(why rootbound.Reason) <-chan struct{} {
	a.mu.Lock()
	if why == rootbound.GenerationStale {
		a.lacking = false
		a.later = a.later || a.heard
	}
	return a.supersede(why, "stale")
}

// MarkStale is Invalidate plus a bounded wait; false: a commit still hangs in the kernel.
func (a *Authority) MarkStale(why rootbound.Reason, bound time.Duration) bool {
	settled := a.Invalidate(why)
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case <-settled:
		return true
	case <-t.C:
		return false
	}
}

// Revoke takes projects or roots back until Unrevoke: a generation change, revoked_by_user. No ids: everything.
func (a *Authority) Revoke(ids ...rootbound.RootID) {
	a.mu.Lock()
	a.noMore = a.noMore || len(ids) == 0
	for _, id := range ids {
		a.revoked[id] = true
	}
	a.supersede(rootbound.RevokedByUser, "revoked")
}

// Unrevoke gives back what Revoke took: the ids, or everything. Only a person at a terminal may cause it.
func (a *Authority) Unrevoke(ids ...rootbound.RootID) {
	a.mu.Lock()
	for _, id := range ids {
		delete(a.revoked, id)
	}
	if len(ids) == 0 {
		a.noMore = false
		clear(a.revoked)
	}
	a.supersede(rootbound.GenerationStale, "stale")
}

// Revise makes exactly this revoked, everything or the ids, in one step: what one rule lifts and another still lays down is
// never free in between.
func (a *Authority) Revise(everything bool, ids ...rootbound.RootID) {
	a.mu.Lock()
	a.noMore = everything
	clear(a.revoked)
	for _, id := range ids {
		a.revoked[id] = true
	}
	a.supersede(rootbound.GenerationStale, "stale")
}

// supersede ends the generation and what is on its way. Called with mu held, which it gives back.
func (a *Authority) supersede(why rootbound.Reason, kind string) <-chan struct{} {
	end := a.overtake(why, kind)
	old := a.old
	a.mu.Unlock()
	end()
	if old == nil {
		none := make(chan struct{})
		close(none)
		return none
	}
	return old.gate.idle
}

// overtake is supersede up to where mu is given back; what it returns comes after that. Called with mu held.
func (a *Authority) overtake(why rootbound.Reason, kind string) (end func()) {
	a.epoch++
	if a.pledged { // a token names the next one, which shall not be
		a.gen++
		a.pledged = false
	}
	ended, none, gen := a.cur, a.life == nil, a.gen
	end = a.retire(why)
	if none && a.opt.Mark != nil { // what was taken may have been given back
		end = func() { a.opt.Mark(a.id, gen) }
	}
	if !a.closed {
		a.notes.add(Event{Kind: kind, Snapshot: ended, Why: why}, true)
	}
	return end
}

// retire takes the generation out; what it returns ends it and is called after mu is given back. Called with mu held.
func (a *Authority) retire(why rootbound.Reason) (end func()) {
	l, s := a.life, a.cur
	if l == nil {
		return func() {}
	}
	a.life, a.cur, a.old = nil, nil, l
	return func() {
		l.end(&rootbound.Error{Reason: why, Retryable: why == rootbound.GenerationStale})
		if a.opt.Mark != nil {
			a.opt.Mark(a.id, l.gen)
		}
		if s != nil {
			s.release()
		}
	}
}

// gone tells which ids are revoked now.
func (a *Authority) gone() func(rootbound.RootID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.noMore {
		return func(rootbound.RootID) bool { return true }
	}
	m := maps.Clone(a.revoked)
	return func(id rootbound.RootID) bool { return m[id] }
}
