package guard

import (
	"context"
	"io/fs"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
	"github.com/rootbound/rootbound/guard/spelling"
)

// judgeMove resolves both ends of a move under one snapshot. The source is the entry itself: a link moves as a link.
func (g *Guard) judgeMove(ctx context.Context, t *Target, p spelling.Place) error {
	to, serr := g.spell(t.snap, t.req.DestRoot, t.req.Dest, true)
	if serr != nil {
		serr.Path = t.req.Dest
		return serr
	}
	q := to[0]
	if err := g.mutable(t, p); err != nil {
		return err
	}
	if err := g.mutable(t, q); err != nil {
		return atDest(t, err)
	}
	e, err := t.snap.Set.Entry(beneath.Ref{Root: p.Grant, Path: p.Rest}, false)
	if err != nil {
		return g.veil(t, p, err, true)
	}
	t.entry = e
	d, err := t.snap.Set.Entry(beneath.Ref{Root: q.Grant, Path: q.Rest}, false)
	if err != nil {
		return atDest(t, g.veil(t, q, err, true))
	}
	t.dest = d
	if err := t.stays(e, p); err != nil {
		return err
	}
	if err := t.stays(d, q); err != nil {
		return atDest(t, err)
	}
	if t.src, err = e.Lstat(); err != nil {
		return g.veil(t, p, err, true)
	}
	// A directory that is itself a project is met as an entry of the outer one: its mark is its own.
	if err := t.locate(e.At(), e.Mark(), &t.project, &t.rel); err != nil {
		return err
	}
	if err := t.locate(d.At(), d.Mark(), &t.destProject, &t.destRel); err != nil {
		return atDest(t, err)
	}
	kind := t.src.Mode.Type()
	link := kind&fs.ModeSymlink != 0
	if !link && kind != 0 && kind != fs.ModeDir {
		return refuse(rootbound.SpecialFile, "")
	}
	if err := g.judgeReached(t, t.project, t.rel, t.src, e.At(), true); err != nil {
		return err
	}
	if err := g.judgeReached(t, t.destProject, t.destRel, beneath.Info{Mode: t.src.Mode}, d.At(), true); err != nil {
		return atDest(t, err)
	}
	// What stands above our own files is not moved, and nothing is put in its place: links and missing directories too.
	if len(g.own.Below(t.absolute(e.At()))) > 0 {
		return t.rule(ownRule)
	}
	if len(g.own.Below(t.absolute(d.At()))) > 0 {
		return atDest(t, t.rule(ownRule))
	}
	for _, m := range t.snap.Marks {
		if m.Root.ID().Same(t.src.ID) {
			return refuse(rootbound.ProjectInside, "")
		}
	}
	if err := t.moveRights(p, q); err != nil {
		return err
	}
	if old, err := d.Lstat(); err == nil {
		if !t.req.Overwrite && !old.ID.Same(t.src.ID) {
			return atDest(t, refuse(rootbound.Exists, ""))
		}
		if t.req.Overwrite {
			switch old.Mode.Type() {
			case 0, fs.ModeSymlink:
			case fs.ModeDir:
				return atDest(t, refuse(rootbound.IsADirectory, "a directory is never overwritten"))
			default:
				return atDest(t, refuse(rootbound.SpecialFile, ""))
			}
			if err := t.right(t.destProject, rootbound.Write); err != nil {
				return atDest(t, err)
			}
			if g.own.Object(old.ID) {
				return atDest(t, t.rule(ownRule))
			}
			t.old = &old
		}
	} else if rootbound.ReasonOf(err) != rootbound.NotFound {
		return atDest(t, err)
	}
	switch {
	case link:
		// inside before and after, or the move would make or keep a way out
		if _, at, ok := e.Target(); !ok {
			return refuse(rootbound.OutsideRoot, "the link leads out")
		} else if at.Root != e.At().Root && t.project != t.destProject {
			return refuse(rootbound.OutsideRoot, "the link leads into another root")
		}
		if !e.ReachesFrom(d) {
			return refuse(rootbound.OutsideRoot, "from there the link would lead out")
		}
		return g.moveHeads(t)
	case kind == fs.ModeDir:
		if err := g.moveHeads(t); err != nil {
			return err
		}
		return g.judgeTree(ctx, t, nil)
	}
	return nil
}

// atDest makes a refusal speak of the destination.
func atDest(t *Target, err error) error {
	if e, ok := err.(*rootbound.Error); ok {
		out := *e
		out.Path = t.req.Dest
		if t.destProject != nil {
			out.Root = t.destProject.ID
		}
		return &out
	}
	return err
}

// moveRights: leaving a project needs delete there, appearing needs create, and a move between roots the policy of both.
func (t *Target) moveRights(p, q spelling.Place) error {
	t.need = rootbound.Move
	if err := t.right(t.project, rootbound.Move|t.req.Need); err != nil {
		return err
	}
	if t.project == t.destProject && p.Grant == q.Grant {
		t.need |= rootbound.Create
		return t.right(t.project, rootbound.Create)
	}
	if !t.project.MovesAcross || !t.destProject.MovesAcross {
		return refuse(rootbound.CrossRootMove, "")
	}
	if t.project != t.destProject {
		t.need |= rootbound.Delete
		if err := t.right(t.project, rootbound.Delete); err != nil {
			return err
		}
	}
	if err := t.right(t.destProject, rootbound.Create|rootbound.Move); err != nil {
		return atDest(t, err)
	}
	return nil
}

// moveHeads: a directory, or a link that may lead to one, that begins a longer pattern cannot be moved or be a
// destination.
func (g *Guard) moveHeads(t *Target) error {
	pol, err := g.policy(t.project)
	if err != nil {
		return err
	}
	if err := t.rule(pol.Move(rules.Fold(t.rel))); err != nil {
		return err
	}
	if pol, err = g.policy(t.destProject); err != nil {
		return err
	}
	if err := t.rule(pol.Move(rules.Fold(t.destRel))); err != nil {
		return atDest(t, err)
	}
	return nil
}

// judgeTree judges a directory that is moved entry by entry, at its source and at its destination, up to the bound.
// visit, which may be nil, is shown what may move.
func (g *Guard) judgeTree(ctx context.Context, t *Target, visit func(*beneath.Node) error) error {
	o, err := t.entry.Open(beneath.Dir)
	if err != nil {
		return err
	}
	defer o.Close()
	from, err := g.policy(t.project)
	if err != nil {
		return err
	}
	to, err := g.policy(t.destProject)
	if err != nil {
		return err
	}
	for _, m := range t.snap.Marks {
		if strings.HasPrefix(m.Root.Path(), strings.TrimRight(t.absolute(o.At()), "/")+"/") {
			return refuse(rootbound.ProjectInside, "")
		}
	}
	n := 0
	var failed error
	err = o.Walk(ctx, func(node *beneath.Node) (beneath.Step, error) {
		if err := t.Stale(); err != nil {
			return beneath.Stop, err
		}
		t.touch()
		if n++; n > g.opt.TreeLimit {
			return beneath.Stop, &rootbound.Error{Reason: rootbound.LimitReached, Detail: "the tree holds more entries than are judged in one move", Next: "Move its parts one by one."}
		}
		if m := node.Mark(); m >= 0 && t.snap.Marks[m].Project != t.project {
			return beneath.Stop, refuse(rootbound.ProjectInside, "")
		}
		dir := node.Type().IsDir()
		rest := node.Rel()
		if r := from.Entry(join(t.rel, rest), node.Name(), dir); r != nil {
			return beneath.Stop, t.rule(r)
		}
		if r := to.Entry(join(t.destRel, rest), node.Name(), dir); r != nil {
			return beneath.Stop, atDest(t, t.rule(r))
		}
		if visit != nil {
			return beneath.Into, visit(node)
		}
		return beneath.Into, nil
	}, func(_ string, err error) {
		if failed == nil {
			failed = err
		}
	})
	if err == nil && failed != nil { // what cannot be judged cannot be moved
		err = failed
	}
	return err
}
