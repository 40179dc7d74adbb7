package guard

import (
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
	"github.com/rootbound/rootbound/guard/spelling"
)

// lacking judges, without making anything, the directories that the parent of p lacks, and the entry in the last of them:
// their names, and the right to create. It tells where the entry will be; t.missing then holds p.
func (g *Guard) lacking(t *Target, p spelling.Place) (at beneath.Ref, project *rootbound.Project, rel string, err error) {
	names := strings.FieldsFunc(p.Rest, func(r rune) bool { return r == '/' })
	names = slices.DeleteFunc(names, func(s string) bool { return s == "." })
	n := len(names) - 1 // the first missing name is below this
	var e *beneath.Entry
	for n > 0 && e == nil {
		if n--; names[n] == ".." { // behind a missing name
			return at, nil, "", g.veil(t, p, refuse(rootbound.NotFound, ""), true)
		}
		e, err = t.snap.Set.Entry(beneath.Ref{Root: p.Grant, Path: strings.Join(names[:n+1], "/")}, true)
		if err != nil && rootbound.ReasonOf(err) != rootbound.ParentMissing {
			return at, nil, "", g.veil(t, p, err, true)
		}
	}
	if e == nil {
		return at, nil, "", refuse(rootbound.ParentMissing, "")
	}
	defer e.Close()
	at = e.At()
	if err := t.stays(e, p); err != nil {
		return at, nil, "", err
	}
	if _, err := e.Lstat(); rootbound.ReasonOf(err) != rootbound.NotFound {
		return at, nil, "", &rootbound.Error{Reason: rootbound.VersionConflict, Detail: "the directory keeps changing places", Retryable: true, Err: err}
	}
	if err := t.locate(at, e.Mark(), e.Linked(), &project, &rel); err != nil {
		return at, nil, "", err
	}
	if err := t.right(project, t.creates()); err != nil {
		return at, project, rel, err
	}
	pol, err := g.policy(project)
	if err != nil {
		return at, project, rel, err
	}
	for _, name := range append([]string{""}, names[n+1:]...) {
		at.Path, rel = join(at.Path, name), join(rel, name)
		if g.own.Path(t.absolute(at)) {
			return at, project, rel, t.rule(ownRule)
		}
		if err := t.rule(pol.Mutation(rules.Fold(rel))); err != nil { // the entry itself is judged by whoever makes it
			return at, project, rel, err
		}
	}
	t.missing = &p
	return at, project, rel, nil
}

// judgeBelowMissing judges a file that is to be made where directories above it are missing.
func (g *Guard) judgeBelowMissing(t *Target, p spelling.Place) error {
	at, project, rel, err := g.lacking(t, p)
	if project != nil {
		t.project, t.rel = project, rel
	}
	if err != nil {
		return err
	}
	t.need = t.creates()
	if err := t.right(project, t.need|t.req.Need); err != nil {
		return err
	}
	return g.judgeReached(t, project, rel, beneath.Info{}, at, true)
}

// makeParents makes them, one by one, each judged once more and each in a lease of its own, and then judges the request
// anew: from here on it is like one whose parents were there.
func (g *Guard) makeParents(ctx context.Context, t *Target) error {
	p := *t.missing
	p.Rest = strings.TrimRight(p.Rest, "/")
	p.Rest = p.Rest[:strings.LastIndexByte(p.Rest, '/')+1]
	if err := t.use.CheckRoot(p.Grant, true); err != nil {
		return err
	}
	o, made, err := t.mkdirAll(p)
	t.made = made
	if err != nil {
		return err
	}
	o.Close()
	t.drop()
	t.req.Parents = false
	return g.judgeLocked(ctx, t)
}

// mkdirAll makes the missing directories of p from the deepest existing handle; made counts them, also on an error.
func (t *Target) mkdirAll(p spelling.Place) (o *beneath.Object, made int, err error) {
	return t.snap.Set.MkdirAll(beneath.Ref{Root: p.Grant, Path: p.Rest}, func(at beneath.Ref, mark int) error {
		if at.Root != p.Grant {
			return refuse(rootbound.OutsideRoot, "the link leads into another root")
		}
		var project *rootbound.Project
		var rel string
		linked := !strings.HasPrefix(path.Clean(p.Rest)+"/", at.Path+"/") // it arrived elsewhere than it is spelled
		if err := t.locate(at, mark, linked, &project, &rel); err != nil {
			return err
		}
		if err := t.right(project, rootbound.Create); err != nil {
			return err
		}
		if t.g.own.Path(t.absolute(at)) {
			return t.rule(ownRule)
		}
		pol, err := t.g.policy(project)
		if err != nil {
			return err
		}
		return t.rule(pol.Mutate(rules.Fold(rel), true))
	}, t.lease)
}

// tellMade makes a refusal say which directories were made before it (contract §4.3).
func (t *Target) tellMade(err error) error {
	var e *rootbound.Error
	if t.made == 0 || !errors.As(err, &e) {
		return err
	}
	out := *e
	what := " of the directories above it was made"
	if t.made > 1 {
		what = " of the directories above it were made"
	}
	out.Detail = joinDetail(e.Detail, strconv.Itoa(t.made)+what)
	return &out
}

func joinDetail(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// Made is how many missing directories above the entry were made for this call.
func (t *Target) Made() int { return t.made }
