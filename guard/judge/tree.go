package judge

import (
	"context"
	"io/fs"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
)

// Side is one end of a tree: its project and its path there.
type Side struct {
	Project *rootbound.Project // nil: there is no such end
	Rel     string
}

// Tree is a directory that moves, is copied or goes, and what is to be known of it.
type Tree struct {
	Op       rootbound.Operation
	From, To Side
	At       beneath.Ref       // where it was named
	Aside    bool              // it does not stand there any more: its names and directories tell what came into it
	Limit    int               // of entries
	Go       func() error      // asked for each entry whether to go on
	AtDest   func(error) error // makes a refusal speak of the destination

	Entries int   // that were judged, all of them if Tree returned nil
	Bytes   int64 // of its files, where it was looked at them

	top      beneath.ObjectID
	from, to *rules.Policy
}

// Tree judges a tree entry by entry, at its source and, if it has one, at its destination, and shows visit each entry that
// may. It refuses the whole tree for one entry.
func (j *Judge) Tree(ctx context.Context, o *beneath.Object, t *Tree, visit func(*beneath.Node) error) (err error) {
	t.top = o.Info().ID
	if t.from, err = j.Law.Policy(t.From.Project); err != nil {
		return err
	}
	if t.To.Project != nil {
		if t.to, err = j.Law.Policy(t.To.Project); err != nil {
			return err
		}
	}
	if err := j.Holds(t.At, t.top); err != nil {
		return err
	}
	var failed error
	err = o.Walk(ctx, func(n *beneath.Node) (beneath.Step, error) {
		err := t.Go()
		if err == nil {
			err = j.entry(t, n)
		}
		if err == nil && visit != nil {
			err = visit(n)
		}
		return beneath.Into, err
	}, func(_ string, err error) {
		if failed == nil {
			failed = err
		}
	})
	if err == nil { // what cannot be judged is not touched
		err = failed
	}
	return err
}

func (j *Judge) entry(t *Tree, n *beneath.Node) error {
	if t.Entries++; t.Entries > t.Limit {
		return &rootbound.Error{Reason: rootbound.LimitReached, Detail: "the tree holds more entries than are judged in one call", Next: "Take its parts one by one."}
	}
	if !t.Aside {
		if m := n.Mark(); m >= 0 && j.Snap.Marks[m].Project != t.From.Project {
			return refuse(rootbound.ProjectInside, "")
		}
	}
	dir, rest := n.Type().IsDir(), n.Rel()
	var r *rules.Rule
	if t.Op == rootbound.OpCopy { // its source is read
		r = t.from.Node(n.Name(), dir, func() string { return join(t.From.Rel, rest) })
	} else {
		r = t.from.Entry(join(t.From.Rel, rest), n.Name(), dir)
	}
	if r != nil {
		return j.within(r)
	}
	if t.to != nil {
		if r := t.to.Entry(join(t.To.Rel, rest), n.Name(), dir); r != nil {
			return t.AtDest(j.Rule(r))
		}
	}
	if t.Op == rootbound.OpMove && !j.Law.own.Any() && t.bound() == 0 || t.Aside && !dir {
		return nil
	}
	return j.stands(t, n)
}

// stands judges what stands in an entry of a tree.
func (j *Judge) stands(t *Tree, n *beneath.Node) error {
	i, err := n.Info()
	if err != nil {
		return err
	}
	if j.Law.own.Object(i.ID) { // by another name
		return j.within(ours)
	}
	kind := i.Mode.Type()
	if kind == 0 {
		t.Bytes += i.Size
	}
	switch t.Op {
	case rootbound.OpDelete:
		if kind != 0 && kind != fs.ModeDir && kind != fs.ModeSymlink {
			return refuse(rootbound.SpecialFile, "")
		}
		if i.ID.Mount != t.top.Mount {
			return &rootbound.Error{Reason: rootbound.CrossDevice, Detail: "there is a mount point, and a deletion crosses none", Next: "Delete what lies beside it part by part."}
		}
		for r := range j.roots() {
			if kind == fs.ModeDir && r.ID().Same(i.ID) {
				return refuse(rootbound.ProjectInside, "")
			}
		}
	case rootbound.OpMove:
		return t.Fits(i)
	case rootbound.OpCopy:
		return j.Copyable(t, i, n.Name())
	}
	return nil
}

// bound is how large a file may be where a move brings it; 0: no bound. A move inside a project writes nothing.
func (t *Tree) bound() int64 {
	if t.To.Project == nil || t.From.Project == t.To.Project {
		return 0
	}
	return t.To.Project.MaxWrite
}

// Fits refuses a file that is too large for the project it moves to.
func (t *Tree) Fits(i beneath.Info) error {
	if max := t.bound(); max > 0 && i.Mode.IsRegular() && i.Size > max {
		return t.AtDest(Oversized())
	}
	return nil
}

// Copyable refuses what a copy does not bring to another place, and what the limits of both projects forbid.
func (j *Judge) Copyable(t *Tree, i beneath.Info, name string) error {
	kind := i.Mode.Type()
	switch {
	case kind&fs.ModeSymlink != 0:
		return &rootbound.Error{Reason: rootbound.SpecialFile, Detail: "there is a link, and a copy never makes links", Next: "Copy the files and directories without it."}
	case kind == fs.ModeDir:
		return nil
	case kind != 0:
		return refuse(rootbound.SpecialFile, "")
	case rules.IsGitFile(name):
		return &rootbound.Error{Reason: rootbound.SpecialFile, Detail: "there is a .git file, which points at a repository elsewhere", Next: "Copy the files and directories without it."}
	}
	if err := j.Readable(t.From.Project, i); err != nil {
		return err
	}
	if max := t.To.Project.MaxWrite; max > 0 && i.Size > max {
		return t.AtDest(Oversized())
	}
	return nil
}
