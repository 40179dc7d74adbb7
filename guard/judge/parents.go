package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
	"github.com/rootbound/rootbound/guard/spelling"
)

// Lacking judges, without making anything, the directories that the parent of p lacks, and the entry in the last of them.
// may is asked for the right to make them. It tells where the entry will be.
func (j *Judge) Lacking(may func(*rootbound.Project) error, p spelling.Place) (at beneath.Ref, project *rootbound.Project, rel string, err error) {
	names := strings.FieldsFunc(p.Rest, func(r rune) bool { return r == '/' })
	names = slices.DeleteFunc(names, func(s string) bool { return s == "." })
	n := len(names) - 1 // the first missing name is below this
	var e *beneath.Entry
	for n > 0 && e == nil {
		if n--; names[n] == ".." { // behind a missing name
			return at, nil, "", j.Veil(p, refuse(rootbound.NotFound, ""), Makes)
		}
		e, err = j.Snap.Set.Entry(beneath.Ref{Root: p.Grant, Path: strings.Join(names[:n+1], "/")}, true)
		if err != nil && rootbound.ReasonOf(err) != rootbound.ParentMissing {
			return at, nil, "", j.Veil(p, err, Makes)
		}
	}
	if e == nil {
		return at, nil, "", j.Veil(p, refuse(rootbound.ParentMissing, ""), Makes)
	}
	defer e.Close()
	at = e.At()
	var above *rootbound.Project
	if err := j.Stays(e, p, &above, &rel); err != nil {
		return at, nil, "", err
	}
	if _, err := e.Lstat(); rootbound.ReasonOf(err) != rootbound.NotFound {
		return at, nil, "", j.Veil(p, &rootbound.Error{Reason: rootbound.VersionConflict, Detail: "the directory keeps changing places", Retryable: true, Err: err}, Makes)
	}
	project = above
	pol, err := j.Law.Policy(project)
	if err != nil {
		return at, project, rel, err
	}
	for _, name := range append([]string{""}, names[n+1:]...) {
		at.Path, rel = join(at.Path, name), join(rel, name)
		if err := j.OursAt(at); err != nil {
			return at, project, rel, err
		}
		if err := j.Rule(pol.Mutation(rules.Fold(rel))); err != nil { // the entry itself is judged by whoever makes it
			return at, project, rel, err
		}
	}
	return at, project, rel, may(project)
}

// MkdirAll makes the missing directories of p from the deepest existing handle; made counts them, also on an error.
func (j *Judge) MkdirAll(may func(*rootbound.Project) error, p spelling.Place, lease func(func() error) error) (o *beneath.Object, made int, err error) {
	return j.Snap.Set.MkdirAll(beneath.Ref{Root: p.Grant, Path: p.Rest}, func(at beneath.Ref, mark int) error {
		if at.Root != p.Grant {
			return refuse(rootbound.OutsideRoot, "the link leads into another root")
		}
		var project *rootbound.Project
		var rel string
		linked := !strings.HasPrefix(path.Clean(p.Rest)+"/", at.Path+"/") // it arrived elsewhere than it is spelled
		if err := j.Locate(at, mark, linked, &project, &rel); err != nil {
			return err
		}
		if err := may(project); err != nil {
			return err
		}
		if err := j.OursAt(at); err != nil {
			return err
		}
		pol, err := j.Law.Policy(project)
		if err != nil {
			return err
		}
		return j.Rule(pol.Mutate(rules.Fold(rel), true))
	}, lease)
}
