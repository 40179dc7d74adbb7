package guard

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/judge"
)

// MaxTargets bounds how many entries one DoAll may change.
const MaxTargets = 500

// Group is the targets of one DoAll: they were judged and locked together and change together. Not safe for concurrent
// use.
type Group struct {
	g       *Guard
	op      rootbound.Operation
	targets []*Target
	unlock  func()
}

// Targets are in the order of the requests.
func (a *Group) Targets() []*Target { return a.targets }

// DoAll is Do for a change of several entries, all or none: each request is judged as by Do, all entries are locked by one
// call of Locks.Lock and judged again, and each has a record of its own, all with one correlation id and written before
// work begins. op names the change as a whole in refusals. A refusal is that of the first request that was refused, and
// carries its path and the id of its record.
//
// limit_reached: more than MaxTargets requests. argument_invalid: two of them change one entry.
func (g *Guard) DoAll(ctx context.Context, op rootbound.Operation, rs []Request, work func(context.Context, *Group) error) error {
	switch {
	case len(rs) == 0:
		return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Op: op, Detail: "nothing is to be changed"}
	case len(rs) > MaxTargets:
		return &rootbound.Error{Reason: rootbound.LimitReached, Op: op, Detail: fmt.Sprintf("%d files, the limit is %d", len(rs), MaxTargets),
			Next: "Change fewer files at once."}
	}
	a := &Group{g: g, op: op, targets: make([]*Target, len(rs))}
	for i, r := range rs {
		t, err := g.begin(ctx, r)
		if err != nil {
			t.record(err)
			g.denied(ctx, t, err)
			return a.finish(t, err)
		}
		a.targets[i] = t
		lead := a.targets[0]
		t.group = lead.rec.ID
		if t != lead {
			t.lead = lead
		}
	}
	lead := a.targets[0]
	var at *Target
	var err error
	if lead.tuning.FSTimeout <= 0 {
		at, err = a.perform(ctx, work)
	} else {
		var gaveUp bool
		err, gaveUp = g.watched(ctx, lead, func() (err error) {
			at, err = a.perform(ctx, work)
			return err
		})
		if gaveUp {
			return a.giveUp(err)
		}
	}
	if err == nil {
		return nil
	}
	if at == nil {
		at = lead
	}
	if !at.allowed.Load() {
		g.denied(ctx, at, err)
	}
	return a.finish(at, err)
}

// perform is Guard.perform for all; at is the target an error speaks of.
func (a *Group) perform(ctx context.Context, work func(context.Context, *Group) error) (at *Target, err error) {
	defer a.close()
	if at, err = a.record(a.judge(ctx)); err != nil {
		return at, err
	}
	lead := a.targets[0]
	for _, t := range a.targets {
		t.allowed.Store(true)
	}
	if err = work(lead.pulse.Alive(ctx), a); err == nil && !lead.committed {
		err = lead.use.Stale()
	}
	err = lead.settle(err)
	for _, t := range a.targets {
		t.complete(err)
	}
	return a.blamed(err), err
}

// blamed is the target whose path an error names.
func (a *Group) blamed(err error) *Target {
	if e, ok := err.(*rootbound.Error); ok && e.Path != "" {
		for _, t := range a.targets {
			if t.req.Path == e.Path {
				return t
			}
		}
	}
	return a.targets[0]
}

// judge judges all, locks all and judges all again.
func (a *Group) judge(ctx context.Context) (*Target, error) {
	lead := a.targets[0]
	if at, err := a.judgeEach(ctx); err != nil {
		return at, err
	}
	for range 8 {
		keys, at, err := a.keys()
		if err != nil {
			return at, err
		}
		unlock, err := a.g.lock(ctx, lead, keys)
		if err != nil {
			return lead, err
		}
		for _, t := range a.targets {
			t.drop()
		}
		at, err = a.judgeEach(ctx)
		if err != nil {
			unlock()
			return at, err
		}
		if now, at, err := a.keys(); err != nil {
			unlock()
			return at, err
		} else if slices.Equal(now, keys) {
			a.unlock = unlock
			return nil, nil
		}
		unlock()
	}
	return lead, &rootbound.Error{Reason: rootbound.VersionConflict, Detail: "the directories keep changing places", Retryable: true}
}

func (a *Group) judgeEach(ctx context.Context) (*Target, error) {
	for _, t := range a.targets {
		if err := a.g.judge(ctx, t); err != nil {
			return t, err
		}
		if t.entry == nil || t.missing != nil {
			return t, refuse(rootbound.ArgumentInvalid, "this operation is not served together with others")
		}
	}
	return nil, nil
}

// keys lists the entries of all targets: no two may be one.
func (a *Group) keys() ([]beneath.Key, *Target, error) {
	var keys []beneath.Key
	seen := map[beneath.Key]bool{}
	for _, t := range a.targets {
		for _, k := range t.keys() {
			bare := k
			bare.Dir.Mount = 0
			if seen[bare] {
				return nil, t, refuse(rootbound.ArgumentInvalid, "two changes of one file")
			}
			seen[bare] = true
			keys = append(keys, k)
		}
	}
	return keys, nil, nil
}

// record writes the decision of every target. If one was refused so are all: each record says so. The records are written
// at once, so that a log which syncs does it for many of them together.
func (a *Group) record(at *Target, refused error) (*Target, error) {
	errs := make([]error, len(a.targets))
	var wait sync.WaitGroup
	for i, t := range a.targets {
		if !t.recorded.CompareAndSwap(false, true) {
			errs[i] = t.Stale() // given up meanwhile, and recorded so
			continue
		}
		err := refused
		if e, ok := refused.(*rootbound.Error); ok && t != at {
			err = &rootbound.Error{Reason: e.Reason, Detail: "another file of the same change was refused"}
		}
		if err != nil {
			errs[i] = t.record(err)
			continue
		}
		wait.Go(func() { errs[i] = t.record(nil) })
	}
	wait.Wait()
	if refused != nil {
		return at, refused
	}
	for i, err := range errs {
		if err != nil {
			for j, t := range a.targets { // the others were decided and will not happen
				if errs[j] == nil {
					t.complete(err)
				}
			}
			return a.targets[i], err
		}
	}
	return nil, nil
}

// Commit publishes all of the change under one lease. publish is as for Target.Commit; the parents of all entries lie
// beneath their roots right before it, and what it shows checks that again.
func (a *Group) Commit(publish func() error) error {
	checked := map[int]bool{}
	for _, t := range a.targets {
		if max := t.project.MaxWrite; max > 0 && t.staged != nil && t.staged.Size() > max {
			return a.blame(t, judge.Oversized())
		}
		for _, e := range []*beneath.Entry{t.entry, t.dest} {
			if e == nil || checked[e.At().Root] {
				continue
			}
			checked[e.At().Root] = true
			if err := t.use.CheckRoot(e.At().Root, true); err != nil {
				return a.blame(t, err)
			}
		}
	}
	err := a.targets[0].lease(func() error {
		if err := a.Inside(); err != nil {
			return err
		}
		return publish()
	})
	if err == nil {
		for _, t := range a.targets {
			t.committed = true
		}
	}
	return err
}

// Inside checks that the parent of every entry still lies beneath its root: moved_out. For publish to ask after its last
// effect, while it can still be taken back.
func (a *Group) Inside() error {
	for _, t := range a.targets {
		if err := t.entry.Inside(); err != nil {
			return a.blame(t, err)
		}
	}
	return nil
}

// blame makes an error name a target's path.
func (a *Group) blame(t *Target, err error) error {
	if e, ok := err.(*rootbound.Error); ok && e.Path == "" {
		out := *e
		out.Path = t.req.Path
		return &out
	}
	return err
}

// Keep makes ready to keep what all targets replace or remove: see Target.Keep. k nil is Options.Keep. The caller ends what
// it returns; nil: nothing is kept. losses are in the order of Targets; project, path and root are filled in.
func (a *Group) Keep(ctx context.Context, k Keeper, losses []Loss) (Kept, error) {
	if k == nil {
		if k = a.targets[0].tuning.Keep; k == nil {
			return nil, nil
		}
	}
	lead := a.targets[0]
	for i, t := range a.targets {
		l := &losses[i]
		l.Project, l.Path, l.At = t.project.ID, t.rel, t.entry
		l.Root = t.snap.Grants[t.entry.At().Root].Root.Path()
	}
	kept, err := k.Keep(ctx, Change{Decision: lead.rec.ID, Operation: a.op, Origin: lead.use.Origin, Losses: losses, Durable: true})
	lead.touch()
	return kept, err
}

func (a *Group) finish(t *Target, err error) error {
	e := t.finish(err).(*rootbound.Error)
	e.Op = a.op
	return e
}

func (a *Group) giveUp(err error) error {
	var out error
	for _, t := range a.targets {
		if e := a.g.giveUp(t, err); out == nil {
			out = e
		}
	}
	e := out.(*rootbound.Error)
	e.Op = a.op
	return e
}

func (a *Group) close() {
	for _, t := range slices.Backward(a.targets) {
		t.close()
	}
	if a.unlock != nil {
		a.unlock()
	}
}
