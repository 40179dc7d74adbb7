package fileop

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
)

// Deleter is what is to go: *guard.Target.
type Deleter interface {
	Entry() *beneath.Entry // a link is the link itself
	Source() beneath.Info  // what was authorized to go
	Recursive() bool
	// Tree is as for a copy. It may be asked again, of the tree under another name, when the tree is gone from its own.
	Tree(ctx context.Context, at *beneath.Entry, visit func(*beneath.Node) error) error
	// Weight is what the tree holds below its top: entries, and bytes of its files.
	Weight() (entries int, bytes int64)
	effect.Keeper
	effect.Remover
}

// Deleted is the effect of a deletion. It is in force, whatever the warnings say (G32).
type Deleted struct {
	Entries  int // that went, what was named included
	Warnings []string
}

// Delete removes what the entry holds, which must still be the version that was authorized: a file, a link as the link, a
// directory that is empty, or, where the target says recursive, a directory with all that it holds. Nothing is followed.
// The entry is gone by one rename, so that a tree goes as a whole or not at all; what came into it between the judgement
// and the rename is judged once more, and puts it back if it may not go.
//
// Errors: is_a_directory (not empty), version_conflict, cancelled, io_error, and those of t; all without an effect, unless
// Detail says how many entries are gone.
func Delete(ctx context.Context, t Deleter, expect Expected) (Deleted, error) {
	if err := effect.Cancelled(ctx); err != nil {
		return Deleted{}, err
	}
	was := t.Source()
	if err := expect.Check(&was, true); err != nil {
		return Deleted{}, err
	}
	d, do := Deleted{Entries: 1}, deleteFile
	switch {
	case was.Mode.IsDir() && t.Recursive():
		do = deleteTree
	case was.Mode.IsDir():
		do = deleteEmpty
	}
	err := do(ctx, t, was, &d)
	if err != nil {
		return Deleted{}, effect.Failed(err)
	}
	if !t.Kept() {
		d.Warnings = append(d.Warnings, effect.NotKept)
	}
	if t.Entry().SyncDir() != nil {
		d.Warnings = append(d.Warnings, effect.NotDurable)
	}
	return d, nil
}

func deleteEmpty(_ context.Context, t Deleter, was beneath.Info, d *Deleted) (err error) {
	d.Warnings, err = effect.Commit(t.Commit, func() error {
		if err := effect.Still(t.Entry(), was); err != nil {
			return err
		}
		return t.Entry().Remove(was.ID)
	})
	if rootbound.ReasonOf(err) == rootbound.Exists {
		return &rootbound.Error{Reason: rootbound.IsADirectory, Detail: "it is not empty", Next: "Set recursive to delete what it holds too."}
	}
	return err
}

func deleteFile(ctx context.Context, t Deleter, was beneath.Info, d *Deleted) (err error) {
	size := was.Size
	if was.Mode&fs.ModeSymlink != 0 {
		size = 0
	}
	place, err := t.Keep(ctx, t.Entry(), was, size, nil, nil)
	if err != nil {
		return err
	}
	if place == nil {
		return effect.RemoveFile(ctx, t, t.Entry(), was)
	}
	d.Warnings, err = effect.SetAside(ctx, t, t.Entry(), place, was, func() error { return nil })
	return err
}

func deleteTree(ctx context.Context, t Deleter, was beneath.Info, d *Deleted) error {
	entries, size := t.Weight()
	d.Entries += entries
	place, err := t.Keep(ctx, t.Entry(), was, size, nil, nil)
	if err != nil {
		return err
	}
	aside, forget := place, func() {}
	if place == nil {
		if aside, err = t.Entry().Beside(); err != nil {
			return err
		}
		defer aside.Close()
		if forget, err = t.Temporary(aside, was.ID, nil); err != nil {
			return err
		}
	}
	if err := effect.Alive(ctx, t, 0); err != nil {
		forget()
		return err
	}
	d.Warnings, err = effect.Commit(t.Commit, func() error {
		if err := effect.Still(t.Entry(), was); err != nil {
			return err
		}
		return t.Entry().Rename(aside, was.ID, false)
	})
	if err != nil {
		forget()
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is gone: from here on there is an end to come to, not to stop at
	if err := t.Tree(ctx, aside, nil); err != nil {
		defer forget() // in its own place or not, it may not be removed
		return putBack(t, aside, was.ID, 0, err)
	}
	if place != nil {
		return nil
	}
	gone := 0
	err = aside.RemoveTree(was.ID, func() {
		gone++
		_ = t.Copied(0) // the file system answers
	})
	if err != nil {
		err = putBack(t, aside, was.ID, gone, err)
	}
	forget()
	return err
}

// putBack gives a tree its name again, whole or what is left of it.
func putBack(t Deleter, aside *beneath.Entry, id beneath.ObjectID, gone int, why error) error {
	_, back := effect.Commit(t.Commit, func() error { return aside.Rename(t.Entry(), id, false) })
	if gone == 0 && back == nil {
		return why
	}
	e, ok := effect.Failed(why).(*rootbound.Error)
	if !ok {
		return why
	}
	out := *e
	if gone > 0 {
		out.Detail = fmt.Sprintf("%d entries are gone, the rest is where it was", gone)
		out.Retryable = false
	}
	if back != nil {
		out.Detail = fmt.Sprintf("%d entries are gone, the rest lies beside it under the name %s", gone, aside.Key().Name)
	}
	if e.Detail != "" {
		out.Detail += ": " + e.Detail
	}
	return &out
}
