package mcpfs

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	if c.Err() != nil {
		return nil, c.Err()
	}
	exclude, err := search.CompileTreeExcludes(patterns)
	if err != nil {
		return nil, badPattern(err, r, strings.Join(patterns, ", "))
	}
	progress := c.progress(ctx)
	defer progress.stop()
	var t fileop.Tree
	o := fileop.TreeOptions{Nodes: f.limits.Tree, Depth: levels}
	if progress.asked() || !exclude.None() { // a path for each node is worth its price only then
		o.Excluded = func(rel string) bool { progress.step(); return exclude.Match(rel) }
	}
	err = f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		t, err = fileop.Grow(ctx, on, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	text, used := show.Tree(t.Nodes, f.limits.treeLen)
	out := &wire.Reply{Text: text}
	show.Skipped(out, r.Path, t.Skipped)
	switch {
	case used < len(t.Nodes) || t.Truncated:
		last := show.PathIn(t.Nodes, used-1)
		dir := last
		if n := t.Nodes[used-1]; !n.Dir {
			dir, _ = cutLast(last)
		}
		out.Cut, out.Next = true, map[string]any{c.tool.Named(form.Object): show.Join(r.Path, dir)}
		out.Blocks = append(out.Blocks, fmt.Sprintf("[cut after %d entries, the last of them %s; ask for the directories from there on one by one, or leave some out with excludePatterns]",
			used, rootbound.Quote(show.Join(r.Path, last))))
	case t.Deep:
		first := show.Join(r.Path, show.PathIn(t.Nodes, slices.IndexFunc(t.Nodes, func(n fileop.Branch) bool { return n.Dir && n.Depth >= levels })))
		out.Cut, out.Next = true, map[string]any{c.tool.Named(form.Object): first}
		out.Blocks = append(out.Blocks, fmt.Sprintf("[cut below %d levels, first at %s; ask for what lies below it]", levels, rootbound.Quote(first)))
	}
	return out, nil
}

// levels is how deep one tree goes: indentation makes its text grow with the square of the depth.
const levels = 200

func cutLast(p string) (dir, name string) {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i], p[i+1:]
	}
	return "", p
}
