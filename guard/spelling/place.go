package spelling

import (
	"path"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard/rules"
)

// Place is one reading of a path argument: a grant of the snapshot and the uncleaned rest below it. A value.
type Place struct {
	Grant int
	Rest  string
}

// Within is the place's path inside its project as spelled, folded and cleaned as text, for rules on spellings.
func (p Place) Within(s *authority.Snapshot) string {
	at := s.Grants[p.Grant].Prefix
	if at == "" || p.Rest == "" {
		at += p.Rest
	} else {
		at += "/" + p.Rest
	}
	if strings.Contains(at, "..") {
		at = strings.TrimPrefix(path.Clean("/"+at), "/")
	}
	return rules.Fold(at)
}

// Read reads a path argument and the argument root against a snapshot, without disk access. More than one place: a
// relative path that may belong to several projects, in the operator's order; explicit refuses that too.
func Read(s *authority.Snapshot, root, p string, mutation, explicit bool) ([]Place, *rootbound.Error) {
	if err := Check(p); err != nil {
		return nil, err
	}
	var named []int // grants that root names
	var project *rootbound.Project
	if root != "" {
		if named, project = namedRoot(s, root); named == nil {
			return nil, unknown(s, root)
		}
	}
	if IsAbs(p) {
		ref, ok := s.Set.Map(p)
		if !ok {
			return nil, refuse(rootbound.OutsideRoot, "")
		}
		if named != nil && !slices.Contains(named, ref.Root) {
			err := refuse(rootbound.OutsideRoot, "")
			err.Next = "The root that is named is another one than the path is in: name none with an absolute path, or send a path inside it."
			return nil, err
		}
		return []Place{{ref.Root, ref.Path}}, nil
	}
	if named != nil {
		if project == nil { // a root id or name: the path starts at that root
			return []Place{{named[0], p}}, nil
		}
		at, err := inProject(s, project, p)
		if err != nil {
			return nil, err
		}
		return []Place{at}, nil
	}
	projects := InForce(s)
	switch {
	case len(projects) == 0:
		return nil, refuse(rootbound.NoScope, "")
	case len(projects) == 1:
		at, err := inProject(s, projects[0], p)
		if err != nil {
			return nil, err
		}
		return []Place{at}, nil
	case mutation:
		return nil, refuse(rootbound.RootRequired, Choices(projects))
	case explicit:
		return nil, refuse(rootbound.PathAmbiguous, Choices(projects))
	}
	var out []Place
	var first *rootbound.Error
	for _, pr := range projects {
		at, err := inProject(s, pr, p)
		if err == nil {
			out = append(out, at)
		} else if first == nil {
			first = err
		}
	}
	if out == nil {
		return nil, first
	}
	return out, nil
}

// InProject reads a plain relative path below the project of that id, without disk access; decoded is that of Plain. An id that is unknown and one
// that is not granted are refused by the same words on the same way.
func InProject(s *authority.Snapshot, id, rel string, decoded bool) ([]Place, *rootbound.Error) {
	if err := Plain(rel, decoded); err != nil {
		return nil, err
	}
	var project *rootbound.Project
	for i := range s.Grants {
		if string(s.Grants[i].Project.ID) == id {
			project = s.Grants[i].Project
		}
	}
	if project == nil {
		return nil, unknown(s, id)
	}
	at, err := inProject(s, project, rel)
	if err != nil {
		return nil, err
	}
	return []Place{at}, nil
}

// unknown refuses a name that stands for nothing here: project_unknown, whether it is some other project or none at all;
// project_retired only to an authority that held that project.
func unknown(s *authority.Snapshot, name string) *rootbound.Error {
	if how, ok := s.Retired(rootbound.RootID(name)); ok {
		return refuse(rootbound.ProjectRetired, how)
	}
	return refuse(rootbound.ProjectUnknown, "")
}

// namedRoot finds the grants that the argument root names: by project id, by root id, by a root name that is unique. The
// project is set where an id of a project was given.
func namedRoot(s *authority.Snapshot, root string) (named []int, project *rootbound.Project) {
	for i := range s.Grants {
		if string(s.Grants[i].Project.ID) == root {
			named, project = append(named, i), s.Grants[i].Project
		}
	}
	if named != nil {
		return named, project
	}
	for i := range s.Grants {
		if string(s.Grants[i].ID) == root {
			return []int{i}, nil
		}
	}
	for i := range s.Marks {
		if string(s.Marks[i].Project.ID) == root { // a client's name never stands for a project that is not in force
			return nil, nil
		}
	}
	if _, retired := s.Retired(rootbound.RootID(root)); retired { // nor for one that was
		return nil, nil
	}
	for i := range s.Grants {
		if s.Grants[i].Name == root {
			named = append(named, i)
		}
	}
	if len(named) != 1 {
		return nil, nil
	}
	return named, nil
}

// InForce lists the projects that have a grant, each once, in the operator's order.
func InForce(s *authority.Snapshot) []*rootbound.Project {
	var out []*rootbound.Project
	for i := range s.Grants {
		if p := s.Grants[i].Project; !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// inProject maps a relative path, which starts at the project, to one of the project's grants. Roots narrow, they do not
// move the starting point.
func inProject(s *authority.Snapshot, p *rootbound.Project, rel string) (Place, *rootbound.Error) {
	var prefixes []string
	for i := range s.Grants {
		if g := &s.Grants[i]; g.Project == p {
			if g.Prefix == "" {
				return Place{i, rel}, nil
			}
			prefixes = append(prefixes, g.Prefix)
		}
	}
	for i := range s.Marks {
		if s.Marks[i].Project == p {
			if ref, ok := s.Set.Map(s.Marks[i].Root.Path() + "/" + rel); ok && s.Grants[ref.Root].Project == p {
				return Place{ref.Root, ref.Path}, nil
			}
		}
	}
	err := refuse(rootbound.OutsideRoot, "")
	if len(prefixes) == 1 {
		err.Next = "Relative paths start at the project, and the client's roots approve only a part of it: send " +
			rootbound.Quote(path.Join(prefixes[0], rel)) + "."
	}
	return Place{}, err
}

// Choices names projects for a refusal.
func Choices(projects []*rootbound.Project) string {
	var ids []string
	for i, p := range projects {
		if i == 8 {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, string(p.ID))
	}
	return "one of " + strings.Join(ids, ", ")
}
