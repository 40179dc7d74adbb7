package fileop

import (
	"context"
	"errors"
	"syscall"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/crossing"
	"github.com/rootbound/rootbound/fileop/effect"
)

// Mover is the two ends of a move or a copy: *guard.Target.
type Mover = crossing.Ends

// Moved is the effect of a move.
type Moved struct {
	Warnings []string
}

// Move renames what the source holds; it must still be the object that was authorized. Without overwrite an existing
// destination is exists, by the kernel and not by a look before. Errors: exists, cross_device, version_conflict (another
// object took the source's name), path_invalid (into itself), cancelled, and those of t.
//
// Between two file systems it copies where t allows it, and refuses with cross_device otherwise: the copy is synced, read
// back and published as a whole, then the source is removed. An error before that leaves the source whole and nothing at
// the destination; an error after it says in Detail that the copy is complete and what of the source was removed.
func Move(ctx context.Context, t Mover, overwrite bool) (Moved, error) {
	if err := effect.Cancelled(ctx); err != nil {
		return Moved{}, err
	}
	from, to := t.Entry(), t.Dest()
	old := t.Overwritten()
	var place *beneath.Entry
	if old != nil && !t.Source().Mode.IsDir() && from.Key().Dir.Mount == to.Key().Dir.Mount {
		left := t.Source()
		var err error
		if place, err = t.Keep(ctx, to, *old, old.Size, &left, nil); err != nil {
			return Moved{}, effect.Failed(err)
		}
	}
	lost := false
	warn, err := effect.Commit(t.Commit, func() error {
		if place != nil {
			err := moveOver(from, to, place, t.Source().ID, *old)
			// The file system cannot exchange two names, or not with the store: then the move goes before the keeping.
			lost = errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || rootbound.ReasonOf(err) == rootbound.CrossDevice
			if !lost {
				return err
			}
		}
		return from.Rename(to, t.Source().ID, overwrite)
	})
	if rootbound.ReasonOf(err) == rootbound.CrossDevice && t.CopiesAcross() {
		done, err := crossing.Move(ctx, t)
		return Moved{Warnings: done.Warnings}, err
	}
	if err != nil {
		return Moved{}, err
	}
	// the destination first: after a crash the object has two names rather than none
	errTo := to.SyncDir()
	if errFrom := from.SyncDir(); errTo != nil || errFrom != nil {
		warn = append(warn, effect.NotDurable)
	}
	if lost || !t.Kept() {
		warn = append(warn, effect.NotKept)
	}
	return Moved{Warnings: warn}, nil
}

// moveOver moves what from holds to to, and what to held, the version old, to place. For a moment old stands in the
// place of what moves; it never has no name.
func moveOver(from, to, place *beneath.Entry, source beneath.ObjectID, old beneath.Info) error {
	if err := effect.Still(to, old); err != nil {
		return &rootbound.Error{Reason: rootbound.VersionConflict, Err: err}
	}
	if err := from.Exchange(to, source, old.ID); err != nil {
		return err
	}
	if err := from.Rename(place, old.ID, false); err != nil {
		_ = from.Exchange(to, old.ID, source)
		return err
	}
	return nil
}
