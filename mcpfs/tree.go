package mcpfs

import (
	"context"
	"fmt"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/form"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/search"
)

func (f *files) tree(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	patterns := c.Texts("excludePatterns", false, 0)
	o := fileop.TreeOptions{Nodes: c.limits.Tree, Depth: levels, After: c.cursor(), Widen: f.widen}
	if n := c.Whole("max_nodes", 1); n > 0 {
		o.Nodes = min(o.Nodes, int(n))
	}
	if n := c.Whole("depth", 1); n > 0 {
		o.Depth = min(o.Depth, int(n))
	}
	byIgnores := c.Truth("gitignore")
	if c.Err() != nil {
		return nil, c.Err()
	}
	exclude, err := search.CompileTreeExcludes(patterns)
	if err != nil {
		return nil, badPattern(err, r, few(patterns))
	}
	progress := c.progress(ctx)
	defer progress.stop()
	if !exclude.None() { // a path for each node is worth its price only then
		o.Excluded = exclude.Match
	}
	var t fileop.Tree
	var unread search.Unread
	err = f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		late, stop := c.limits.clock()
		defer stop()
		o.Late = func() bool { progress.step(); return late() }
		by, err := ignores(ctx, on, byIgnores)
		if err != nil {
			return err
		}
		if by != nil {
			o.Along = by.Course
		}
		t, err = fileop.Grow(ctx, on, o)
		unread = by.Unread()
		if t.Truncated {
			on.Stopped(boundOf(t))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	const line = 64 // bytes, about
	defer f.beside(len(t.Nodes) * line)()
	text, used := show.Tree(t.Nodes, c.limits.treeLen)
	out := &wire.Reply{Text: text}
	show.Skipped(out, r.Path, t.Skipped)
	noteUnread(out, unread)
	noteExcludes(out, exclude, patterns)
	f.cutTree(c, out, r.Path, t, used, o.Depth)
	return out, nil
}

// cutTree says what is missing of a tree of which the first nodes are shown, and how to go on.
func (f *files) cutTree(c call, out *wire.Reply, path string, t fileop.Tree, used, depth int) {
	fresh, closed, first := 0, 0, ""
	for i, n := range t.Nodes[:used] {
		if !n.Before {
			fresh++
		}
		if n.Closed {
			if closed++; closed == 1 {
				first = show.Join(path, t.Path(i))
			}
		}
	}
	named := c.tool.Named(form.Object)
	if closed > 0 {
		out.Cut, out.Next = true, map[string]any{named: first}
		if c.Text("cursor", false) != "" {
			out.Next = map[string]any{named: first, "cursor": ""}
		}
		out.Add("cut_by", "depth")
		out.Blocks = append(out.Blocks, fmt.Sprintf("[cut below %s; %s, the first of them %s; ask for what they hold with %s]",
			counted(depth, "level", "levels"), counted(closed, "directory is marked truncated", "directories are marked truncated"), rootbound.Quote(first), named))
	}
	bound, next, why := boundOf(t), t.Next, ""
	switch {
	case used < len(t.Nodes):
		bound, next = "text", t.Path(used-1)
	case !t.Truncated:
		return
	case t.Late:
		why = ": not all was looked at, since one answer takes no longer"
	}
	last := ""
	if used > 0 {
		last = ", the last of them " + rootbound.Quote(show.Join(path, t.Path(used-1)))
	}
	out.Blocks = append(out.Blocks, fmt.Sprintf("[cut after %s%s%s; go on with cursor: %s; or ask for less with depth, gitignore or excludePatterns]",
		counted(fresh, "entry", "entries"), last, why, c.cut(out, bound, next)))
}

// boundOf is what ended a tree before its end.
func boundOf(t fileop.Tree) string {
	if t.Late {
		return string(search.CutTime)
	}
	return "nodes"
}

// levels is how deep one tree goes: indentation makes its text grow with the square of the depth.
const levels = 200
