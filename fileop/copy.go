package fileop

import (
	"context"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/crossing"
	"github.com/rootbound/rootbound/fileop/effect"
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
	if err := effect.Cancelled(ctx); err != nil {
		return Copied{}, err
	}
	if err := expect.Check(t.Overwritten(), true); err != nil {
		return Copied{}, err
	}
	c, err := crossing.Copy(ctx, t)
	if err != nil {
		return Copied{}, err
	}
	done := Copied{Files: c.Files, Bytes: c.Bytes, Info: c.Info, Warnings: c.Warnings}
	if c.Info.ID != (beneath.ObjectID{}) {
		done.Version = c.Info.Version()
	}
	return done, nil
}
