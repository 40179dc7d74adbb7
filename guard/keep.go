package guard

import (
	"context"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Keeper keeps what changes replace or remove, outside every root, so that a person can take a change back. Safe for
// concurrent use.
type Keeper interface {
	// Keep makes ready to keep what one change is about to replace or remove, before it does. limit_reached: it is more
	// than is ever kept, so the change must not happen.
	Keep(ctx context.Context, c Change) (Kept, error)
}

// Kept is one change that is about to happen. Exactly one of Done and Drop ends it.
type Kept interface {
	// ID is what a person takes the change back by.
	ID() string
	// Place is where loss i is to be renamed to, inside the lease, instead of being removed; nil: it was copied already, or
	// nothing is lost.
	Place(i int) *beneath.Entry
	// Done: the change is in force and can be taken back from now on.
	Done() error
	// Drop: the change did not happen, or was taken back.
	Drop()
}

// Change is what a Keeper is told of a change that is about to happen.
type Change struct {
	Decision  string // id of the first record
	Operation rootbound.Operation
	Origin    *rootbound.Origin // may be nil
	Losses    []Loss            // one for each entry that changes
	Durable   bool              // what Keep writes down is on the disk before it returns
}

// Loss is one entry that changes: Old is what it holds, New what it will hold. A nil Old is an entry that is made, a nil
// New one that is removed.
type Loss struct {
	Project rootbound.RootID
	Path    string // inside the project
	Root    string // absolute path of the directory the entry lies below: to find it again, never shown
	At      *beneath.Entry
	Object  *beneath.Object // the file, open; nil for a link or a tree
	Old     *beneath.Info
	Size    int64          // bytes of Old; of a tree, what its files hold together
	New     *beneath.Info  // identity, size and mtime are those it will have
	From    *beneath.Entry // where New stood before, if it is moved and not made; nil: it is made
	FromDir string         // as Root, of From
	FromAt  string         // as Path, of From; in the project FromIn
	FromIn  rootbound.RootID
	Temp    string // the temporary name in the same directory that New has until it is published
	Digest  []byte // SHA-256 of what New holds; nil: not known
}

// Keep makes ready to keep old, which the entry at holds and which is about to be replaced by left, or removed if left is
// nil. place is where it is to be renamed to inside the lease, in place of being removed; nil: remove it. Call Kept after
// the effect; without it what was made ready is dropped with the target. size: see Loss. digest may be nil.
func (t *Target) Keep(ctx context.Context, at *beneath.Entry, old beneath.Info, size int64, left *beneath.Info, digest []byte) (place *beneath.Entry, err error) {
	if t.g.opt.Keep == nil {
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
	k, err := t.g.opt.Keep.Keep(ctx, Change{Decision: t.rec.ID, Operation: t.req.Op, Origin: t.use.Origin, Losses: []Loss{l}})
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
