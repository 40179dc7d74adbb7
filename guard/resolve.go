package guard

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
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

// judgeObject resolves a read. Of several places the rule Options.Relative chooses.
func (g *Guard) judgeObject(ctx context.Context, t *Target, places []spelling.Place, how beneath.How) error {
	var found *beneath.Object
	var at spelling.Place
	var first error
	for _, p := range places {
		if err := g.spelledRule(t, p, false); err != nil {
			first = worse(first, err)
			continue
		}
		if err := t.use.CheckRoot(p.Grant, false); err != nil {
			first = worse(first, err)
			continue
		}
		o, canonical, err := g.open(ctx, t, p, how)
		if err != nil {
			first = worse(first, g.veil(t, p, err, false))
			continue
		}
		if found != nil {
			found.Close()
			o.Close()
			return refuse(rootbound.PathAmbiguous, spelling.Choices(spelling.InForce(t.snap)))
		}
		found, at, t.rec.Canonical = o, p, canonical
		if g.opt.Relative == "first" {
			break
		}
	}
	if found == nil {
		return first
	}
	t.obj, t.grant = found, at.Grant
	return g.acceptObject(t, found)
}

// worse keeps the error that says more: not_found of one project hides nothing of another.
func worse(a, b error) error {
	if a == nil || rootbound.ReasonOf(a) == rootbound.NotFound && rootbound.ReasonOf(b) != rootbound.NotFound {
		return b
	}
	return a
}

// open opens a place; where the exact name is missing, the one entry of the same directory that is listed as it was
// sent, or that is its NFC equivalent, stands for it (reads only).
func (g *Guard) open(ctx context.Context, t *Target, p spelling.Place, how beneath.How) (*beneath.Object, string, error) {
	o, err := t.snap.Set.Open(beneath.Ref{Root: p.Grant, Path: p.Rest}, how)
	if err == nil {
		return o, "", nil
	}
	if rootbound.ReasonOf(err) == rootbound.NotFound && (strings.IndexByte(p.Rest, '\\') >= 0 || !asciiOnly(p.Rest)) {
		if rest, canonical, ok := g.otherName(ctx, t, p); ok {
			if o, err2 := t.snap.Set.Open(beneath.Ref{Root: p.Grant, Path: rest}, how); err2 == nil {
				return o, canonical, nil
			}
		}
	}
	return nil, "", err
}

// acceptObject judges what was reached.
func (g *Guard) acceptObject(t *Target, o *beneath.Object) error {
	if err := t.locate(o.At(), o.Mark(), o.Linked(), &t.project, &t.rel); err != nil {
		return err
	}
	info := o.Info()
	if err := g.judgeReached(t, t.project, t.rel, info, o.At(), false); err != nil {
		return err
	}
	if info.Mode.IsRegular() && (t.req.Op == rootbound.OpRead || t.req.Op == rootbound.OpSearchContent) {
		if err := t.readable(info); err != nil {
			return err
		}
	}
	return t.right(t.project, t.need|t.req.Need)
}

// readable refuses to read a file that has several names or is too large, where the project says so.
func (t *Target) readable(info beneath.Info) error {
	if t.project.MaxRead > 0 && info.Size > t.project.MaxRead {
		return refuse(rootbound.TooLarge, "max_read of the project")
	}
	if !t.project.DenyHardlinks || info.Links < 2 {
		return nil
	}
	t.rules = []string{"hardlinks"}
	return &rootbound.Error{Reason: rootbound.RuleDenied, Detail: "hardlinks", Next: "Use another path; the operator can allow files with several names with hardlinks: allow."}
}

// locate finds the innermost project an object lies in and its path there. Nested projects are told by identity; their
// paths by the canonical paths of held roots, which are checked to be where they were. linked tells that a symbolic link
// was followed on the way: where the request is contained it may not have led into another project.
func (t *Target) locate(at beneath.Ref, mark int, linked bool, project **rootbound.Project, rel *string) error {
	gr := &t.snap.Grants[at.Root]
	*project, *rel = gr.Project, join(gr.Prefix, at.Path)
	if err := t.innermost(at, mark, project, rel); err != nil {
		return err
	}
	if t.req.Contained && linked && string((*project).ID) != t.req.Root {
		return refuse(rootbound.OutsideRoot, "")
	}
	return nil
}

// innermost corrects what the grant says by the mark of a project inside it.
func (t *Target) innermost(at beneath.Ref, mark int, project **rootbound.Project, rel *string) error {
	gr := &t.snap.Grants[at.Root]
	if mark < 0 || t.snap.Marks[mark].Project == gr.Project {
		return nil
	}
	m := t.snap.Marks[mark]
	granted := func(g authority.Grant) bool { return g.Project == m.Project }
	if !slices.ContainsFunc(t.snap.Grants, granted) { // taken back, or not active: the outer project does not speak for it
		return refuse(rootbound.OutsideRoot, "")
	}
	inner, ok := strings.CutPrefix(m.Root.Path(), strings.TrimRight(gr.Root.Path(), "/")+"/")
	if !ok {
		return refuse(rootbound.RootReplaced, "")
	}
	rest, ok := strings.CutPrefix(at.Path, inner)
	if !ok || rest != "" && rest[0] != '/' {
		return refuse(rootbound.RootReplaced, "")
	}
	*project, *rel = m.Project, strings.TrimPrefix(rest, "/")
	return nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	if b == "" {
		return a
	}
	return a + "/" + b
}

// judgeReached judges an object by where it is, whoever named it: rules of its project and our own files.
func (g *Guard) judgeReached(t *Target, project *rootbound.Project, rel string, info beneath.Info, at beneath.Ref, mutation bool) error {
	if g.own.Any() && (g.own.Object(info.ID) || g.own.Path(t.absolute(at))) {
		return t.rule(ownRule)
	}
	pol, err := g.policy(project)
	if err != nil {
		return err
	}
	folded := rules.Fold(rel)
	if mutation {
		return t.rule(pol.Mutate(folded, info.Mode.IsDir()))
	}
	return t.rule(pol.Read(folded, info.Mode.IsDir()))
}

// absolute is the canonical path of what was reached: compared with our own files, never shown.
func (t *Target) absolute(at beneath.Ref) string {
	return strings.TrimRight(t.snap.Grants[at.Root].Root.Path(), "/") + "/" + at.Path
}

func (t *Target) rule(r *rules.Rule) error {
	if r == nil {
		return nil
	}
	t.rules = []string{r.ID}
	return &rootbound.Error{Reason: rootbound.RuleDenied, Detail: r.ID, Next: "Use another path; " + r.Lift + "."}
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
		return g.veil(t, p, err, true)
	}
	t.entry = e
	if err := t.stays(e, p); err != nil {
		return err
	}
	if err := t.locate(e.At(), e.Mark(), e.Linked(), &t.project, &t.rel); err != nil {
		return err
	}
	o, err := e.Open(beneath.File)
	switch {
	case err == nil:
		t.obj = o
	case rootbound.ReasonOf(err) != rootbound.NotFound:
		return g.veil(t, p, err, true)
	}
	var info beneath.Info
	if t.obj != nil {
		info = t.obj.Info()
		if t.project.DenyMounts && t.obj.Crossed() {
			return t.mounts()
		}
	}
	if err := g.judgeReached(t, t.project, t.rel, info, e.At(), true); err != nil {
		return err
	}
	if err := g.otherNames(ctx, t, t.project, t.rel, e.At(), info); err != nil {
		return err
	}
	switch {
	case t.req.Op == rootbound.OpEdit:
		t.need = rootbound.Write | rootbound.Read // its refusals and its diff show lines of the file
		if t.obj == nil {
			return refuse(rootbound.NotFound, "")
		}
		if err := t.readable(info); err != nil {
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
	if err := g.spelledRule(t, p, true); err != nil {
		return err
	}
	return t.use.CheckRoot(p.Grant, true)
}

// stays refuses a change that arrived in another root than the one it named: links do not carry mutations out.
func (t *Target) stays(e *beneath.Entry, p spelling.Place) error {
	if e.At().Root != p.Grant {
		return refuse(rootbound.OutsideRoot, "the link leads into another root")
	}
	return nil
}

func (t *Target) mounts() error {
	t.rules = []string{"mounts"}
	return &rootbound.Error{Reason: rootbound.RuleDenied, Detail: "mounts", Next: "Use another path; the operator can allow mount points with mounts: allow."}
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
		return refuse(rootbound.PathInvalid, "the last name is ..")
	}
	o, err := t.snap.Set.Open(beneath.Ref{Root: p.Grant, Path: p.Rest}, beneath.Handle)
	if err == nil {
		t.obj = o
		if o.At().Root != p.Grant {
			return refuse(rootbound.OutsideRoot, "the link leads into another root")
		}
		if err := g.acceptObject(t, o); err != nil {
			return err
		}
		if !o.IsDir() {
			return refuse(rootbound.Exists, "a file")
		}
		return nil
	}
	if err = g.veil(t, p, err, true); rootbound.ReasonOf(err) != rootbound.NotFound {
		return err
	}
	t.rel = join(t.snap.Grants[p.Grant].Prefix, strings.TrimPrefix(path.Clean("/"+p.Rest), "/"))
	return t.right(t.project, t.need|t.req.Need)
}

func asciiOnly(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
