package mcpfs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/search"
)

// treeJSON writes the nodes of a depth-first walk as nested JSON, two blanks a level, until bound bytes are passed. It
// gives the text and how many nodes are in it.
func treeJSON(nodes []fileop.Branch, bound int) (string, int) {
	if len(nodes) == 0 {
		return "[]", 0
	}
	b := make([]byte, 0, min(bound+1024, len(nodes)*80+64))
	b = append(b, '[')
	depth, used := 1, 0 // of the list that is open
	open := true        // the list that is open is still empty
	for _, n := range nodes {
		if len(b) > bound {
			break
		}
		for ; depth > n.Depth; depth-- {
			b, open = closeList(b, depth, open), false
		}
		if !open {
			b = append(b, ',')
		}
		dir := n.Dir || n.Reach
		b = indent(b, 2*depth-1)
		b = append(b, '{')
		b = append(indent(b, 2*depth), `"name": `...)
		b = append(wire.AppendJSON(b, rootbound.Listed(n.Name)), ',')
		b = append(indent(b, 2*depth), `"type": `...)
		if !dir {
			b = append(b, `"file"`...)
			b = append(indent(b, 2*depth-1), '}')
			open = false
		} else {
			b = append(b, `"directory",`...)
			b = append(indent(b, 2*depth), `"children": [`...)
			depth, open = depth+1, true
		}
		used++
	}
	for ; depth > 1; depth-- {
		b, open = closeList(b, depth, open), false
	}
	return string(append(b, "\n]"...)), used
}

// closeList ends the children of a directory and the directory.
func closeList(b []byte, depth int, empty bool) []byte {
	if !empty {
		b = indent(b, 2*depth-2)
	}
	b = append(b, ']')
	return append(indent(b, 2*depth-3), '}')
}

func indent(b []byte, levels int) []byte {
	b = append(b, '\n')
	for ; levels > 0; levels-- {
		b = append(b, ' ', ' ')
	}
	return b
}

// pathOf is the path of node i below the directory the tree is of.
func pathOf(nodes []fileop.Branch, i int) string {
	names := make([]string, nodes[i].Depth)
	for want := nodes[i].Depth; want > 0 && i >= 0; i-- {
		if nodes[i].Depth == want {
			names[want-1] = nodes[i].Name
			want--
		}
	}
	return strings.Join(names, "/")
}

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
	text, used := treeJSON(t.Nodes, f.limits.treeLen)
	out := &wire.Reply{Text: text}
	skipped(out, r.Path, t.Skipped)
	switch {
	case used < len(t.Nodes) || t.Truncated:
		last := pathOf(t.Nodes, used-1)
		dir := last
		if n := t.Nodes[used-1]; !n.Dir {
			dir, _ = cutLast(last)
		}
		out.Cut, out.Next = true, map[string]any{c.tool.named(object): join(r.Path, dir)}
		out.Blocks = append(out.Blocks, fmt.Sprintf("[cut after %d entries, the last of them %s; ask for the directories from there on one by one, or leave some out with excludePatterns]",
			used, rootbound.Quote(join(r.Path, last))))
	case t.Deep:
		first := join(r.Path, pathOf(t.Nodes, slices.IndexFunc(t.Nodes, func(n fileop.Branch) bool { return n.Dir && n.Depth >= levels })))
		out.Cut, out.Next = true, map[string]any{c.tool.named(object): first}
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

// skipped says what a walk could not read: in structured data and in a block of its own.
func skipped(r *wire.Reply, sent string, s fileop.Skipped) {
	if s.Count == 0 {
		return
	}
	list := []map[string]string{}
	text := fmt.Sprintf("[%d places could not be read:", s.Count)
	for i, p := range s.Paths {
		shown := join(sent, p)
		list = append(list, map[string]string{"path": shown, "reason": string(rootbound.IOError)})
		if i < 5 {
			text += " " + rootbound.Quote(shown)
		}
	}
	if s.Count > 5 {
		text += " …"
	}
	r.Add("skipped", list)
	r.Blocks = append(r.Blocks, text+"]")
}
