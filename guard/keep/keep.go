// Package keep is what passes between a change and whoever keeps what it replaces or removes.
package keep

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
