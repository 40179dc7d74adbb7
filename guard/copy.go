package guard

import (
	"context"
	"path"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/judge"
	"github.com/rootbound/rootbound/guard/spelling"
)

// judgeCopy resolves both ends of a copy under one snapshot. The source is read: a final link is followed inside its root.
func (g *Guard) judgeCopy(ctx context.Context, t *Target, p spelling.Place) error {
	q, err := g.destPlace(t)
	if err != nil {
		return err
	}
	if err := t.j.Spelled(p, false); err != nil {
		return err
	}
	if err := t.use.CheckRoot(p.Grant, true); err != nil {
		return err
	}
	if err := g.mutable(t, q); err != nil {
		return atDest(t, err)
	}
	e, err := t.snap.Set.Entry(beneath.Ref{Root: p.Grant, Path: p.Rest}, true)
	if err != nil {
		return t.j.Veil(p, err, judge.Takes)
	}
	t.entry = e
	if err := t.j.Stays(e, p, &t.project, &t.rel); err != nil {
		return err
	}
	if t.obj, err = e.Open(beneath.Any); err != nil {
		t.obj = nil
		return t.j.Veil(p, err, judge.Takes)
	}
	t.src = t.obj.Info()
	if err := t.j.Reached(t.project, t.rel, t.src, e.At(), false); err != nil {
		return err
	}
	if err := t.may(t.project); err != nil {
		return err
	}
	if t.project.DenyMounts && t.obj.Crossed() {
		return t.j.Mounts()
	}
	if err := g.judgeDest(t, q); err != nil {
		return atDest(t, err)
	}
	if err := t.j.Holds(e.At(), t.src.ID); err != nil {
		return err
	}
	if err := g.appears(t); err != nil {
		return atDest(t, err)
	}
	if err := g.judgeOld(ctx, t); err != nil {
		return atDest(t, err)
	}
	if err := t.copyRights(p, q); err != nil {
		return err
	}
	if t.old != nil && t.old.ID.Same(t.src.ID) {
		return atDest(t, &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "same_object", Next: "Choose a destination that is not the source by another name."})
	}
	if !t.src.Mode.IsDir() {
		return t.j.Copyable(t.tree(), t.src, path.Base(t.rel))
	}
	if err := t.j.Head(t.destProject, t.destRel); err != nil {
		return atDest(t, err)
	}
	return t.judgeTree(ctx)
}

// copyRights: the source is read, its tree listed too; appearing needs create and replacing write; a copy between roots
// needs the policy that a move needs.
func (t *Target) copyRights(p, q spelling.Place) error {
	from, to := rootbound.Read, rootbound.Create
	if t.src.Mode.IsDir() {
		from |= rootbound.List
	}
	if t.old != nil {
		to = rootbound.Write
	}
	t.need = from | to
	if err := t.right(t.project, from|t.req.Need); err != nil {
		return err
	}
	if (t.project != t.destProject || p.Grant != q.Grant) && (!t.project.MovesAcross || !t.destProject.MovesAcross) {
		return refuse(rootbound.CrossRootMove, "copies follow the same rule")
	}
	if err := t.right(t.destProject, to); err != nil {
		return atDest(t, err)
	}
	return nil
}

// writable refuses a file that is too large for the project where it would appear.
func (t *Target) writable(size int64) error {
	if max := t.destProject.MaxWrite; max > 0 && size > max {
		return atDest(t, judge.Oversized())
	}
	return nil
}
