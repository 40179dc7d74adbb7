package fileop

import (
	"context"
	"io/fs"
	"strings"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
)

// MaxTree is how many nodes one tree holds (contract §6).
const MaxTree = 50_000

// MaxSkips is how many unreadable places a result names; more are only counted.
const MaxSkips = 20

// Tourist visits what lies below a directory, depth first in byte order of names: *guard.Target and *beneath.Object.
type Tourist interface {
	Tour(ctx context.Context, c beneath.Course) error
}

// Branch is one node of a tree. The nodes stand in the order of a depth-first walk, so Depth tells the parent.
type Branch struct {
	Name   string // bytes as on disk; showing them needs escaping
	Depth  int    // 1 for the entries of the directory that was asked for
	Dir    bool   // a directory that was descended into, unless it could not be read or lies at the bound
	Link   bool
	Reach  bool // a link that reaches a directory inside
	Before bool // a directory of a page before, here only for what else it holds
	Closed bool // a directory at the bound on depth: what it holds was not looked at
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
	Nodes    int                                 // bound; 0: MaxTree
	Depth    int                                 // deepest level; 0: no bound but the walker's
	Excluded func(rel string) bool               // leaves a node and what lies below it out; nil: nothing
	Along    func(beneath.Course) beneath.Course // goes along with the walk, and may leave nodes out; nil: nobody
	After    string                              // path of the last node of the page before; empty: the first page
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
func Grow(ctx context.Context, w Tourist, o TreeOptions) (Tree, error) {
	if o.Nodes <= 0 {
		o.Nodes = MaxTree
	}
	var t Tree
	page := newPage(o.After)
	fresh := 0
	c := beneath.Course{Visit: func(n *beneath.Node) (beneath.Step, error) {
		if o.Excluded != nil && o.Excluded(n.Rel()) {
			return beneath.Over, nil
		}
		b := Branch{Name: n.Name(), Depth: n.Depth(), Dir: n.Type().IsDir()}
		b.Closed = b.Dir && o.Depth > 0 && b.Depth >= o.Depth
		if shown, deeper := page.before(b); shown {
			if deeper && !b.Closed {
				return beneath.Into, nil
			}
			return beneath.Over, nil
		}
		if fresh == o.Nodes {
			t.Truncated = true
			return beneath.Stop, nil
		}
		fresh++
		t.Nodes = page.parents(t.Nodes, b.Depth)
		if n.Type()&fs.ModeSymlink != 0 {
			b.Link = true
			if target, ok := n.Target(); ok {
				b.Reach = target.Mode.IsDir()
			}
		}
		t.Nodes = append(t.Nodes, b)
		if b.Closed {
			t.Deep = true
			return beneath.Over, nil
		}
		return beneath.Into, nil
	}, Failed: func(rel string, _ error) { t.Skipped.add(rel) }}
	if o.Along != nil {
		c = o.Along(c)
	}
	if err := w.Tour(ctx, c); err != nil {
		return Tree{}, effect.Failed(err)
	}
	return t, nil
}

// page finds where a page of a tree begins: behind a node that may be gone by now. It compares names only, so a path that
// somebody made up tells nothing.
type page struct {
	names  []string // of the path of the last node before
	on     int      // how many of them the walk is below
	opened int      // how many of them are in the result
	past   bool
}

func newPage(after string) *page {
	if after == "" {
		return &page{past: true}
	}
	return &page{names: strings.Split(after, "/")}
}

// before reports whether a node was on a page before, and then whether there may be more below it.
func (p *page) before(b Branch) (shown, deeper bool) {
	if p.past {
		return false, false
	}
	if b.Depth <= p.on { // the walk left the directory that the page ended in
		p.past = true
		return false, false
	}
	switch c := strings.Compare(b.Name, p.names[b.Depth-1]); {
	case c < 0:
		return true, false
	case c > 0:
		p.past = true
		return false, false
	}
	p.on = b.Depth
	p.past = p.on == len(p.names)
	return true, b.Dir
}

// parents adds the directories of pages before that hold a node of this depth, which comes next.
func (p *page) parents(nodes []Branch, depth int) []Branch {
	p.on = min(p.on, depth-1)
	for ; p.opened < p.on; p.opened++ {
		nodes = append(nodes, Branch{Name: p.names[p.opened], Depth: p.opened + 1, Dir: true, Before: true})
	}
	return nodes
}
