package guard

import (
	"context"
	"path"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/judge"
	"github.com/rootbound/rootbound/guard/spelling"
)

// judge resolves the request against the target's snapshot and fills the target, or refuses. It may be called again after
// drop.
func (g *Guard) judge(ctx context.Context, t *Target) error {
	t.touch()
	mutation := t.req.Op.Mutates() || t.req.Op == rootbound.OpPropose
	places, err := g.spell(t, t.req.Root, t.req.Path, mutation)
	if err != nil {
		return err
	}
	if len(places) == 1 { // known before anything is opened, so that the record and the refusal name it
		t.grant, t.project = places[0].Grant, t.snap.Grants[places[0].Grant].Project
	}
	switch t.req.Op {
	case rootbound.OpRead:
		t.need = rootbound.Read
		if t.req.Listing {
			return g.judgeObject(ctx, t, places, beneath.Any)
		}
		return g.judgeObject(ctx, t, places, beneath.File)
	case rootbound.OpStat:
		t.need = rootbound.List
		return g.judgeObject(ctx, t, places, beneath.Handle)
	case rootbound.OpList, rootbound.OpTree:
		t.need = rootbound.List
		return g.judgeObject(ctx, t, places, beneath.Dir)
	case rootbound.OpSearch:
		t.need = rootbound.Search
		return g.judgeObject(ctx, t, places, beneath.Any)
	case rootbound.OpSearchContent:
		t.need = rootbound.Search | rootbound.Read
		return g.judgeObject(ctx, t, places, beneath.Any)
	case rootbound.OpCreate, rootbound.OpWrite, rootbound.OpEdit:
		return g.judgeEntry(ctx, t, places[0])
	case rootbound.OpPropose:
		return g.judgePropose(t, places[0])
	case rootbound.OpMkdir:
		return g.judgeMkdir(t, places[0])
	case rootbound.OpMove:
		return g.judgeMove(ctx, t, places[0])
	case rootbound.OpCopy:
		return g.judgeCopy(ctx, t, places[0])
	case rootbound.OpDelete:
		return g.judgeDelete(ctx, t, places[0])
	}
	return refuse(rootbound.ArgumentInvalid, "this operation is not served")
}

// judgeObject resolves a read. Of several places the rule Options.Relative chooses among those where it is allowed.
func (g *Guard) judgeObject(ctx context.Context, t *Target, places []spelling.Place, how beneath.How) error {
	chosen, worst := -1, error(nil)
	at := places[0]
	for i, p := range places {
		if len(places) == 1 {
			break
		}
		probe := &Target{g: g, tuning: t.tuning, req: t.req, op: t.op, use: t.use, snap: t.snap, need: t.need, j: t.j, lead: t.head()}
		probe.j.May = probe.may
		err := g.judgeAt(ctx, probe, p, how)
		probe.drop()
		switch {
		case err == nil && chosen >= 0:
			return refuse(rootbound.PathAmbiguous, spelling.Choices(spelling.InForce(t.snap)))
		case err == nil:
			chosen, at = i, p
		case chosen < 0 && worse(worst, err):
			worst, at = err, p
		}
		if chosen >= 0 && t.tuning.Relative == "first" {
			break
		}
	}
	return g.judgeAt(ctx, t, at, how)
}

func (g *Guard) judgeAt(ctx context.Context, t *Target, p spelling.Place, how beneath.How) (err error) {
	if err := t.j.Spelled(p, false); err != nil {
		return err
	}
	if err := t.use.CheckRoot(p.Grant, false); err != nil {
		return err
	}
	if t.obj, t.rec.Canonical, err = t.j.Open(ctx, p, how); err != nil {
		return t.j.Veil(p, err, judge.Looks)
	}
	t.grant = p.Grant
	return g.acceptObject(t, t.obj)
}

// may refuses to tell what is in a project to who has no right there that would show it.
func (t *Target) may(p *rootbound.Project) error {
	shows := judge.Shows(t.req.Op)
	switch {
	case shows == 0: // a read
		if t.req.Listing && p.Rights.Has(rootbound.List) {
			return nil
		}
		return t.right(p, t.need|t.req.Need)
	case p.Rights&(shows|rootbound.List) != 0:
		return nil
	}
	return t.rightTo(p, shows, 0)
}

// worse reports whether the error b says more than a, or than none: not_found of one project hides nothing of another.
func worse(a, b error) bool {
	return a == nil || rootbound.ReasonOf(a) == rootbound.NotFound && rootbound.ReasonOf(b) != rootbound.NotFound
}

// acceptObject judges what was reached.
func (g *Guard) acceptObject(t *Target, o *beneath.Object) error {
	if err := t.j.Arrived(o, &t.project, &t.rel); err != nil {
		return err
	}
	info := o.Info()
	if t.req.Listing && o.IsDir() {
		t.op, t.need = rootbound.OpList, rootbound.List
	}
	if err := t.j.Reached(t.project, t.rel, info, o.At(), false); err != nil {
		return err
	}
	if err := t.right(t.project, t.need|t.req.Need); err != nil {
		return err
	}
	if info.Mode.IsRegular() && (t.req.Op == rootbound.OpRead || t.req.Op == rootbound.OpSearchContent) {
		return t.j.Readable(t.project, info)
	}
	return nil
}

// judgeEntry resolves a change of one file: the parent that exists and one plain name; a final link is followed.
func (g *Guard) judgeEntry(ctx context.Context, t *Target, p spelling.Place) error {
	if err := g.mutable(t, p); err != nil {
		return err
	}
	e, err := t.snap.Set.Entry(beneath.Ref{Root: p.Grant, Path: p.Rest}, true)
	if t.req.Parents && t.req.Op != rootbound.OpEdit && rootbound.ReasonOf(err) == rootbound.ParentMissing {
		return g.judgeBelowMissing(t, p)
	}
	if err != nil {
		return t.j.Veil(p, err, judge.Changes)
	}
	t.entry = e
	if err := t.j.Stays(e, p, &t.project, &t.rel); err != nil {
		return err
	}
	o, err := e.Open(beneath.File)
	switch {
	case err == nil:
		t.obj = o
	case rootbound.ReasonOf(err) != rootbound.NotFound:
		return t.j.Veil(p, err, judge.Changes)
	}
	info := t.appearing()
	if t.obj != nil {
		info = t.obj.Info()
	}
	if err := t.j.Reached(t.project, t.rel, info, e.At(), true); err != nil {
		return err
	}
	if err := t.may(t.project); err != nil {
		return err
	}
	if t.obj != nil && t.project.DenyMounts && t.obj.Crossed() {
		return t.j.Mounts()
	}
	if err := t.j.OtherNames(ctx, t.project, t.rel, e.At(), info); err != nil {
		return err
	}
	switch {
	case t.req.Op == rootbound.OpEdit:
		t.need = rootbound.Write | rootbound.Read // its refusals and its diff show lines of the file
		if t.obj == nil {
			return refuse(rootbound.NotFound, "")
		}
		if err := t.j.Readable(t.project, info); err != nil {
			return err
		}
	case t.obj == nil:
		t.need = rootbound.Create
	case t.req.Op == rootbound.OpCreate:
		t.need = rootbound.Create
		if err := t.right(t.project, t.need); err != nil {
			return err
		}
		return refuse(rootbound.Exists, "")
	default:
		t.need = rootbound.Write
	}
	return t.right(t.project, t.need|t.req.Need)
}

// mutable checks what a change needs before it is resolved: the spelling's rules and that the root is where it was.
func (g *Guard) mutable(t *Target, p spelling.Place) error {
	if err := t.j.Spelled(p, true); err != nil {
		return err
	}
	return t.use.CheckRoot(p.Grant, true)
}

// judgeMkdir resolves a directory to be made: what exists is only looked at, what is missing is judged one by one when it
// is made.
func (g *Guard) judgeMkdir(t *Target, p spelling.Place) error {
	if err := g.mutable(t, p); err != nil {
		return err
	}
	t.need = rootbound.Create
	t.place = p
	if path.Base(p.Rest) == ".." {
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "the last name is ..", Next: "Send a path that ends in a name."}
	}
	o, err := t.snap.Set.Open(beneath.Ref{Root: p.Grant, Path: p.Rest}, beneath.Handle)
	if err == nil {
		t.obj = o
		if err := t.j.Stays(o, p, &t.project, &t.rel); err != nil {
			return err
		}
		if err := g.acceptObject(t, o); err != nil {
			return err
		}
		if !o.IsDir() {
			return refuse(rootbound.Exists, "a file")
		}
		return nil
	}
	if err = t.j.Veil(p, err, judge.Makes); rootbound.ReasonOf(err) != rootbound.NotFound {
		return err
	}
	t.rel = strings.TrimPrefix(path.Join("/", t.snap.Grants[p.Grant].Prefix, path.Clean("/"+p.Rest)), "/")
	return t.right(t.project, t.need|t.req.Need)
}
