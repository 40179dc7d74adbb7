package guard

import (
	"path"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
)

// Bounds of a path argument (filesystem limits of Linux: 255 bytes a name; 128 KiB is what the resolver takes in all).
const (
	maxPath   = 128 << 10
	maxName   = 255
	maxSteps  = 8192 // names and climbs: each costs a system call
	maxClimbs = 64   // ".." of one path: what each climbs out of is judged
)

// place is one reading of a path argument: a grant and the uncleaned rest below it.
type place struct {
	grant int
	rest  string
}

// within is the place's path inside its project as spelled, folded and cleaned as text, for rules on spellings.
func (p place) within(s *authority.Snapshot) string {
	at := join(s.Grants[p.grant].Prefix, p.rest)
	if strings.Contains(at, "..") {
		at = strings.TrimPrefix(path.Clean("/"+at), "/")
	}
	return foldPath(at)
}

func refuse(r rootbound.Reason, detail string) *rootbound.Error {
	return &rootbound.Error{Reason: r, Detail: detail}
}

// checkText refuses what no path argument may hold, before any system call (contract §5, Spelling).
func checkText(p string) *rootbound.Error {
	switch {
	case len(p) > maxPath:
		return refuse(rootbound.PathInvalid, "longer than 128 KiB")
	case strings.IndexByte(p, 0) >= 0:
		return refuse(rootbound.PathInvalid, "holds a NUL byte")
	}
	if strings.IndexByte(p, '%') >= 0 && encodedTraversal(p) {
		return refuse(rootbound.PathEncodedTraversal, "")
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "~ is not expanded", Next: "Send the path without ~, relative to the project or absolute."}
	}
	if first, _, more := strings.Cut(p, "/"); more && len(first) > 1 && first[0] == '~' && userName(first[1:]) {
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "~name is not expanded", Next: "Send the path without ~name, relative to the project or absolute."}
	}
	if len(p) >= 5 && strings.EqualFold(p[:5], "file:") {
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "a URI", Next: "Send a path, not a URI."}
	}
	for rest, depth, steps := strings.TrimLeft(p, "/"), 0, 0; rest != ""; steps++ {
		var c string
		c, rest, _ = strings.Cut(rest, "/")
		if steps == maxSteps {
			return refuse(rootbound.PathInvalid, "more than 8192 names")
		}
		switch {
		case len(c) > maxName:
			return refuse(rootbound.PathInvalid, "a name longer than 255 bytes")
		case c == "..":
			if depth--; depth < 0 {
				return refuse(rootbound.OutsideRoot, "")
			}
		case c != "" && c != ".":
			depth++
		}
	}
	return checkOS(p)
}

func userName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return true
}

// encodedTraversal reports whether decoding once gives a ".." segment that was not there, or a NUL.
func encodedTraversal(p string) bool {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) {
			hi, lo := unhex(p[i+1]), unhex(p[i+2])
			if hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(p[i])
	}
	d := b.String()
	return strings.IndexByte(d, 0) >= 0 || climbs(d) > climbs(p)
}

func climbs(p string) (n int) {
	for c := range strings.SplitSeq(p, "/") {
		if c == ".." {
			n++
		}
	}
	return n
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// spell reads a path argument and the argument root against a snapshot, without disk access. More than one place: a
// relative path that may belong to several projects, in the operator's order.
func (g *Guard) spell(s *authority.Snapshot, root, p string, mutation bool) ([]place, *rootbound.Error) {
	if err := checkText(p); err != nil {
		return nil, err
	}
	var named []int // grants that root names
	var project *rootbound.Project
	if root != "" {
		if named, project = namedRoot(s, root); named == nil {
			return nil, refuse(rootbound.ProjectUnknown, "")
		}
	}
	if isAbs(p) {
		ref, ok := s.Set.Map(p)
		if !ok || named != nil && !member(named, ref.Root) {
			return nil, refuse(rootbound.OutsideRoot, "")
		}
		return []place{{ref.Root, ref.Path}}, nil
	}
	if named != nil {
		if project == nil { // a root id or name: the path starts at that root
			return []place{{named[0], p}}, nil
		}
		at, err := inProject(s, project, p)
		if err != nil {
			return nil, err
		}
		return []place{at}, nil
	}
	projects := inForce(s)
	switch {
	case len(projects) == 0:
		return nil, refuse(rootbound.NoScope, "")
	case len(projects) == 1:
		at, err := inProject(s, projects[0], p)
		if err != nil {
			return nil, err
		}
		return []place{at}, nil
	case mutation:
		return nil, refuse(rootbound.RootRequired, choices(projects))
	case g.opt.Relative == "explicit":
		return nil, refuse(rootbound.PathAmbiguous, choices(projects))
	}
	var out []place
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

// inForce lists the projects that have a grant, each once, in the operator's order.
func inForce(s *authority.Snapshot) []*rootbound.Project {
	var out []*rootbound.Project
	for i := range s.Grants {
		p := s.Grants[i].Project
		seen := false
		for _, q := range out {
			seen = seen || q == p
		}
		if !seen {
			out = append(out, p)
		}
	}
	return out
}

// inProject maps a relative path, which starts at the project, to one of the project's grants. Roots narrow, they do not
// move the starting point.
func inProject(s *authority.Snapshot, p *rootbound.Project, rel string) (place, *rootbound.Error) {
	var prefixes []string
	for i := range s.Grants {
		if g := &s.Grants[i]; g.Project == p {
			if g.Prefix == "" {
				return place{i, rel}, nil
			}
			prefixes = append(prefixes, g.Prefix)
		}
	}
	for i := range s.Marks {
		if s.Marks[i].Project == p {
			if ref, ok := s.Set.Map(s.Marks[i].Root.Path() + "/" + rel); ok && s.Grants[ref.Root].Project == p {
				return place{ref.Root, ref.Path}, nil
			}
		}
	}
	err := refuse(rootbound.OutsideRoot, "")
	if len(prefixes) == 1 {
		err.Next = "Relative paths start at the project, and the client's roots approve only a part of it: send " +
			rootbound.Quote(path.Join(prefixes[0], rel)) + "."
	}
	return place{}, err
}

func choices(projects []*rootbound.Project) string {
	var b strings.Builder
	b.WriteString("one of ")
	for i, p := range projects {
		if i == 8 {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(p.ID))
	}
	return b.String()
}

func member(list []int, i int) bool {
	for _, n := range list {
		if n == i {
			return true
		}
	}
	return false
}

// Precheck refuses, without asking a client and without disk access, what no roots answer could make right: a spelling
// that is never served, or, where the client's roots are not asked (asked is false), an absolute path that no project's
// spelling covers. A root may be declared by an alias of its directory, so with roots the second is only known after the
// answer.
func (g *Guard) Precheck(c *authority.Ceiling, r Request, asked bool) error {
	ends := []string{r.Path}
	if r.Op == rootbound.OpMove || r.Op == rootbound.OpCopy {
		ends = append(ends, r.Dest)
	}
	for _, p := range ends {
		err := checkText(p)
		if err == nil && !asked && isAbs(p) && !c.Covers(p) {
			err = refuse(rootbound.OutsideRoot, "")
		}
		if err != nil {
			err.Op, err.Path = r.Op, p
			return err
		}
	}
	return nil
}
