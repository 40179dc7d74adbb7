package judge

import (
	"path"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
	"github.com/rootbound/rootbound/guard/spelling"
)

// maxClimbs bounds the ".." of one path: what each climbs out of is judged.
const maxClimbs = 64

// Spelled judges the path as written: a spelling that would match is denied whether or not it exists. So is one that
// passes through a denied name and climbs out again, as that would tell whether the name exists.
func (j *Judge) Spelled(p spelling.Place, mutation bool) error {
	for i, n := 0, 0; ; {
		at := strings.Index(p.Rest[i:], "..")
		if at < 0 {
			return j.text(p, mutation)
		}
		at, i = i+at, i+at+2
		if at > 0 && p.Rest[at-1] != '/' || i < len(p.Rest) && p.Rest[i] != '/' {
			continue // part of a name
		}
		if n++; n > maxClimbs {
			return refuse(rootbound.LimitReached, "too many .. in the path")
		}
		if err := j.passed(spelling.Place{Grant: p.Grant, Rest: p.Rest[:at]}); err != nil {
			return err
		}
	}
}

// passed judges a directory that a path climbs out of: as written, and where it leads.
func (j *Judge) passed(p spelling.Place) error {
	if err := j.text(p, false); err != nil {
		return err
	}
	return j.way(p, Looks)
}

// text applies the rules to a spelling. Where the text lies in a nested project, that one's rules count.
func (j *Judge) text(p spelling.Place, mutation bool) error {
	gr := &j.Snap.Grants[p.Grant]
	project, at := gr.Project, p.Within(j.Snap)
	if len(j.Snap.Marks) > 1 {
		here := strings.TrimRight(gr.Root.Path(), "/") + strings.TrimSuffix(path.Clean("/"+p.Rest), "/")
		longest := len(strings.TrimRight(gr.Root.Path(), "/"))
		for _, m := range j.Snap.Marks {
			inner := m.Root.Path()
			if len(inner) > longest && (here == inner || strings.HasPrefix(here, inner+"/")) {
				project, at, longest = m.Project, rules.Fold(strings.TrimPrefix(here[len(inner):], "/")), len(inner)
			}
		}
	}
	pol, err := j.Law.Policy(project)
	if err != nil {
		return err
	}
	if mutation {
		return j.Rule(pol.Mutation(at))
	}
	return j.Rule(pol.Access(at))
}

// Use is what a request wants of a place that does not hold what it asks for.
type Use uint8

// Uses of a place.
const (
	Looks   Use = iota // nothing changes
	Takes              // what is there is read, and no link may lead into another root
	Changes            // something there changes, or a file is made
	Makes              // a directory is made
)

func (u Use) reads() bool { return u == Looks || u == Takes }

// Veil replaces an error that would tell what exists where a rule, a right or our own files forbid to look: what the path
// leads through decides, and the place where it ends.
func (j *Judge) Veil(p spelling.Place, err error, use Use) error {
	switch rootbound.ReasonOf(err) {
	case rootbound.GenerationStale, rootbound.Cancelled:
		return err
	}
	if verr := j.way(p, use); verr != nil {
		return verr
	}
	return err
}

// way judges what a path leads through and where it ends, whatever is wrong with it.
func (j *Judge) way(p spelling.Place, use Use) error {
	t, ok := j.Snap.Set.Trace(beneath.Ref{Root: p.Grant, Path: p.Rest})
	if !ok {
		return nil // no path: nothing was looked up
	}
	root := p.Grant
	if use == Looks {
		root = anywhere
	}
	if err := j.through(t.Passed, root); err != nil {
		return err
	}
	if root != anywhere && t.To.Root != root {
		return refuse(rootbound.OutsideRoot, "the link leads into another root")
	}
	var project *rootbound.Project
	var rel string
	if err := j.Locate(t.To, t.Mark, t.Linked, &project, &rel); err != nil {
		return err
	}
	if err := j.place(t.To, project, rel, !use.reads()); err != nil {
		return err
	}
	if err := j.unnamed(&t, project, strings.TrimSuffix(rel, t.To.Path[len(t.Last.Path):]), use); err != nil {
		return err
	}
	return j.may(project)
}

// unnamed answers for a name without one of the project's extensions, where a file would be hidden: as if the rule had met
// it, or, where more was to come behind the name, as if it were missing.
func (j *Judge) unnamed(t *beneath.Trail, project *rootbound.Project, rel string, use Use) error {
	if t.End == beneath.Unknown || t.Dir || len(project.AllowExtensions) == 0 {
		return nil
	}
	err := j.named(project, rel)
	switch {
	case err == nil, use == Makes && t.End == beneath.Missing:
		return nil
	case t.To == t.Last:
		return err
	case use.reads():
		return refuse(rootbound.NotFound, "")
	}
	return refuse(rootbound.ParentMissing, t.Part)
}

// place judges a place by its names, whether or not anything is there: rel in its project, and at as far as that exists.
func (j *Judge) place(at beneath.Ref, project *rootbound.Project, rel string, mutation bool) error {
	pol, err := j.Law.Policy(project)
	if err != nil {
		return err
	}
	r := pol.Access
	if mutation {
		r = pol.Mutation
	}
	if err = j.OursAt(at); err == nil {
		err = j.Rule(r(rules.Fold(rel)))
	}
	return in(project, err) // as where something is there
}

// Inside reports whether the link at a place, or one that stood there, leads inside, and to where. What a rule or the
// lack of the right list hides counts as being there, whether or not it is.
func (j *Judge) Inside(at beneath.Ref) (to beneath.Ref, ok bool) {
	t, ok := j.Snap.Set.Trace(at)
	if !ok {
		return to, false
	}
	probe := Judge{Law: j.Law, Snap: j.Snap} // what refuses is not for the record
	probe.May = func(p *rootbound.Project) error {
		if !p.Rights.Has(rootbound.List) {
			return refuse(rootbound.RightMissing, "")
		}
		return nil
	}
	for i := range t.Passed {
		if p := &t.Passed[i]; p.At != at && probe.spot(p.At, p.Mark, p.Linked, !p.Dir) != nil {
			return p.At, true
		}
	}
	if t.End == beneath.There {
		return t.To, true
	}
	var project *rootbound.Project
	var rel string
	if err := probe.Locate(t.To, t.Mark, t.Linked, &project, &rel); err != nil {
		return t.To, false
	}
	hidden := probe.place(t.To, project, rel, false) != nil || probe.may(project) != nil || probe.unnamed(&t, project, rel, Looks) != nil
	return t.To, hidden
}
