package fileop

import (
	"context"

	"github.com/rootbound/rootbound/beneath"
)

// Copied is the effect of a copy. It is in force, whatever the warnings say (G32).
type Copied struct {
	Files    int // that were copied
	Bytes    int64
	Info     beneath.Info // of the file that was published; of a tree zero
	Version  string       // of that file
	Warnings []string
}

// Copy publishes a copy of what the source holds at the destination, as a whole: a file by one rename, a tree, built under
// a temporary name, by one rename. The copy holds what the source held at one moment, and has its permission bits, ACL,
// user.* attributes and, where the system allows, its owner; its times are its own. expect speaks of what is overwritten.
//
// Errors, all without an effect: exists, special_file (a link or special file in the tree; nothing was made),
// version_conflict (the source or the destination changed meanwhile), path_invalid (into itself), not_a_directory (a
// directory over a file), cancelled, io_error, and those of t.
func Copy(ctx context.Context, t Mover, expect Expected) (Copied, error) {
	if err := cancelled(ctx); err != nil {
		return Copied{}, err
	}
	if err := expect.Check(t.Overwritten(), true); err != nil {
		return Copied{}, err
	}
	if err := t.Dest().Writable(); err != nil {
		return Copied{}, failed(err)
	}
	c := &crossing{t: t, stays: true, read: make([]byte, copyChunk)}
	if err := c.copyable(t.Source(), t.Source().ID); err != nil {
		return Copied{}, err
	}
	do := c.file
	if t.Source().Mode.IsDir() {
		do = c.tree
	}
	warn, err := do(ctx)
	if err != nil {
		return Copied{}, err
	}
	done := Copied{Files: c.files, Bytes: c.bytes, Info: c.made, Warnings: warn}
	if c.made.ID != (beneath.ObjectID{}) {
		done.Version = c.made.Version()
	}
	return done, nil
}

// resemble gives a directory that was copied what its source has. The times of a copy are its own.
func (c *crossing) resemble(to, from *beneath.Object) error {
	if c.stays {
		return to.ResembleNow(from)
	}
	return to.Resemble(from)
}
