package judge

import (
	"errors"
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
	o, err := j.Snap.Set.Open(beneath.Ref{Root: p.Grant, Path: p.Rest}, beneath.Handle)
	if err != nil {
		return nil // the whole path meets it too, and is refused in its own words
	}
	defer o.Close()
	var project *rootbound.Project
	var rel string
	if err := j.Locate(o.At(), o.Mark(), o.Linked(), &project, &rel); err != nil {
		return err
	}
	return j.Reached(project, rel, o.Info(), o.At(), false)
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

// Veil replaces an error that would tell what exists where a rule forbids to look: what was reached so far decides, and
// the rest of the spelling after it.
func (j *Judge) Veil(p spelling.Place, err error, mutation bool) error {
	var e *rootbound.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Reason {
	case rootbound.NotFound, rootbound.ParentMissing, rootbound.NotADirectory, rootbound.IsADirectory, rootbound.SpecialFile,
		rootbound.PathInvalid, rootbound.PathUnresolvable, rootbound.Exists:
	default:
		return err
	}
	if j.Within != "" {
		if lerr := j.leads(p); lerr != nil {
			return lerr
		}
	}
	if lerr := j.ledAstray(beneath.Ref{Root: p.Grant, Path: p.Rest}, mutation); lerr != nil {
		return lerr
	}
	rest := ""
	at := strings.TrimRight(p.Rest, "/")
	for range 256 {
		if at == "" {
			return err
		}
		entry, eerr := j.Snap.Set.Entry(beneath.Ref{Root: p.Grant, Path: at}, true)
		if eerr != nil {
			dir, name := path.Split(at)
			if name == ".." { // its own name is met next
				name = ""
			}
			at, rest = strings.TrimRight(dir, "/"), join(name, rest)
			continue
		}
		reached, mark, linked := entry.At(), entry.Mark(), entry.Linked()
		entry.Close()
		var project *rootbound.Project
		var rel string
		if lerr := j.Locate(reached, mark, linked, &project, &rel); lerr != nil {
			return lerr
		}
		if lerr := j.place(reached, project, strings.TrimPrefix(path.Clean("/"+join(rel, rest)), "/"), mutation); lerr != nil {
			return lerr
		}
		return err
	}
	return refuse(rootbound.PathInvalid, "too many names of the path do not exist")
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
	if e := new(rootbound.Error); errors.As(err, &e) {
		e.Root = project.ID // as where something is there
	}
	return err
}

// ledAstray judges the place where links lead and nothing is: it is denied, or in another project, as if something were.
func (j *Judge) ledAstray(at beneath.Ref, mutation bool) error {
	to, mark, linked, err := j.Snap.Set.Lead(at)
	if err != nil || !linked {
		return nil // what can be reached of it is judged name by name
	}
	var project *rootbound.Project
	var rel string
	if err := j.Locate(to, mark, true, &project, &rel); err != nil {
		return err
	}
	return j.place(to, project, rel, mutation)
}

// Owner is the project where a path leads by its names, as far as that can be told; else nil.
func (j *Judge) Owner(p spelling.Place) *rootbound.Project {
	at := strings.TrimRight(p.Rest, "/")
	for range 256 {
		to, mark, linked, err := j.Snap.Set.Lead(beneath.Ref{Root: p.Grant, Path: at})
		if err == nil {
			var project *rootbound.Project
			var rel string
			if j.Locate(to, mark, linked, &project, &rel) != nil {
				return nil
			}
			return project
		}
		if at == "" {
			return nil
		}
		at = strings.TrimRight(at[:strings.LastIndexByte(at, '/')+1], "/")
	}
	return nil
}

// Inside reports whether the link at a place, or one that stood there, leads inside, and to where. What a rule or the
// lack of the right list hides counts as being there, whether or not it is.
func (j *Judge) Inside(at beneath.Ref) (to beneath.Ref, ok bool) {
	o, err := j.Snap.Set.Open(at, beneath.Handle)
	if err == nil {
		defer o.Close()
		return o.At(), true
	}
	to, mark, _, err := j.Snap.Set.Lead(at)
	if err != nil {
		return to, false
	}
	probe := *j // what refuses is not for the record
	probe.Within = ""
	var project *rootbound.Project
	var rel string
	if err := probe.Locate(to, mark, true, &project, &rel); err != nil {
		return to, false
	}
	return to, !project.Rights.Has(rootbound.List) || probe.place(to, project, rel, false) != nil
}

// leads refuses a path whose links lead into another project, whatever is wrong with what is there.
func (j *Judge) leads(p spelling.Place) error {
	o, err := j.Snap.Set.Open(beneath.Ref{Root: p.Grant, Path: p.Rest}, beneath.Handle)
	if err != nil {
		return nil // what can be reached of it is judged name by name
	}
	defer o.Close()
	var project *rootbound.Project
	var rel string
	return j.Locate(o.At(), o.Mark(), o.Linked(), &project, &rel)
}
