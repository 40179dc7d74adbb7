package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard/facts"
	"github.com/rootbound/rootbound/guard/hang"
	"github.com/rootbound/rootbound/guard/judge"
	"github.com/rootbound/rootbound/guard/pace"
)

// Decide resolves and judges and has no effect; the answer may be old when it arrives. A refusal is both: the decision
// with its reason, and the error.
func (g *Guard) Decide(ctx context.Context, r Request) (Decision, error) {
	t, err := g.begin(ctx, r)
	if err == nil {
		err = g.judge(ctx, t)
	}
	defer t.close()
	if err != nil {
		return t.decide(err), t.finish(err)
	}
	return t.decide(nil), nil
}

// Do runs work on what was checked; the target ends with work. Every error is a *rootbound.Error with the operation, the
// path as sent, the project and the id of its record. Reads are refused after work if the generation ended meanwhile;
// an effect that was committed is reported as done.
//
// Do waits for work unless Options.FSTimeout is set and the file system does not answer for that long: then it returns
// io_error, and work goes on alone, can commit nothing more, and gives its place back when the kernel lets it.
func (g *Guard) Do(ctx context.Context, r Request, work func(context.Context, *Target) error) error {
	t, err := g.begin(ctx, r)
	if err != nil {
		t.record(err)
		g.denied(ctx, t, err)
		return t.finish(err)
	}
	if t.tuning.FSTimeout <= 0 {
		err = g.perform(ctx, t, work)
	} else {
		var gaveUp bool
		if err, gaveUp = g.watched(ctx, t, func() error { return g.perform(ctx, t, work) }); gaveUp {
			return g.giveUp(t, err) // the worker still owns the target
		}
	}
	if err == nil {
		return nil
	}
	if !t.allowed.Load() {
		g.denied(ctx, t, err)
	}
	return t.finish(err)
}

// begin reads the request's authority and makes the target; it never touches the file system.
func (g *Guard) begin(ctx context.Context, r Request) (*Target, error) {
	t := &Target{g: g, tuning: g.tuning.Load(), req: r, op: r.Op, start: time.Now(), grant: -1}
	t.rec.ID, t.rec.Time = g.ids.Next(), t.start
	use, err := authority.From(ctx)
	if err != nil {
		return t, err
	}
	t.use, t.snap = use, use.Snapshot()
	t.j = judge.Judge{Law: g.law, Snap: t.snap, Touch: t.touch, May: t.may}
	if r.Contained {
		t.j.Within = r.Root
	}
	if err := use.Stale(); err != nil {
		return t, err
	}
	return t, r.Invalid
}

// perform judges, records, works and records; it runs where the file system may block.
func (g *Guard) perform(ctx context.Context, t *Target, work func(context.Context, *Target) error) (err error) {
	defer t.close()
	err = g.judgeLocked(ctx, t)
	if !t.recorded.CompareAndSwap(false, true) {
		return t.Stale() // given up meanwhile, and recorded so
	}
	if rerr := t.record(err); err == nil {
		err = rerr
	}
	if err != nil {
		return err
	}
	t.allowed.Store(true)
	if t.missing != nil {
		err = g.makeParents(ctx, t)
	}
	if err == nil {
		err = work(t.pulse.Alive(ctx), t)
	}
	if err == nil && !t.committed {
		err = t.use.Stale() // a read commits here, when its result is handed over
	}
	err = t.tellMade(t.settle(err))
	t.complete(err)
	return err
}

// judgeLocked judges; changes of an entry are judged again under the entry's lock, because what was resolved before the
// wait may have changed.
func (g *Guard) judgeLocked(ctx context.Context, t *Target) error {
	t.light = true
	err := g.judge(ctx, t)
	t.light = false
	if err != nil || t.entry == nil || t.missing != nil {
		return err
	}
	for range 8 {
		keys := t.keys()
		unlock, err := g.lock(ctx, t, keys)
		if err != nil {
			return err
		}
		t.drop()
		if err := g.judge(ctx, t); err != nil {
			unlock()
			return err
		}
		if t.entry != nil && slices.Equal(t.keys(), keys) {
			t.unlock = unlock
			return nil
		}
		unlock()
	}
	return &rootbound.Error{Reason: rootbound.VersionConflict, Detail: "the directory keeps changing places", Retryable: true}
}

// lock waits for the locks of keys, which is waiting for another caller and not for the file system.
func (g *Guard) lock(ctx context.Context, t *Target, keys []beneath.Key) (unlock func(), err error) {
	t.pulse.Wait(func() { unlock, err = g.opt.Locks.Lock(ctx, keys...) })
	switch stale := t.use.Stale(); {
	case err == nil:
		return unlock, nil
	case stale != nil:
		return nil, stale
	case ctx.Err() != nil:
		return nil, &rootbound.Error{Reason: rootbound.Cancelled, Err: err}
	}
	return nil, &rootbound.Error{Reason: rootbound.IOError, Detail: "the entry cannot be locked", Retryable: true, Err: err}
}

// settle turns any error of work into a refusal of the module's kind.
func (t *Target) settle(err error) error {
	if err == nil {
		return nil
	}
	var e *rootbound.Error
	if errors.As(err, &e) {
		return e
	}
	if t.use != nil {
		if stale := t.use.Stale(); stale != nil && !t.committed {
			return stale
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &rootbound.Error{Reason: rootbound.Cancelled, Err: err}
	}
	return &rootbound.Error{Reason: rootbound.IOError, Detail: facts.Errno(err), Err: err}
}

// finish fills in what the caller is told.
func (t *Target) finish(err error) error {
	var e *rootbound.Error
	if !errors.As(err, &e) {
		e = &rootbound.Error{Reason: rootbound.InternalError, Err: err}
	}
	out := *e
	out.Op = t.req.Op
	if out.Path == "" {
		out.Path = t.req.Path
	}
	if out.Root == "" && t.project != nil {
		out.Root = t.project.ID
	}
	out.Decision = t.rec.ID
	return &out
}

func (g *Guard) denied(ctx context.Context, t *Target, err error) {
	if t.snap != nil {
		g.Denied(ctx, t.snap.Authority, err)
	}
}

// watched runs perform in a worker of the project and gives up on it when the file system makes no progress.
func (g *Guard) watched(ctx context.Context, t *Target, perform func() error) (err error, gaveUp bool) {
	var id rootbound.RootID // of the project that the request names first
	if places, err := g.spell(t, t.req.Root, t.req.Path, false); err == nil && len(places) > 0 {
		id = t.snap.Grants[places[0].Grant].Project.ID
	}
	leave, err := g.gates.Enter(ctx, id, g.opt.Workers, t.tuning.FSTimeout)
	if err == hang.ErrBusy {
		return &rootbound.Error{Reason: rootbound.IOError, Detail: "the project's file system is busy with calls that do not return", Retryable: true}, false
	} else if err != nil {
		return t.settle(err), false
	}
	done := make(chan error, 1)
	release := t.use.Hold()
	go func() { // ends when the kernel lets it; the project's workers bound how many there are
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = &rootbound.Error{Reason: rootbound.InternalError, Err: fmt.Errorf("panic: %v", p)}
				t.complete(err)
			}
			release()
			leave()
			done <- err
		}()
		err = perform()
	}()
	return t.pulse.Await(done, t.tuning.FSTimeout)
}

// giveUp refuses without touching what the worker owns. If the worker had not decided yet, this is the decision.
func (g *Guard) giveUp(t *Target, err error) error {
	if t.recorded.CompareAndSwap(false, true) {
		probe := &Target{g: g, req: t.req, op: t.req.Op, use: t.use, snap: t.snap, start: t.start, grant: -1}
		probe.rec.ID, probe.rec.Time = t.rec.ID, t.start
		probe.record(err)
	}
	out := *err.(*rootbound.Error)
	out.Op, out.Path, out.Decision = t.req.Op, t.req.Path, t.rec.ID
	return &out
}

// Denied counts, and slows where there are many, a denial of Precheck: a caller who guesses is not told by a door that
// nobody watches. Other errors and nil are nothing to it.
func (g *Guard) Denied(ctx context.Context, authority string, err error) {
	if decision.Verdict(err) == decision.Deny {
		g.paceDenial(ctx, authority)
	}
}

// paceDenial slows a denial that is one too many.
func (g *Guard) paceDenial(ctx context.Context, authority string) {
	slow, alert := g.pace.Deny(authority, time.Now())
	if alert && g.opt.Alert != nil {
		g.opt.Alert(authority, pace.Denials)
	}
	if !slow || g.tuning.Load().NoSlow {
		return
	}
	t := time.NewTimer(pace.Delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
