// Package judge tells what rules, own files and the bounds of projects and roots say about what a request names and
// reaches (contract §5). It resolves where it must look and changes nothing but the directories it is asked to make; rights
// are its caller's business.
package judge

import (
	"slices"
	"strings"
	"sync"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/own"
	"github.com/rootbound/rootbound/guard/rules"
)

// ours names the one rule that no configuration lifts.
var ours = &rules.Rule{ID: "own_files", Lift: "nothing lifts it: these are the files of rootbound itself", Hides: true}

// Law is what all requests are judged by: the compiled rules of projects, and this program's own files. Safe for
// concurrent use.
type Law struct {
	own      *own.Files
	policies sync.Map // *rootbound.Project → *rules.Policy
}

// NewLaw makes a Law.
func NewLaw(files *own.Files) *Law { return &Law{own: files} }

// Policy is what the rules of a project say.
func (l *Law) Policy(p *rootbound.Project) (*rules.Policy, error) {
	if v, ok := l.policies.Load(p); ok {
		return v.(*rules.Policy), nil
	}
	pol, err := rules.New(p)
	if err != nil { // configuration is checked before it comes here; fail closed all the same
		return nil, &rootbound.Error{Reason: rootbound.InternalError, Err: err}
	}
	n := 0
	l.policies.Range(func(any, any) bool { n++; return n < 1024 })
	if n >= 1024 { // client mode makes projects of roots: forget those of long ago
		l.policies.Clear()
	}
	l.policies.Store(p, pol)
	return pol, nil
}

// Judge judges one request. Not safe for concurrent use.
type Judge struct {
	Law    *Law
	Snap   *authority.Snapshot
	Within string                         // id of the project out of which no link may lead; empty: links lead where the set allows
	Touch  func()                         // told that the file system answered
	May    func(*rootbound.Project) error // refuses to tell what is in a project to who has no right there that shows it
	Rules  []string                       // that refused, for the record
}

func refuse(r rootbound.Reason, detail string) *rootbound.Error {
	return &rootbound.Error{Reason: r, Detail: detail}
}

// Rule is the refusal by a rule, nil for none.
func (j *Judge) Rule(r *rules.Rule) error {
	if r == nil {
		return nil
	}
	j.Rules = []string{r.ID}
	return &rootbound.Error{Reason: rootbound.RuleDenied, Detail: r.ID, Next: "Use another path; " + r.Lift + "."}
}

// sparing is the refusal by a rule for the sake of what the caller did not name. Where the rule hides that, its pattern, which
// may be the very name, is for the record alone. That something is there is told, since nothing else could come of it.
func (j *Judge) sparing(r *rules.Rule, detail string) error {
	if !r.Hides {
		return j.Rule(r)
	}
	j.Rules = []string{r.ID}
	return &rootbound.Error{Reason: rootbound.RuleDenied, Detail: detail, Next: "Use another path; a person finds the rule in the record of this refusal."}
}

// within is the refusal of a tree for something in it.
func (j *Judge) within(r *rules.Rule) error { return j.sparing(r, "it holds what a rule hides") }

// Ours is the refusal of our own files.
func (j *Judge) Ours() error { return j.Rule(ours) }

// OursBelow is Ours if something of ours lies below the path at, or would.
func (j *Judge) OursBelow(at beneath.Ref) error {
	if len(j.Law.own.Below(j.Absolute(at))) > 0 {
		return j.Ours()
	}
	return nil
}

// OursAt is Ours if the path at is ours or lies below a directory of ours.
func (j *Judge) OursAt(at beneath.Ref) error {
	if j.Law.own.Path(j.Absolute(at)) {
		return j.Ours()
	}
	return nil
}

// OursIs is Ours if the object is ours, by whatever name.
func (j *Judge) OursIs(id beneath.ObjectID) error {
	if j.Law.own.Object(id) {
		return j.Ours()
	}
	return nil
}

// Mounts is the refusal of a mount point.
func (j *Judge) Mounts() error {
	j.Rules = []string{"mounts"}
	return &rootbound.Error{Reason: rootbound.RuleDenied, Detail: "mounts", Next: "Use another path; the operator can allow mount points with mounts: allow."}
}

// Readable refuses to read a file that has several names or is too large, where the project says so.
func (j *Judge) Readable(project *rootbound.Project, info beneath.Info) error {
	if project.MaxRead > 0 && info.Size > project.MaxRead {
		return &rootbound.Error{Reason: rootbound.TooLarge, Detail: "max_read of the project",
			Next: "Use a smaller file, no part of this one is given out; the operator can raise max_read."}
	}
	if !project.DenyHardlinks || info.Links < 2 {
		return nil
	}
	j.Rules = []string{"hardlinks"}
	return &rootbound.Error{Reason: rootbound.RuleDenied, Detail: "hardlinks", Next: "Use another path; the operator can allow files with several names with hardlinks: allow."}
}

// Oversized is the refusal of a file that would be larger than its project allows.
func Oversized() *rootbound.Error {
	return &rootbound.Error{Reason: rootbound.TooLarge, Detail: "max_write of the project", Next: "Keep the file smaller; the operator can raise max_write."}
}

// Locate finds the innermost project an object lies in and its path there. Nested projects are told by identity; their
// paths by the canonical paths of held roots, which are checked to be where they were. linked tells that a symbolic link
// was followed on the way: where the request is contained it may not have led into another project.
func (j *Judge) Locate(at beneath.Ref, mark int, linked bool, project **rootbound.Project, rel *string) error {
	gr := &j.Snap.Grants[at.Root]
	p, r := gr.Project, join(gr.Prefix, at.Path)
	if err := j.innermost(at, mark, &p, &r); err != nil {
		return err
	}
	if linked && j.Within != "" && string(p.ID) != j.Within { // the refusal names no other
		return refuse(rootbound.OutsideRoot, "")
	}
	*project, *rel = p, r
	return nil
}

// innermost corrects what the grant says by the mark of a project inside it.
func (j *Judge) innermost(at beneath.Ref, mark int, project **rootbound.Project, rel *string) error {
	gr := &j.Snap.Grants[at.Root]
	if mark < 0 || j.Snap.Marks[mark].Project == gr.Project {
		return nil
	}
	m := j.Snap.Marks[mark]
	granted := func(g authority.Grant) bool { return g.Project == m.Project }
	if !slices.ContainsFunc(j.Snap.Grants, granted) { // taken back, or not active: the outer project does not speak for it
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

// Reached judges an object by where it is, whoever named it: rules of its project and our own files.
func (j *Judge) Reached(project *rootbound.Project, rel string, info beneath.Info, at beneath.Ref, mutation bool) error {
	if j.Law.own.Any() && (j.Law.own.Object(info.ID) || j.Law.own.Path(j.Absolute(at))) {
		return j.Ours()
	}
	pol, err := j.Law.Policy(project)
	if err != nil {
		return err
	}
	folded := rules.Fold(rel)
	if mutation {
		return j.Rule(pol.Mutate(folded, info.Mode.IsDir()))
	}
	return j.Rule(pol.Read(folded, info.Mode.IsDir()))
}

// Absolute is the canonical path of what was reached: compared with our own files, never shown.
func (j *Judge) Absolute(at beneath.Ref) string {
	return strings.TrimRight(j.Snap.Grants[at.Root].Root.Path(), "/") + "/" + at.Path
}

// Holds refuses to take what stands above our own files, links and missing directories too, and what is or holds a
// project or a root.
func (j *Judge) Holds(at beneath.Ref, id beneath.ObjectID) error {
	abs := j.Absolute(at)
	if len(j.Law.own.Below(abs)) > 0 {
		return j.within(ours)
	}
	for r := range j.roots() {
		if r.ID().Same(id) || strings.HasPrefix(r.Path(), strings.TrimRight(abs, "/")+"/") {
			return refuse(rootbound.ProjectInside, "")
		}
	}
	return nil
}

// roots are the directories of all projects and approved roots.
func (j *Judge) roots() func(yield func(*beneath.Root) bool) {
	return func(yield func(*beneath.Root) bool) {
		for i := range j.Snap.Marks {
			if !yield(j.Snap.Marks[i].Root) {
				return
			}
		}
		for i := range j.Snap.Grants {
			if !yield(j.Snap.Grants[i].Root) {
				return
			}
		}
	}
}

// Head refuses a directory, or a link that may lead to one, that begins a longer pattern: it cannot be moved, deleted or
// be a destination.
func (j *Judge) Head(project *rootbound.Project, rel string) error {
	pol, err := j.Law.Policy(project)
	if err != nil {
		return err
	}
	return j.Rule(pol.Move(rules.Fold(rel)))
}
