package guard

import (
	"context"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/keep"
)

// What an implementation of Options.Keep needs to know: see the package keep.
type (
	Keeper = keep.Keeper
	Kept   = keep.Kept
	Change = keep.Change
	Loss   = keep.Loss
)

// Keep makes ready to keep old, which the entry at holds and which is about to be replaced by left, or removed if left is
// nil. place is where it is to be renamed to inside the lease, in place of being removed; nil: remove it. Call Kept after
// the effect; without it what was made ready is dropped with the target. size: see Loss. digest may be nil.
func (t *Target) Keep(ctx context.Context, at *beneath.Entry, old beneath.Info, size int64, left *beneath.Info, digest []byte) (place *beneath.Entry, err error) {
	if t.tuning.Keep == nil {
		return nil, nil
	}
	l := Loss{Project: t.project.ID, Path: t.rel, Root: t.snap.Grants[at.At().Root].Root.Path(), At: at, Old: &old, Size: size, New: left, Digest: digest}
	if at == t.dest && t.destProject != nil {
		l.Project, l.Path = t.destProject.ID, t.destRel
	}
	if t.obj != nil && t.obj.Info().ID.Same(old.ID) {
		l.Object = t.obj
	}
	if t.staged != nil {
		l.Temp = t.staged.Name()
	} else if at == t.dest && t.req.Op == rootbound.OpMove {
		l.FromIn, l.FromAt = t.project.ID, t.rel
		l.From, l.FromDir = t.entry, t.snap.Grants[t.entry.At().Root].Root.Path()
	}
	k, err := t.tuning.Keep.Keep(ctx, Change{Decision: t.rec.ID, Operation: t.req.Op, Origin: t.use.Origin, Losses: []Loss{l}})
	t.touch()
	if err != nil || k == nil {
		return nil, err
	}
	t.dropKept()
	t.kept = k
	return k.Place(0), nil
}

// Kept ends what Keep began, when the change is in force: ok is false if it could not be kept after all.
func (t *Target) Kept() (ok bool) {
	if t.kept == nil {
		return true
	}
	k := t.kept
	t.kept = nil
	if err := k.Done(); err != nil {
		k.Drop() // or the next start would roll back what was acknowledged
		return false
	}
	t.undo = k.ID()
	return true
}

// Undo is what the change can be taken back by, empty if nothing was kept. After Kept.
func (t *Target) Undo() string { return t.undo }

func (t *Target) dropKept() {
	if t.kept != nil {
		t.kept.Drop()
		t.kept = nil
	}
}
