package guard

import (
	"context"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/judge"
	"github.com/rootbound/rootbound/guard/spelling"
)

// judgeDelete resolves the entry that is to go: a link is deleted as the link. A directory goes with what it holds only
// where that was asked for, and only if all of it may.
func (g *Guard) judgeDelete(ctx context.Context, t *Target, p spelling.Place) error {
	if err := g.mutable(t, p); err != nil {
		return err
	}
	e, err := t.snap.Set.Entry(beneath.Ref{Root: p.Grant, Path: p.Rest}, false)
	if err != nil {
		return t.j.Veil(p, err, judge.Changes)
	}
	t.entry = e
	if err := g.takes(t, p); err != nil {
		return err
	}
	t.need = rootbound.Delete
	if err := t.right(t.project, t.need|t.req.Need); err != nil {
		return err
	}
	if t.project.DenyMounts && e.Crossed() {
		return t.j.Mounts()
	}
	if t.src.ID.Mount != e.Key().Dir.Mount {
		return &rootbound.Error{Reason: rootbound.CrossDevice, Detail: "a mount point is not deleted", Next: "Delete what lies in it part by part."}
	}
	if t.src.Mode.IsRegular() {
		for _, how := range []beneath.How{beneath.File, beneath.Handle} { // who may not read it may delete it
			if o, err := e.Open(how); err == nil && o.Info().ID.Same(t.src.ID) {
				t.obj = o
				break
			} else if err == nil {
				o.Close()
			}
		}
		return nil
	}
	if err := t.j.Head(t.project, t.rel); err != nil {
		return err
	}
	if t.src.Mode.IsDir() && t.req.Recursive {
		return t.judgeTree(ctx)
	}
	return nil
}

// Weight is what the tree that is copied or deleted holds below its top: entries, and bytes of its files.
func (t *Target) Weight() (entries int, bytes int64) { return t.weight, t.weightBytes }

// Recursive reports whether a deletion takes a directory with all that it holds.
func (t *Target) Recursive() bool { return t.req.Recursive }
