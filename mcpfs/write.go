package mcpfs

import (
	"context"
	"fmt"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/guard"
)

func (f *files) write(ctx context.Context, c call) (*reply, error) {
	r := c.request(rootbound.OpWrite)
	content, expect := c.text("content", true), c.text("expected_version", false)
	if c.err != nil {
		return nil, c.err
	}
	var w fileop.Written
	err := f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		if bound := on.Project().MaxWrite; bound > 0 && int64(len(content)) > bound {
			return tooLarge(int64(len(content)), bound) // before a byte is staged
		}
		w, err = fileop.Write(ctx, on, []byte(content), fileop.ParseVersion(expect))
		on.Count(w.Bytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &reply{text: "Successfully wrote to " + listedPath(r.Path), version: w.Version}
	out.note(w.Warnings...)
	return out, nil
}

func tooLarge(n, bound int64) error {
	return &rootbound.Error{Reason: rootbound.TooLarge, Detail: fmt.Sprintf("%d bytes, the limit is %d", n, bound), Next: "Write less into this file."}
}

func (f *files) edit(ctx context.Context, c call) (*reply, error) {
	r := c.request(rootbound.OpEdit)
	edits := c.edits("edits")
	o := fileop.EditOptions{DryRun: c.truth("dryRun"), Expect: fileop.ParseVersion(c.text("expected_version", false)), Limit: int64(f.limits.Edit)}
	if c.err != nil {
		return nil, c.err
	}
	changes := make([]text.Edit, len(edits))
	for i, e := range edits {
		changes[i] = text.Edit{Old: e.old, New: e.new, All: e.all}
	}
	var e fileop.Edited
	err := f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		if bound := on.Project().MaxWrite; bound > 0 {
			o.Limit = min(o.Limit, bound)
		}
		e, err = fileop.EditFile(ctx, on, changes, o)
		if e.Written != nil {
			on.Count(e.Written.Bytes)
		}
		return err
	})
	if err != nil {
		return nil, advise(err, rootbound.TooLarge, "Edit a smaller file, or write a smaller one in its place with write_file.")
	}
	out := &reply{version: e.Version}
	var cut bool
	out.text, cut = text.Diff(r.Path, e.Before, e.After, f.limits.Text)
	if cut {
		out.cut = true
		out.note("the diff is cut, the edit is complete; read the file for the rest")
	}
	for i, a := range e.Applied {
		if a.BlanksIgnored {
			out.note(fmt.Sprintf("edit %d was found at line %d only by ignoring blanks at both ends of its lines", i+1, a.Line))
		}
	}
	if e.Written != nil {
		out.note(e.Written.Warnings...)
	}
	return out, nil
}

// note tells what the caller should know besides the answer: in structured data and in a block of its own.
func (r *reply) note(lines ...string) {
	for _, l := range lines {
		r.blocks = append(r.blocks, "["+l+"]")
		if r.more == nil {
			r.more = map[string]any{}
		}
		if old, ok := r.more["note"].(string); ok {
			l = old + "; " + l
		}
		r.more["note"] = l
	}
}

func (f *files) mkdir(ctx context.Context, c call) (*reply, error) {
	r := c.request(rootbound.OpMkdir)
	if c.err != nil {
		return nil, c.err
	}
	err := f.guard.Do(ctx, r, func(_ context.Context, on *guard.Target) error {
		_, err := on.Mkdir()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &reply{text: "Successfully created directory " + listedPath(r.Path)}, nil
}

func (f *files) move(ctx context.Context, c call) (*reply, error) {
	root := c.text("root", false)
	r := guard.Request{Op: rootbound.OpMove, Root: root, DestRoot: root, Path: c.text("source", true), Dest: c.text("destination", true),
		Overwrite: c.truth("overwrite")}
	if c.err != nil {
		return nil, c.err
	}
	var m fileop.Moved
	err := f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		m, err = fileop.Move(ctx, on, r.Overwrite)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &reply{text: "Successfully moved " + listedPath(r.Path) + " to " + listedPath(r.Dest)}
	out.note(m.Warnings...)
	return out, nil
}
