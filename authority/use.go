package authority

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
)

// Use is one request's hold on a snapshot. Release exactly once, after the last use of its handles. Its methods are safe
// for concurrent use; Origin is set before the request is served.
type Use struct {
	Origin *rootbound.Origin
	Agreed Agreement // to the change this request makes; set before it is made

	s    *Snapshot
	done atomic.Bool
	gone atomic.Bool
}

// Agreement is how a person agreed to a change, in the words of the decision record. The zero value: nobody was asked.
type Agreement string

// The agreements. What a client says its user agreed to is weaker than what a person does at a terminal: a program could
// answer in their place.
const (
	AtTerminal    Agreement = "terminal"
	ByElicitation Agreement = "elicitation"
)

// Snapshot is what the request may touch. Its handles are good until Release.
func (u *Use) Snapshot() *Snapshot { return u.s }

// Hold keeps the snapshot's handles beyond Release, for work that cannot be stopped (a call that hangs in the kernel). It
// must be called before Release; only the first call of what it returns counts.
func (u *Use) Hold() (release func()) {
	u.s.refs.Add(1)
	return sync.OnceFunc(u.s.release)
}

// Release gives the hold back. Only the first call counts.
func (u *Use) Release() {
	if u.gone.CompareAndSwap(false, true) {
		u.s.release()
	}
}

// Stale is nil while the generation is current: one atomic load, for loops. Else the *rootbound.Error to return, which is
// the caller's own.
func (u *Use) Stale() error { return u.s.life.stale() }

// Committed reports whether an effect was published under this use.
func (u *Use) Committed() bool { return u.done.Load() }

// Commit runs publish under a lease of the generation (contract §4.3). publish makes only system calls that show an
// effect under a name: no fsync, no lock, no record, no wire, no second Commit. Refused with the reason of Stale when the
// generation has ended; what publish returns is returned as it is.
func (u *Use) Commit(publish func() error) error {
	l := u.s.life
	if u.gone.Load() {
		return &rootbound.Error{Reason: rootbound.InternalError, Detail: "commit after release"}
	}
	if !l.gate.enter() {
		return l.stale()
	}
	defer l.gate.leave()
	err := publish()
	if err == nil {
		u.done.Store(true)
	}
	return err
}

// goodFor is how old a root check may be for reads (contract §3).
const goodFor = time.Second

// CheckRoot checks that grant i's spelled path still reaches the object it was approved for, and so does its project's:
// now if the operation mutates, else at most 1 s ago. A root inside a project must still lie where it lay in it, since
// the project's rules are judged by that path. root_replaced otherwise: roots heal with the next publication, projects
// only by Ceiling.Retarget.
func (u *Use) CheckRoot(i int, mutates bool) error {
	s := u.s
	if i < 0 || i >= len(s.Grants) {
		return &rootbound.Error{Reason: rootbound.InternalError, Detail: "no such grant"}
	}
	now := int64(time.Since(s.born)) + 1 // never 0, which means not checked yet
	if last := s.checked[i].Load(); !mutates && last != 0 && now-last < int64(goodFor) {
		return nil
	}
	g := &s.Grants[i]
	if err := g.Root.Unmoved(); err != nil {
		return replaced(g, err)
	}
	if p := g.project; p != nil && p != g.Root {
		if err := p.Unmoved(); err != nil {
			return replaced(g, err)
		}
		if at, ok := p.Holds(g.Root); !ok || at != g.Prefix {
			return replaced(g, nil)
		}
	}
	s.checked[i].Store(now)
	return nil
}

func replaced(g *Grant, cause error) error {
	return &rootbound.Error{Reason: rootbound.RootReplaced, Root: g.ID, Err: cause}
}

type key struct{}

// With puts a Use into a context that also ends when the generation does, with the generation's error as cause (shared:
// not to be changed). Call the function when the request is over.
func With(ctx context.Context, u *Use) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, key{}, u))
	l := u.s.life
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() { stop(); cancel(context.Canceled) }
}

// From returns the request's Use: no_scope without one.
func From(ctx context.Context) (*Use, error) {
	if u, ok := ctx.Value(key{}).(*Use); ok && u != nil {
		return u, nil
	}
	return nil, &rootbound.Error{Reason: rootbound.NoScope}
}
