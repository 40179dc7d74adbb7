package fileop

import (
	"context"
	"io/fs"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
)

// MaxTree is how many nodes one tree holds (contract §6).
const MaxTree = 50_000

// MaxSkips is how many unreadable places a result names; more are only counted.
const MaxSkips = 20

// Walker visits what lies below a directory, depth first in byte order of names: *guard.Target and *beneath.Object.
type Walker interface {
	Walk(ctx context.Context, visit func(*beneath.Node) (beneath.Step, error), failed func(rel string, err error)) error
}

// Branch is one node of a tree. The nodes stand in the order of a depth-first walk, so Depth tells the parent.
type Branch struct {
	Name  string // bytes as on disk; showing them needs escaping
	Depth int    // 1 for the entries of the directory that was asked for
	Dir   bool   // a directory that was descended into, unless it could not be read or lies at the bound
	Link  bool
	Reach bool // a link that reaches a directory inside
}

// Skipped says what a walk could not read.
type Skipped struct {
	Paths []string // relative to the directory that was asked for, at most MaxSkips
	Count int
}

func (s *Skipped) add(rel string) {
	if s.Count++; len(s.Paths) < MaxSkips {
		s.Paths = append(s.Paths, rel)
	}
}

// TreeOptions of a tree.
type TreeOptions struct {
	Nodes    int                   // bound; 0: MaxTree
	Depth    int                   // deepest level; 0: no bound but the walker's
	Excluded func(rel string) bool // leaves a node and what lies below it out; nil: nothing
}

// Tree is what Grow found.
type Tree struct {
	Nodes     []Branch
	Skipped   Skipped
	Truncated bool // the bound on nodes was reached
	Deep      bool // the bound on depth left something out
}

// Grow reads the tree below a directory, links not followed. Directories that cannot be read are in the result, empty,
// and named in Skipped. Errors: cancelled, and those of w.
func Grow(ctx context.Context, w Walker, o TreeOptions) (Tree, error) {
	if o.Nodes <= 0 {
		o.Nodes = MaxTree
	}
	var t Tree
	err := w.Walk(ctx, func(n *beneath.Node) (beneath.Step, error) {
		if o.Excluded != nil && o.Excluded(n.Rel()) {
			return beneath.Over, nil
		}
		if len(t.Nodes) == o.Nodes {
			t.Truncated = true
			return beneath.Stop, nil
		}
		b := Branch{Name: n.Name(), Depth: n.Depth(), Dir: n.Type().IsDir()}
		if n.Type()&fs.ModeSymlink != 0 {
			b.Link = true
			if target, ok := n.Target(); ok {
				b.Reach = target.Mode.IsDir()
			}
		}
		t.Nodes = append(t.Nodes, b)
		if b.Dir && o.Depth > 0 && b.Depth >= o.Depth {
			t.Deep = true
			return beneath.Over, nil
		}
		return beneath.Into, nil
	}, func(rel string, _ error) { t.Skipped.add(rel) })
	if err != nil {
		return Tree{}, effect.Failed(err)
	}
	return t, nil
}
