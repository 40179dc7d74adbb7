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
	Late     func() bool                         // asked behind each entry: true ends the page there; nil: nobody
	After    string                              // Next of the page before; empty: the first page
	Widen    func() (narrow func())              // beneath.Course.Widen
}

// Tree is what Grow found.
type Tree struct {
	Nodes     []Branch
	Skipped   Skipped
	Truncated bool   // by the bound on nodes, or Late
	Late      bool   // if Truncated: by Late
	Next      string // if Truncated: path of the last node, or of the entry, shown or not, behind which Late ended the page
	Deep      bool   // the bound on depth left something out
}

// Path is the path of node i below the directory the tree is of.
func (t *Tree) Path(i int) string {
	names := make([]string, t.Nodes[i].Depth)
	for want := len(names); want > 0 && i >= 0; i-- {
		if t.Nodes[i].Depth == want {
			names[want-1] = t.Nodes[i].Name
			want--
		}
	}
	return strings.Join(names, "/")
}

// Grow reads the tree below a directory, links not followed. Directories that cannot be read are in the result, empty,
// and named in Skipped. Each page comes at least one entry behind the one before, also where it shows no node. Errors:
// cancelled, and those of w.
func Grow(ctx context.Context, w Tourist, o TreeOptions) (Tree, error) {
	if o.Nodes <= 0 {
		o.Nodes = MaxTree
	}
	g := &growth{o: o, page: newPage(o.After)}
	c := beneath.Course{Visit: g.visit, Ahead: g.ahead, Widen: o.Widen, Failed: func(rel string, _ error) { g.t.Skipped.add(rel) }}
	if o.Along != nil {
		c = o.Along(c)
	}
	c.Visit = g.onTheWay(c.Visit)
	if err := w.Tour(ctx, c); err != nil {
		return Tree{}, effect.Failed(err)
	}
	return g.t, nil
}

// growth is the state of one Grow.
type growth struct {
	o      TreeOptions
	page   *page
	before bool // the entry that is visited was on a page before
	fresh  int  // nodes that were not
	t      Tree
}

// onTheWay goes where the page before ended without asking anybody about entries on the way there, which was done, and ends
// the page when it is late: also among entries that are left out.
func (g *growth) onTheWay(visit func(*beneath.Node) (beneath.Step, error)) func(*beneath.Node) (beneath.Step, error) {
	return func(n *beneath.Node) (beneath.Step, error) {
		var deeper bool
		g.before, deeper = g.page.before(n.Name(), n.Depth(), n.Type().IsDir())
		switch {
		case g.before && (!deeper || g.closed(n)):
			return beneath.Over, nil
		case g.before && !g.page.past:
			return beneath.Into, nil
		}
		next, err := visit(n)
		if err == nil && next != beneath.Stop && !g.before && g.o.Late != nil && g.o.Late() {
			g.t.Truncated, g.t.Late, g.t.Next = true, true, n.Rel()
			return beneath.Stop, nil
		}
		return next, err
	}
}

// ahead tells of a directory whether the walk will go into it. On the way to where the page before ended it says no.
func (g *growth) ahead(n *beneath.Node) bool {
	return g.page.past && !g.closed(n) && (g.o.Excluded == nil || !g.o.Excluded(n.Rel()))
}

// closed reports a directory at the bound on depth.
func (g *growth) closed(n *beneath.Node) bool {
	return n.Type().IsDir() && g.o.Depth > 0 && n.Depth() >= g.o.Depth
}

func (g *growth) visit(n *beneath.Node) (beneath.Step, error) {
	if g.o.Excluded != nil && g.o.Excluded(n.Rel()) {
		return beneath.Over, nil
	}
	b := Branch{Name: n.Name(), Depth: n.Depth(), Dir: n.Type().IsDir()}
	b.Closed = g.closed(n)
	if g.before { // what the page before ended with may be left out
		return beneath.Into, nil
	}
	if g.fresh == g.o.Nodes {
		g.t.Truncated, g.t.Next = true, g.t.Path(len(g.t.Nodes)-1)
		return beneath.Stop, nil
	}
	g.fresh++
	g.t.Nodes = g.page.parents(g.t.Nodes, b.Depth)
	if n.Type()&fs.ModeSymlink != 0 {
		b.Link = true
		if target, ok := n.Target(); ok {
			b.Reach = target.Mode.IsDir()
		}
	}
	g.t.Nodes = append(g.t.Nodes, b)
	if b.Closed {
		g.t.Deep = true
		return beneath.Over, nil
	}
	return beneath.Into, nil
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

// before reports whether an entry was on a page before, or left out on its way, and then whether there may be more below it.
func (p *page) before(name string, depth int, dir bool) (passed, deeper bool) {
	if p.past {
		return false, false
	}
	if depth <= p.on { // the walk left the directory that the page ended in
		p.past = true
		return false, false
	}
	switch c := strings.Compare(name, p.names[depth-1]); {
	case c < 0:
		return true, false
	case c > 0:
		p.past = true
		return false, false
	}
	p.on = depth
	p.past = p.on == len(p.names)
	return true, dir
}

// parents adds the directories of pages before that hold a node of this depth, which comes next.
func (p *page) parents(nodes []Branch, depth int) []Branch {
	p.on = min(p.on, depth-1)
	for ; p.opened < p.on; p.opened++ {
		nodes = append(nodes, Branch{Name: p.names[p.opened], Depth: p.opened + 1, Dir: true, Before: true})
	}
	return nodes
}
