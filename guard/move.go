package guard

import (
	"context"
	"io/fs"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/judge"
	"github.com/rootbound/rootbound/guard/spelling"
)

// judgeMove resolves both ends of a move under one snapshot. The source is the entry itself: a link moves as a link.
func (g *Guard) judgeMove(ctx context.Context, t *Target, p spelling.Place) error {
	q, err := g.destPlace(t)
	if err != nil {
		return err
	}
	if err := g.mutable(t, p); err != nil {
		return err
	}
	if err := g.mutable(t, q); err != nil {
		return atDest(t, err)
	}
	e, err := t.snap.Set.Entry(beneath.Ref{Root: p.Grant, Path: p.Rest}, false)
	if err != nil {
		return t.j.Veil(p, err, judge.Changes)
	}
	t.entry = e
	if err := g.takes(t, p); err != nil {
		return err
	}
	if err := g.judgeDest(t, q); err != nil {
		return atDest(t, err)
	}
	if err := g.appears(t); err != nil {
		return atDest(t, err)
	}
	if err := t.moveRights(p, q); err != nil {
		return err
	}
	if err := g.judgeOld(ctx, t); err != nil {
		return atDest(t, err)
	}
	if t.old != nil {
		if err := t.right(t.destProject, rootbound.Write); err != nil {
			return atDest(t, err)
		}
	}
	kind := t.src.Mode.Type()
	if kind == 0 {
		return t.tree().Fits(t.src)
	}
	if kind&fs.ModeSymlink != 0 {
		// inside before and after, or the move would make or keep a way out
		if at, ok := t.j.Inside(e.At()); !ok {
			return refuse(rootbound.OutsideRoot, "the link leads out")
		} else if at.Root != e.At().Root && t.project != t.destProject {
			return refuse(rootbound.OutsideRoot, "the link leads into another root")
		}
		if t.dest != nil {
			at, ok := e.LeadFrom(t.dest)
			if ok {
				_, ok = t.j.Inside(at)
			}
			if !ok {
				return refuse(rootbound.OutsideRoot, "from there the link would lead out")
			}
		}
	}
	if err := t.j.Head(t.project, t.rel); err != nil {
		return err
	}
	if err := t.j.Head(t.destProject, t.destRel); err != nil {
		return atDest(t, err)
	}
	if kind == fs.ModeDir {
		return t.judgeTree(ctx)
	}
	return nil
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
