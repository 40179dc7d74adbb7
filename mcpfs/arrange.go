package mcpfs

import (
	"context"
	"fmt"

	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
)

// Tools that change where files are and whether there are any, not what they hold.

func (f *files) move(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	if c.Err() != nil {
		return nil, c.Err()
	}
	var m fileop.Moved
	var undo string
	defer c.progress(ctx).stop()
	err := f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		m, err = fileop.Move(ctx, on, r.Overwrite)
		undo = on.Undo()
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &wire.Reply{Text: "Successfully moved " + show.Path(r.Path) + " to " + show.Path(r.Dest)}
	out.Note(m.Warnings...)
	undoable(out, undo)
	return out, nil
}

func (f *files) copy(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	expect := c.Text("expected_version", false)
	if c.Err() != nil {
		return nil, c.Err()
	}
	var done fileop.Copied
	var undo string
	defer c.progress(ctx).stop()
	err := f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		done, err = fileop.Copy(ctx, on, fileop.ParseVersion(expect))
		undo = on.Undo()
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &wire.Reply{Text: "Successfully copied " + show.Path(r.Path) + " to " + show.Path(r.Dest), Version: done.Version}
	out.Add("files", done.Files)
	out.Note(done.Warnings...)
	kept(out, undo)
	return out, nil
}

func (f *files) delete(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	expect := c.Text("expected_version", false)
	if c.Err() != nil {
		return nil, c.Err()
	}
	var done fileop.Deleted
	var undo string
	defer c.progress(ctx).stop()
	err := f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		done, err = fileop.Delete(ctx, on, fileop.ParseVersion(expect))
		undo = on.Undo()
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &wire.Reply{Text: "Successfully deleted " + show.Path(r.Path)}
	switch n := done.Entries - 1; {
	case n == 1:
		out.Text += " and the entry in it"
	case n > 1:
		out.Text += fmt.Sprintf(" and the %d entries in it", n)
	}
	out.Add("entries", done.Entries)
	out.Note(done.Warnings...)
	kept(out, undo)
	return out, nil
}
