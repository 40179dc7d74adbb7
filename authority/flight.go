package authority

import (
	"context"
	"errors"
	"time"

	"github.com/rootbound/rootbound"
)

// flight is the one publication under way: asking, judging, waiting for the last lease, showing. Who finds one waits for
// done. err is shared, so that twenty callers do not wait for twenty timeouts, unless again is set: then the leader ended
// for a reason of his own.
type flight struct {
	done  chan struct{}
	err   error
	again bool
}

var (
	errOvertaken = errors.New("overtaken by a change")
	errQuiet     = notAsked()
)

// Acquire returns a hold on the current snapshot and asks first if there is none, or if freshness requires (contract
// §4.2; mutates: the call may change something). At most three asks and Options.Timeout in all. Errors are
// *rootbound.Error: no_scope, no_overlap, roots_empty, roots_malformed, revoked_by_user, authority_unavailable, cancelled.
func (a *Authority) Acquire(ctx context.Context, mutates bool) (*Use, error) {
	if mutates {
		return a.acquire(ctx, a.capability(), fresh, false)
	}
	return a.acquire(ctx, a.capability(), aged, false)
}

// Renew is Acquire for a call that has waited for a person meanwhile: the client is asked anew even if it announces
// changes, since the answer that ended the wait may have overtaken an announcement.
func (a *Authority) Renew(ctx context.Context) (*Use, error) {
	return a.acquire(ctx, a.capability(), anew, false)
}

// freshness is how old the client's answer may be.
type freshness uint8

const (
	aged  freshness = iota // as for reads
	fresh                  // as for changes: not older than the call, unless the client announces changes
	anew                   // not older than the call
)

// acquire is Acquire; quiet: without asking.
func (a *Authority) acquire(ctx context.Context, c Capability, need freshness, quiet bool) (*Use, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	a.ceiling.pins.Look(ctx)
	a.mu.Lock()
	since := a.seq
	u, err := a.current(c, need, since)
	a.mu.Unlock()
	if u != nil || err != nil {
		return u, err
	}
	limited, cancel := context.WithTimeout(ctx, a.terms.Load().Timeout)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	for asks := 0; asks < maxAsks; {
		a.mu.Lock()
		u, err := a.current(c, need, since)
		var f *flight
		if u == nil && err == nil {
			if f = a.flight; f == nil {
				a.flight = &flight{done: make(chan struct{})}
			}
		}
		a.mu.Unlock()
		switch {
		case u != nil || err != nil:
			return u, err
		case f != nil:
			if err := f.wait(ctx, limited); err != nil {
				return nil, err
			}
		default:
			if u, err = a.lead(ctx, limited, c, quiet); err == nil || !errors.Is(err, errOvertaken) {
				return u, err
			}
			asks++
		}
	}
	return nil, unavailable("overtaken", nil)
}

// wait follows another call's flight on one's own context.
func (f *flight) wait(ctx, limited context.Context) error {
	select {
	case <-f.done:
	case <-limited.Done():
		if err := ended(ctx); err != nil {
			return err
		}
		return unavailable("timeout", nil)
	}
	if f.again || f.err == nil {
		return nil
	}
	return copied(f.err)
}

// copied gives each caller an error of his own, since callers fill in their fields.
func copied(err error) error {
	var e *rootbound.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	return &c
}

// ended is the error of a caller who has left.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if e := new(rootbound.Error); errors.As(cause, &e) {
		return copied(e)
	}
	return &rootbound.Error{Reason: rootbound.Cancelled, Err: cause}
}

func (a *Authority) capability() Capability {
	if a.opt.Capability == nil {
		return Capability{}
	}
	return a.opt.Capability()
}

// asks reports whether the client has to be asked at all. Called with mu held.
func (a *Authority) asks(c Capability) bool {
	return a.terms.Load().Mode != Ignore && c.Declared && !a.lacking
}

// current is a hold on cur if it may be used by a call that came when `since` asks had been sent. Called with mu held.
func (a *Authority) current(c Capability, need freshness, since uint64) (*Use, error) {
	s := a.cur
	switch {
	case a.closed:
		return nil, unavailable("closed", nil)
	case a.noMore:
		return nil, &rootbound.Error{Reason: rootbound.RevokedByUser}
	case s == nil || s.life.version != a.ceiling.pins.Version():
		return nil, nil
	case a.asks(c) != s.asked:
		return nil, nil
	case !a.asks(c) || c.ListChanged && need != anew:
	case need != aged && a.confirmed.seq <= since, need == aged && time.Since(a.confirmed.time) > maxAge:
		return nil, nil
	}
	return a.hold(s), nil
}

// hold is called with mu held, while the authority itself has a reference.
func (a *Authority) hold(s *Snapshot) *Use {
	s.refs.Add(1)
	return &Use{s: s}
}

// lead makes one attempt to publish or confirm, as owner of a.flight. ctx is the leader's own, limited ends with its
// budget.
func (a *Authority) lead(ctx, limited context.Context, c Capability, quiet bool) (u *Use, err error) {
	defer a.landing(time.Now(), ctx, limited, &err)()
	if err := a.settled(limited); err != nil {
		return nil, first(ended(ctx), err)
	}
	a.mu.Lock()
	in := situation{cap: c, heard: a.heard, later: a.later}
	asks, lacking := a.asks(c), a.lacking
	if asks && quiet {
		a.mu.Unlock()
		return nil, errQuiet
	}
	if asks {
		a.seq++
		a.notes.add(Event{Kind: "asked"}, false)
	}
	at := moment{epoch: a.epoch, seq: a.seq, time: time.Now()}
	a.mu.Unlock()
	switch {
	case asks && a.opt.Ask == nil:
		in.err = errors.New("there is no way to ask")
	case asks:
		in.ans, in.err = a.opt.Ask(limited)
		if in.err != nil && limited.Err() != nil {
			in.ans, in.err = nil, context.DeadlineExceeded
			if err := ended(ctx); err != nil { // the leader left: nothing was learned
				return nil, err
			}
		}
	case lacking:
		in.err = ErrUnsupported
	}
	// What was answered counts even if the leader leaves now: it may take something away.
	d := a.draft(context.WithoutCancel(ctx), in)
	if d.s != nil {
		d.s.asked = asks && d.source != unsupported
	}
	return a.conclude(ctx, limited, d, in, at, asks)
}

// moment is when a question was sent.
type moment struct {
	epoch, seq uint64
	time       time.Time
}

// landing ends the flight, also when Ask panics: nobody may wait for ever. err points to the result, which is a failure
// until the function returns.
func (a *Authority) landing(began time.Time, ctx, limited context.Context, err *error) func() {
	*err = unavailable("error", nil)
	return func() {
		a.mu.Lock()
		f := a.flight
		a.flight = nil
		a.mu.Unlock()
		f.err = *err
		f.again = errors.Is(f.err, errOvertaken) || errors.Is(f.err, errQuiet) || ctx.Err() != nil ||
			limited.Err() != nil && time.Since(began) < a.terms.Load().Timeout
		close(f.done)
		a.notes.drain()
	}
}

// settled waits until the generation before has given its last lease back.
func (a *Authority) settled(ctx context.Context) error {
	a.mu.Lock()
	old := a.old
	a.mu.Unlock()
	if old == nil {
		return nil
	}
	select {
	case <-old.gate.idle:
		return nil
	default: // who was slow to come here need not wait and fail
	}
	select {
	case <-old.gate.idle:
		return nil
	case <-ctx.Done():
		return unavailable("a change is still being committed", nil)
	}
}

// conclude makes a draft the truth, if nothing has happened since the question was sent.
func (a *Authority) conclude(ctx, limited context.Context, d draft, in situation, at moment, asks bool) (*Use, error) {
	a.mu.Lock()
	if asks {
		a.notes.add(Event{Kind: "answered", Err: in.err}, false)
	}
	if a.epoch != at.epoch {
		a.mu.Unlock()
		d.discard()
		return nil, errOvertaken
	}
	a.learn(d)
	a.lacking = d.source == unsupported
	if d.err != nil {
		a.err = d.err
		end := a.retire(rootbound.GenerationStale)
		a.notes.add(Event{Kind: "unavailable", Verdicts: d.verdicts, Err: d.err, Why: d.err.Reason}, false)
		a.mu.Unlock()
		end()
		return nil, copied(d.err)
	}
	if a.cur != nil && a.cur.equal(d.s) {
		defer a.mu.Unlock()
		return a.confirm(d.s, at), nil
	}
	end := func() {}
	if a.cur != nil || a.life != nil && a.life.version != d.s.life.version {
		end = a.retire(rootbound.GenerationStale)
	}
	shown := a.shown
	d.s.Generation = a.gen + 1
	if a.life != nil { // begun by AcquireWith
		d.s.Generation = a.gen
	}
	a.mu.Unlock()
	end()
	if err := a.settled(limited); err != nil {
		d.discard()
		return nil, first(ended(ctx), err)
	}
	if a.opt.Drop != nil {
		a.opt.Drop(shown, d.s)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.epoch != at.epoch {
		d.discard()
		return nil, errOvertaken
	}
	return a.show(d.s, at), nil
}

// learn remembers what an answer tells beyond itself. Called with mu held.
func (a *Authority) learn(d draft) {
	a.heard = a.heard || d.good
	a.later = a.later || d.entries > 0
	a.verdict = d.verdicts
}

// confirm renews the freshness of cur and keeps its generation. Where names, order or spellings changed, d takes its
// place in the same generation. Called with mu held.
func (a *Authority) confirm(d *Snapshot, at moment) *Use {
	a.confirmed, a.err = at, nil
	a.life.version = d.life.version // the ceiling changed where it does not concern us
	if d.form == a.cur.form {
		d.release()
	} else {
		d.life, d.Generation = a.cur.life, a.cur.Generation
		a.cur.release()
		a.cur, a.shown = d, d
	}
	a.notes.add(Event{Kind: "confirmed", Snapshot: a.cur, Verdicts: a.verdict}, false)
	return a.hold(a.cur)
}

// show makes d visible. Called with mu held, with no lease of an older generation out.
func (a *Authority) show(d *Snapshot, at moment) *Use {
	if a.life == nil {
		a.begin(d.life.version)
	}
	d.life, d.Generation = a.life, a.gen
	a.cur, a.shown, a.confirmed, a.err = d, d, at, nil
	a.known.add(d)
	a.notes.add(Event{Kind: "published", Snapshot: d, Verdicts: a.verdict}, false)
	return a.hold(d)
}

// begin starts a generation. Called with mu held.
func (a *Authority) begin(version uint64) {
	a.gen++
	a.life, a.old, a.pledged = newLife(a.gen, version), nil, false
}

func (d *draft) discard() {
	if d.s != nil {
		d.s.release()
	}
}

func first(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}
