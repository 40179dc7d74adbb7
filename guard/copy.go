package guard

import (
	"context"
	"io/fs"
	"path"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
	"github.com/rootbound/rootbound/guard/spelling"
)

// judgeCopy resolves both ends of a copy under one snapshot. The source is read: a final link is followed inside its root.
func (g *Guard) judgeCopy(ctx context.Context, t *Target, p spelling.Place) error {
	q, err := g.destPlace(t)
	if err != nil {
		return err
	}
	if err := g.spelledRule(t, p, false); err != nil {
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
		return g.veil(t, p, err, false)
	}
	t.entry = e
	if err := g.judgeDest(t, q); err != nil {
		return atDest(t, err)
	}
	if err := t.stays(e, p); err != nil {
		return err
	}
	if err := t.locate(e.At(), e.Mark(), e.Linked(), &t.project, &t.rel); err != nil {
		return err
	}
	if t.obj, err = e.Open(beneath.Any); err != nil {
		t.obj = nil
		return g.veil(t, p, err, false)
	}
	t.src = t.obj.Info()
	if t.project.DenyMounts && t.obj.Crossed() {
		return t.mounts()
	}
	if err := g.judgeReached(t, t.project, t.rel, t.src, e.At(), false); err != nil {
		return err
	}
	if err := g.holdsUs(t, e.At(), t.src.ID); err != nil {
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
		return atDest(t, refuse(rootbound.PathInvalid, "same_object"))
	}
	if !t.src.Mode.IsDir() {
		return t.copyable(t.src, rules.IsGitFile(path.Base(t.rel)))
	}
	if err := g.head(t, t.destProject, t.destRel); err != nil {
		return atDest(t, err)
	}
	return g.judgeTree(ctx, t, e, nil)
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

// copyable refuses what a copy does not bring to another spelling.Place, and what the limits of both projects forbid.
func (t *Target) copyable(i beneath.Info, gitFile bool) error {
	kind := i.Mode.Type()
	switch {
	case kind&fs.ModeSymlink != 0:
		return &rootbound.Error{Reason: rootbound.SpecialFile, Detail: "there is a link, and a copy never makes links", Next: "Copy the files and directories without it."}
	case kind == fs.ModeDir:
		return nil
	case kind != 0:
		return refuse(rootbound.SpecialFile, "")
	case gitFile:
		return &rootbound.Error{Reason: rootbound.SpecialFile, Detail: "there is a .git file, which points at a repository elsewhere", Next: "Copy the files and directories without it."}
	}
	if err := t.readable(i); err != nil {
		return err
	}
	return t.writable(i.Size)
}

// writable refuses a file that is too large for the project where it would appear.
func (t *Target) writable(size int64) error {
	if max := t.destProject.MaxWrite; max > 0 && size > max {
		return atDest(t, refuse(rootbound.TooLarge, "max_write of the project"))
	}
	return nil
}
