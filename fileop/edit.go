package fileop

import (
	"bytes"
	"context"
	"io"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
	"github.com/rootbound/rootbound/fileop/text"
)

// DefaultEdit is the most bytes a file may hold, before and after, to be edited.
const DefaultEdit = 16 << 20

// EditOptions of an edit of a file.
type EditOptions struct {
	DryRun bool
	Expect Expected // may be the version of a cut read
	Limit  int64    // bytes of the file before and after; 0: DefaultEdit
}

// Edited is the effect of an edit.
type Edited struct {
	Before, After []byte // equal if nothing was to change, and then nothing was written
	Applied       []text.Applied
	Version       string // of the file as it is now
	Written       *Written
}

// EditFile applies edits in their order to the file of t, all or none. It reads through the one handle that was checked
// and publishes only onto what it read: version_conflict if another program changed the file meanwhile. Bytes outside the
// matches stay as they are, in whatever encoding.
//
// Errors, all without an effect: argument_invalid, not_text, too_large, edit_no_match, edit_ambiguous, and those of Write.
func EditFile(ctx context.Context, t Target, edits []text.Edit, o EditOptions) (Edited, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultEdit
	}
	if t.Object() == nil {
		return Edited{}, &rootbound.Error{Reason: rootbound.NotFound}
	}
	old, err := t.Object().Stat()
	if err != nil {
		return Edited{}, effect.Failed(err)
	}
	if err := o.Expect.Check(&old, false); err != nil {
		return Edited{}, err
	}
	return editFile(ctx, t, changeOf(t), old, edits, o)
}

func editFile(ctx context.Context, src io.ReaderAt, c change, old beneath.Info, edits []text.Edit, o EditOptions) (Edited, error) {
	before, err := readAll(ctx, src, old.Size, o.Limit)
	if err != nil {
		return Edited{}, err
	}
	e := Edited{Before: before, Version: old.Version()}
	e.After, e.Applied, err = text.Apply(ctx, before, edits, o.Limit)
	if err != nil {
		return Edited{}, err
	}
	if o.DryRun || bytes.Equal(e.Before, e.After) {
		return e, nil
	}
	w, err := replaceWith(ctx, c, &old, e.After, unchanged(ctx, src, before, o.Limit))
	if err != nil {
		return Edited{}, err
	}
	e.Written, e.Version = &w, w.Version
	return e, nil
}
