package guard

import (
	"context"
	"io/fs"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/judge"
	"github.com/rootbound/rootbound/guard/spelling"
)

// The two ends of what is moved, copied or deleted.

// ontoDirectory refuses a destination that is a directory.
func ontoDirectory(r rootbound.Reason) *rootbound.Error {
	return &rootbound.Error{Reason: r, Detail: "a directory is never overwritten",
		Next: "To put it into that directory send the new path in full, its name included; else choose another name."}
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

func (g *Guard) destPlace(t *Target) (spelling.Place, error) {
	to, err := g.spell(t, t.req.DestRoot, t.req.Dest, true)
	if err != nil {
		err.Path = t.req.Dest
		return spelling.Place{}, err
	}
	return to[0], nil
}

// takes judges the entry that moves or goes: what it holds is t.src afterwards.
func (g *Guard) takes(t *Target, p spelling.Place) (err error) {
	e := t.entry
	// A directory that is itself a project is met as an entry of the outer one: its mark is its own.
	if err := t.j.Stays(e, p, &t.project, &t.rel); err != nil {
		return err
	}
	if t.src, err = e.Lstat(); err != nil {
		return t.j.Veil(p, err, judge.Changes)
	}
	if err := t.j.Reached(t.project, t.rel, t.src, e.At(), true); err != nil {
		return err
	}
	if err := t.may(t.project); err != nil {
		return err
	}
	switch t.src.Mode.Type() {
	case 0, fs.ModeDir, fs.ModeSymlink:
	default:
		return refuse(rootbound.SpecialFile, "")
	}
	return t.j.Holds(e.At(), t.src.ID)
}

// judgeDest resolves the destination. Parents that are missing are judged where they may be made.
func (g *Guard) judgeDest(t *Target, q spelling.Place) error {
	d, err := t.snap.Set.Entry(beneath.Ref{Root: q.Grant, Path: q.Rest}, false)
	if t.req.Parents && rootbound.ReasonOf(err) == rootbound.ParentMissing {
		if t.destAt, t.destProject, t.destRel, err = t.j.Lacking(t.mayCreate, q); err == nil {
			t.missing = &q
		}
		return err
	}
	if err != nil {
		return t.j.Veil(q, err, judge.Changes)
	}
	t.dest, t.destAt = d, d.At()
	return t.j.Stays(d, q, &t.destProject, &t.destRel)
}

// appears judges the destination as the place where something of the source's kind appears.
func (g *Guard) appears(t *Target) error {
	if err := t.j.Reached(t.destProject, t.destRel, beneath.Info{Mode: t.src.Mode}, t.destAt, true); err != nil {
		return err
	}
	if err := t.may(t.destProject); err != nil {
		return err
	}
	if err := t.j.OursBelow(t.destAt); err != nil { // nothing is put in the place of what stands above our own files
		return err
	}
	if from := t.entry.At(); t.missing != nil && from.Root == t.destAt.Root && strings.HasPrefix(t.destAt.Path, from.Path+"/") {
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "into_itself", Next: "Choose a destination outside the directory itself."} // else the directories above it would be made first
	}
	return nil
}

// judgeOld judges what the destination holds: t.old is set if it may be replaced.
func (g *Guard) judgeOld(ctx context.Context, t *Target) error {
	if t.dest == nil {
		return nil
	}
	old, err := t.dest.Lstat()
	if err != nil {
		if rootbound.ReasonOf(err) == rootbound.NotFound {
			return nil
		}
		return err
	}
	if !t.req.Overwrite {
		if t.req.Op == rootbound.OpMove && old.ID.Same(t.src.ID) {
			return nil // the rename says what is wrong with it
		}
		if old.Mode.IsDir() {
			return ontoDirectory(rootbound.Exists)
		}
		return refuse(rootbound.Exists, "")
	}
	switch kind := old.Mode.Type(); {
	case kind == fs.ModeDir:
		return ontoDirectory(rootbound.IsADirectory)
	case kind == fs.ModeSymlink && t.req.Op == rootbound.OpMove, kind == 0:
	case kind == fs.ModeSymlink:
		return &rootbound.Error{Reason: rootbound.SpecialFile, Detail: "a copy never replaces a link", Next: "Name the file that the link leads to."}
	default:
		return refuse(rootbound.SpecialFile, "")
	}
	if err := t.j.OursIs(old.ID); err != nil {
		return err
	}
	t.old = &old
	return t.j.OtherNames(ctx, t.destProject, t.destRel, t.destAt, old)
}
