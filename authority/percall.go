package authority

import (
	"context"
	"errors"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// AcquireWith is Acquire for a request that brought its own answer (2026-07-28): a snapshot for this call that shares the
// authority's gate, so that stale and revoked reach it too. nil answer: the capability was not declared. A refused answer
// ends nothing but this call. Where the authority can ask (a legacy session whose pipe carries a modern request), the
// session's own snapshot is acquired first and the answer only narrows it.
func (a *Authority) AcquireWith(ctx context.Context, c Capability, ans *Answer) (*Use, error) {
	if a.opt.Ask != nil {
		base, err := a.Acquire(ctx, true)
		if err != nil {
			return nil, err
		}
		defer base.Release()
		u, err := a.forCall(ctx, base.s.life, c, ans, base.s)
		if errors.Is(err, errOvertaken) {
			err = first(base.Stale(), unavailable("overtaken", nil))
		}
		return u, err
	}
	if err := ended(ctx); err != nil {
		return nil, err
	}
	a.ceiling.pins.Look(ctx)
	limited, cancel := context.WithTimeout(ctx, a.terms.Load().Timeout)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	for range maxAsks {
		l, err := a.alive(ctx, limited)
		if err == nil {
			var u *Use
			if u, err = a.forCall(ctx, l, c, ans, nil); err == nil {
				return u, nil
			}
		}
		if !errors.Is(err, errOvertaken) {
			return nil, err
		}
	}
	return nil, unavailable("overtaken", nil)
}

// forCall judges an answer inside generation l.
func (a *Authority) forCall(ctx context.Context, l *life, c Capability, ans *Answer, base *Snapshot) (*Use, error) {
	a.mu.Lock()
	in := situation{cap: c, ans: ans, heard: a.heard, later: a.later, base: base}
	a.mu.Unlock()
	d := a.draft(ctx, in)
	if err := ended(ctx); err != nil {
		d.discard()
		return nil, err
	}
	a.mu.Lock()
	defer a.notes.drain()
	defer a.mu.Unlock()
	if a.life != l || d.s != nil && d.s.life.version != l.version {
		d.discard()
		return nil, errOvertaken
	}
	if base == nil {
		a.learn(d)
	}
	if d.err != nil {
		a.notes.add(Event{Kind: "unavailable", Verdicts: d.verdicts, Err: d.err, Why: d.err.Reason}, false)
		return nil, copied(d.err)
	}
	d.s.life, d.s.Generation = l, l.gen
	a.known.add(d.s)
	e := Event{Kind: "published", Snapshot: d.s, Verdicts: d.verdicts}
	if a.form == d.s.form {
		e.Kind = "confirmed"
	}
	a.form = d.s.form
	a.notes.add(e, false)
	return &Use{s: d.s}, nil
}

// alive is the current generation, or a new one where there is none or the ceiling has changed.
func (a *Authority) alive(ctx, limited context.Context) (*life, error) {
	for {
		a.mu.Lock()
		l, f, fresh := a.life, a.flight, a.life != nil && a.life.version == a.ceiling.pins.Version()
		switch {
		case a.closed:
			a.mu.Unlock()
			return nil, unavailable("closed", nil)
		case a.noMore:
			a.mu.Unlock()
			return nil, &rootbound.Error{Reason: rootbound.RevokedByUser}
		case fresh:
			a.mu.Unlock()
			return l, nil
		case f == nil:
			a.flight = &flight{done: make(chan struct{})}
		}
		a.mu.Unlock()
		if f == nil {
			if err := a.renew(ctx, limited); err != nil {
				return nil, err
			}
			continue
		}
		select { // another call's failure is not ours: it may have asked about other roots
		case <-f.done:
		case <-limited.Done():
			return nil, first(ended(ctx), unavailable("timeout", nil))
		}
	}
}

// renew starts a generation without a snapshot, as owner of a.flight.
func (a *Authority) renew(ctx, limited context.Context) (err error) {
	defer a.landing(time.Now(), ctx, limited, &err)()
	a.mu.Lock()
	end := a.retire(rootbound.GenerationStale)
	epoch, shown, gen := a.epoch, a.shown, a.gen+1
	a.mu.Unlock()
	end()
	if err := a.settled(limited); err != nil {
		return first(ended(ctx), err)
	}
	version := a.ceiling.pins.Version()
	if a.opt.Drop != nil {
		d := a.draft(context.WithoutCancel(ctx), situation{})
		next := d.s
		if next == nil {
			next = &Snapshot{Authority: a.id, Mode: a.terms.Load().Mode, Set: beneath.NewSet(nil, nil)}
		}
		next.Generation = gen
		a.opt.Drop(shown, next)
		d.discard()
		shown = next
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.epoch != epoch || a.ceiling.pins.Version() != version {
		return errOvertaken
	}
	a.begin(version)
	a.shown, a.err = shown, nil
	return nil
}

// Generation is the number to seal into a token before an answer is there (2026-07-28): the generation that AcquireWith
// will run in unless something is revoked or marked stale in between.
func (a *Authority) Generation() rootbound.Generation {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life != nil { // a change of the ceiling that concerns it would have ended it
		return a.gen
	}
	a.pledged = true
	return a.gen + 1
}

// Current is a hold on the current snapshot without ever asking: authority_unavailable if there is none. An outdated
// answer still counts here, since what uses Current (completion, lists, subscriptions) only shows.
func (a *Authority) Current() (*Use, error) {
	c := a.capability()
	a.mu.Lock()
	s := a.cur
	usable := s != nil && !a.closed && !a.noMore && a.asks(c) == s.asked
	if usable {
		defer a.mu.Unlock()
		return a.hold(s), nil
	}
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), quietFor)
	defer cancel()
	u, err := a.acquire(ctx, c, aged, true)
	if e := ended(ctx); err != nil && e != nil {
		err = unavailable("timeout", nil)
	}
	return u, copied(err)
}

// quietFor bounds how long Current waits for the lease of an ended generation.
const quietFor = 250 * time.Millisecond
