package guard

import (
	"context"
	"io/fs"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
)

// Tree judges the directory that moves, is copied or goes, which stands at the entry at, entry by entry up to the bound,
// and shows visit each entry that may. It refuses the whole tree for one entry.
func (t *Target) Tree(ctx context.Context, at *beneath.Entry, visit func(*beneath.Node) error) error {
	t.light = false
	return t.g.judgeTree(ctx, t, at, visit)
}

// judgeTree judges a tree at its source and, if it has one, at its destination.
func (g *Guard) judgeTree(ctx context.Context, t *Target, at *beneath.Entry, visit func(*beneath.Node) error) error {
	if t.light && t.missing == nil {
		return nil
	}
	o, err := at.Open(beneath.Dir)
	if err != nil {
		return err
	}
	defer o.Close()
	j := treeJudge{g: g, t: t, top: o.Info().ID}
	if j.from, err = g.policy(t.project); err != nil {
		return err
	}
	if t.destProject != nil {
		if j.to, err = g.policy(t.destProject); err != nil {
			return err
		}
	}
	j.home = at == t.entry
	if err := g.holdsUs(t, t.entry.At(), o.Info().ID); err != nil {
		return err
	}
	var failed error
	err = o.Walk(ctx, func(n *beneath.Node) (beneath.Step, error) {
		if err := t.Stale(); err != nil && !t.committed { // what is gone already is looked at to the end
			return beneath.Stop, err
		}
		t.touch()
		err := j.entry(n)
		if err == nil && visit != nil {
			err = visit(n)
		}
		return beneath.Into, err
	}, func(_ string, err error) {
		if failed == nil {
			failed = err
		}
	})
	if err == nil && failed != nil { // what cannot be judged is not touched
		err = failed
	}
	t.weight, t.weightBytes = j.n, j.bytes
	return err
}

type treeJudge struct {
	g        *Guard
	t        *Target
	top      beneath.ObjectID
	from, to *rules.Policy
	home     bool // it stands where it was named, so marks tell of projects
	n        int
	bytes    int64
}

func (j *treeJudge) entry(n *beneath.Node) error {
	t, op := j.t, j.t.req.Op
	if j.n++; j.n > j.g.opt.TreeLimit {
		return &rootbound.Error{Reason: rootbound.LimitReached, Detail: "the tree holds more entries than are judged in one call", Next: "Take its parts one by one."}
	}
	if j.home {
		if m := n.Mark(); m >= 0 && t.snap.Marks[m].Project != t.project {
			return refuse(rootbound.ProjectInside, "")
		}
	}
	dir, rest := n.Type().IsDir(), n.Rel()
	var r *rules.Rule
	if op == rootbound.OpCopy { // its source is read
		r = j.from.Node(n.Name(), dir, func() string { return join(t.rel, rest) })
	} else {
		r = j.from.Entry(join(t.rel, rest), n.Name(), dir)
	}
	if r != nil {
		return t.rule(r)
	}
	if j.to != nil {
		if r := j.to.Entry(join(t.destRel, rest), n.Name(), dir); r != nil {
			return atDest(t, t.rule(r))
		}
	}
	if op == rootbound.OpMove && !j.g.own.Any() || !j.home && !dir {
		return nil // a tree that is aside already: its names and directories tell what came into it
	}
	return j.object(n, op)
}

// object judges what stands in an entry of a tree.
func (j *treeJudge) object(n *beneath.Node, op rootbound.Operation) error {
	i, err := n.Info()
	if err != nil {
		return err
	}
	if j.g.own.Object(i.ID) { // by another name
		return j.t.rule(ownRule)
	}
	kind := i.Mode.Type()
	if kind == 0 {
		j.bytes += i.Size
	}
	switch op {
	case rootbound.OpDelete:
		if kind != 0 && kind != fs.ModeDir && kind != fs.ModeSymlink {
			return refuse(rootbound.SpecialFile, "")
		}
		if i.ID.Mount != j.top.Mount {
			return &rootbound.Error{Reason: rootbound.CrossDevice, Detail: "there is a mount point, and a deletion crosses none", Next: "Delete what lies beside it part by part."}
		}
		for r := range j.t.roots() {
			if kind == fs.ModeDir && r.ID().Same(i.ID) {
				return refuse(rootbound.ProjectInside, "")
			}
		}
	case rootbound.OpCopy:
		return j.t.copyable(i, rules.IsGitFile(n.Name()))
	}
	return nil
}
