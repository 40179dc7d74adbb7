package mcpfs

import (
	"context"
	"fmt"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
)

func (f *files) write(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	content, expect := c.Text("content", true), c.Text("expected_version", false)
	if c.Err() != nil {
		return nil, c.Err()
	}
	var w fileop.Written
	var undo string
	err := f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		if bound := on.Project().MaxWrite; bound > 0 && int64(len(content)) > bound {
			return tooLarge(int64(len(content)), bound) // before a byte is staged
		}
		w, err = fileop.Write(ctx, on, []byte(content), fileop.ParseVersion(expect))
		on.Count(w.Bytes)
		undo = on.Undo()
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &wire.Reply{Text: "Successfully wrote to " + show.Path(r.Path), Version: w.Version}
	out.Note(w.Warnings...)
	undoable(out, undo)
	return out, nil
}

// append adds to the end of a file.
func (f *files) append(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	content, expect := c.Text("content", true), c.Text("expected_version", false)
	if c.Err() != nil {
		return nil, c.Err()
	}
	var w fileop.Written
	var undo string
	err := f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		limit := int64(c.limits.Edit)
		if bound := on.Project().MaxWrite; bound > 0 {
			limit = min(limit, bound)
		}
		w, err = fileop.Append(ctx, on, []byte(content), fileop.ParseVersion(expect), limit)
		on.Count(w.Bytes)
		undo = on.Undo()
		return err
	})
	if err != nil {
		return nil, advise(err, rootbound.TooLarge, "Append to another file; the operator can raise max_write.")
	}
	out := &wire.Reply{Text: "Successfully appended to " + show.Path(r.Path), Version: w.Version}
	out.Note(w.Warnings...)
	kept(out, undo)
	return out, nil
}

// undoable tells it in structured data only: hosts know the text of these tools as it is, and it is said at every write.
func undoable(out *wire.Reply, undo string) {
	if undo != "" {
		out.Add("undo", undo)
	}
}

// kept tells how a person takes the change back.
func kept(out *wire.Reply, undo string) {
	if undo != "" {
		out.Add("undo", undo)
		out.Note("what was there is kept: rootbound undo " + undo + " brings it back")
	}
}

func tooLarge(n, bound int64) error {
	return &rootbound.Error{Reason: rootbound.TooLarge, Detail: fmt.Sprintf("%d bytes, the limit is %d", n, bound), Next: "Write less into this file; the operator can raise max_write."}
}

func (f *files) edit(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	var changes []text.Edit
	for _, e := range c.Objects("edits", true, "oldText", "newText", "replaceAll") {
		changes = append(changes, text.Edit{Old: e.Text("oldText", true), New: e.Text("newText", true), All: e.Truth("replaceAll")})
	}
	o := fileop.EditOptions{DryRun: c.Truth("dryRun"), Expect: fileop.ParseVersion(c.Text("expected_version", false)), Limit: int64(c.limits.Edit)}
	if c.Err() != nil {
		return nil, c.Err()
	}
	var e fileop.Edited
	var undo string
	err := f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		if bound := on.Project().MaxWrite; bound > 0 {
			o.Limit = min(o.Limit, bound)
		}
		e, err = fileop.EditFile(ctx, on, changes, o)
		if e.Written != nil {
			on.Count(e.Written.Bytes)
		}
		undo = on.Undo()
		return err
	})
	if err != nil {
		return nil, advise(err, rootbound.TooLarge, "Edit a smaller file, or write a smaller one in its place with write_file.")
	}
	out := &wire.Reply{Version: e.Version}
	var cut bool
	out.Text, cut = text.Diff(r.Path, e.Before, e.After, c.limits.Text)
	if cut {
		out.Cut = true
		out.Note("the diff is cut, the edit is complete; read the file for the rest")
	}
	for i, a := range e.Applied {
		if a.BlanksIgnored {
			out.Note(fmt.Sprintf("edit %d was found at line %d only by ignoring blanks at both ends of its lines", i+1, a.Line))
		}
	}
	if e.Written != nil {
		out.Note(e.Written.Warnings...)
	}
	undoable(out, undo)
	return out, nil
}

func (f *files) mkdir(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	if c.Err() != nil {
		return nil, c.Err()
	}
	err := f.guard.Do(ctx, r, func(_ context.Context, on *guard.Target) error {
		_, err := on.Mkdir()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &wire.Reply{Text: "Successfully created directory " + show.Path(r.Path)}, nil
}
