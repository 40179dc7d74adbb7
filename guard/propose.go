package guard

import (
	"io/fs"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/judge"
	"github.com/rootbound/rootbound/guard/spelling"
)

// The ways out of a refusal where a change may be proposed.
const (
	ProposeInstead = judge.ProposeInstead // as a patch
	ProposeFiles   = judge.ProposeFiles   // a directory: the files that it is to hold
	ProposeWithin  = judge.ProposeWithin  // a directory: what is to become of the files in it
	AskFor         = judge.AskFor         // nobody but the operator can do it
)

// right checks the rights of a project.
func (t *Target) right(p *rootbound.Project, need rootbound.Rights) error {
	return t.rightTo(p, need, t.src.Mode)
}

// rightTo checks them with what may be told of the source: its kind shows in the way out. 0: a file, or nothing.
func (t *Target) rightTo(p *rootbound.Project, need rootbound.Rights, kind fs.FileMode) error {
	if need&^p.Rights == 0 && (need&judge.Changing == 0 || !p.ProposeWrites || t.use.Agreed != "") {
		return nil
	}
	return judge.Lacks(p, need, t.req.Op, kind, t.destProject != nil && t.destProject != t.project)
}

// creates is the right that making something needs: to plan it takes less than to do it.
func (t *Target) creates() rootbound.Rights {
	if t.req.Op == rootbound.OpPropose {
		return rootbound.Propose | rootbound.Read // a plan says whether something is there
	}
	return rootbound.Create
}

// judgePropose resolves a file that a plan is to change, make or remove: by the rules of a change, and without an effect.
// What is there is read, so that needs read. A final link is not followed: patches are for files.
func (g *Guard) judgePropose(t *Target, p spelling.Place) error {
	if err := g.mutable(t, p); err != nil {
		return err
	}
	t.need = rootbound.Propose | rootbound.Read
	e, err := t.snap.Set.Entry(beneath.Ref{Root: p.Grant, Path: p.Rest}, false)
	if rootbound.ReasonOf(err) == rootbound.ParentMissing {
		err := g.judgeBelowMissing(t, p)
		t.missing = nil // nothing is made
		return err
	}
	if err != nil {
		return t.j.Veil(p, err, judge.Changes)
	}
	defer e.Close()
	if err := t.j.Stays(e, p, &t.project, &t.rel); err != nil {
		return err
	}
	now, err := e.Lstat()
	switch {
	case rootbound.ReasonOf(err) == rootbound.NotFound:
		now = beneath.Info{}
	case err != nil:
		return t.j.Veil(p, err, judge.Changes)
	}
	// Judged before it is opened, so that what is denied is denied whether or not it is there.
	if err := t.j.Reached(t.project, t.rel, now, e.At(), true); err != nil {
		return err
	}
	t.need |= t.req.Need
	if err := t.right(t.project, t.need); err != nil {
		return err
	}
	if now.ID == (beneath.ObjectID{}) {
		return nil
	}
	if now.Mode&fs.ModeSymlink != 0 {
		return &rootbound.Error{Reason: rootbound.SpecialFile, Detail: "a symbolic link", Next: "Use the path of the file it leads to: patches never make, change or remove links."}
	}
	o, err := e.Open(beneath.File)
	if err != nil {
		return t.j.Veil(p, err, judge.Changes)
	}
	t.obj = o
	if t.project.DenyMounts && o.Crossed() {
		return t.j.Mounts()
	}
	return t.j.Readable(t.project, o.Info())
}
