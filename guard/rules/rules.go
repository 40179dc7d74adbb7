// Package rules judges paths inside a project by patterns: what the operator denies, and the presets credentials and
// execution (contract §5, Rules). It knows names only and touches no file system.
//
// Paths are relative to the project and folded by Fold before they are judged; a directory that a pattern covers covers
// what lies below it.
package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/rootbound/rootbound"
)

// Rule is one pattern of a project's policy. ID is "deny:PATTERN", "credentials:PATTERN", "execution:PATTERN",
// "allow_extensions" or "own_files".
type Rule struct {
	ID    string
	glob  string // folded; "" if the last name alone decides
	thin  *sieve // of glob, before it is matched
	Lift  string // how the operator lifts it
	Hides bool   // what it names is shown nowhere; else it may only not be changed
}

// matcher finds the first rule that names a path itself; its ancestors are the caller's business. Immutable.
type matcher struct {
	last    map[string][]*Rule // by the literal last name of the pattern
	affix   []affix            // "**/PRE*SUF"
	first   [256]bool          // first bytes of their PRE
	final   [256]bool          // final bytes of their SUF, where PRE is empty
	always  bool               // an affix without either
	byFirst map[byte][]*Rule   // the rest: by the byte that the last name begins with,
	byFinal map[byte][]*Rule   // else by the one it ends with,
	globs   []*Rule            // else these
	except  map[string]bool    // names that affixes do not mean
	heads   map[string]*Rule   // literal leading components after "**/" of longer patterns
	known   []Known
}

type affix struct {
	pre, suf string
	rule     *Rule
}

const meta = `*?[{\!`

func (m *matcher) add(pattern string, r *Rule) error {
	folded := foldPattern(pattern)
	for c := range strings.SplitSeq(pattern, "/") { // a pattern that can match nothing would look like a rule
		if c == "" || c == "." || c == ".." {
			return fmt.Errorf("pattern %q can match nothing: it holds an empty name, . or ..", pattern)
		}
	}
	if !doublestar.ValidatePattern(folded) {
		return fmt.Errorf("bad pattern %q", pattern)
	}
	body := strings.TrimSuffix(folded, "/**") // the directory itself is meant too
	dir, name := path.Split(body)
	if at, anywhere := strings.CutPrefix(strings.TrimSuffix(pattern, "/**"), "**/"); !strings.ContainsAny(at, meta) {
		m.known = append(m.known, Known{Path: at, Anywhere: anywhere, Tree: body != folded, Rule: r})
	}
	if head, ok := strings.CutPrefix(folded, "**/"); ok {
		if first, _, longer := strings.Cut(head, "/"); longer && !strings.ContainsAny(first, meta) {
			if m.heads == nil {
				m.heads = map[string]*Rule{}
			}
			if m.heads[first] == nil {
				m.heads[first] = r
			}
		}
	}
	switch {
	case !strings.ContainsAny(name, meta):
		if dir != "**/" {
			r.glob = body
		}
		if m.last == nil {
			m.last = map[string][]*Rule{}
		}
		m.last[name] = append(m.last[name], r)
	case dir == "**/" && strings.Count(name, "*") == 1 && !strings.ContainsAny(name, `?[{\!`):
		pre, suf, _ := strings.Cut(name, "*")
		m.affix = append(m.affix, affix{pre, suf, r})
		switch {
		case pre != "":
			m.first[pre[0]] = true
		case suf != "":
			m.final[suf[len(suf)-1]] = true
		default:
			m.always = true
		}
	default:
		r.glob, r.thin = body, sieveOf(body)
		switch e := r.thin.last(); {
		case e.pre != "":
			m.byFirst = with(m.byFirst, e.pre[0], r)
		case r.thin != nil && len(finals(name)) > 0:
			for _, c := range finals(name) {
				m.byFinal = with(m.byFinal, c, r)
			}
		default:
			m.globs = append(m.globs, r)
		}
	}
	return nil
}

// foldPattern folds the literal parts of a pattern as names are folded. Escapes, classes and alternatives keep their
// characters in lower case.
func foldPattern(p string) string {
	parts := strings.Split(p, "/")
	for i, c := range parts {
		if strings.ContainsAny(c, meta) {
			parts[i] = strings.ToLower(c)
		} else {
			parts[i] = fold(c)
		}
	}
	return strings.Join(parts, "/")
}

// self finds a rule for the entry of that folded name; p gives its folded path and is asked for only where a name hits.
func (m *matcher) self(name string, p func() string) *Rule {
	for _, r := range m.last[name] {
		if r.glob == "" || match(r.glob, p()) {
			return r
		}
	}
	if name != "" && (m.first[name[0]] || m.final[name[len(name)-1]] || m.always) && !m.except[name] {
		for i := range m.affix {
			a := &m.affix[i]
			if len(name) >= len(a.pre)+len(a.suf) && strings.HasPrefix(name, a.pre) && strings.HasSuffix(name, a.suf) {
				return a.rule
			}
		}
	}
	if name == "" {
		return nil
	}
	for _, rules := range [...][]*Rule{m.byFirst[name[0]], m.byFinal[name[len(name)-1]], m.globs} {
		if len(rules) == 0 {
			continue
		}
		at := p()
		for _, r := range rules {
			if r.thin.may(at) && match(r.glob, at) {
				return r
			}
		}
	}
	return nil
}

func with(m map[byte][]*Rule, key byte, r *Rule) map[byte][]*Rule {
	if m == nil {
		m = map[byte][]*Rule{}
	}
	m[key] = append(m[key], r)
	return m
}

func match(glob, p string) bool {
	ok, err := doublestar.Match(glob, p)
	return ok && err == nil
}

// path finds a rule for p or for a directory above it. p is folded and relative to the project.
func (m *matcher) path(p string) *Rule {
	for i := 0; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		at := p[:i]
		if at == "" {
			continue
		}
		if r := m.self(path.Base(at), func() string { return at }); r != nil {
			return r
		}
	}
	return nil
}

// Policy is what a project's rules say. Immutable, safe for concurrent use.
type Policy struct {
	access   matcher // nothing may touch or see these
	mutation matcher // no mutation
	gitFile  *Rule
	ext      map[string]bool
	extRule  *Rule
}

// New compiles a project's patterns; the error names the first bad one.
func New(p *rootbound.Project) (*Policy, error) {
	pol := &Policy{}
	for _, g := range p.Deny {
		r := &Rule{ID: "deny:" + g, Lift: "the operator can lift it by taking the pattern out of the project's deny list", Hides: true}
		if err := pol.access.add(strings.TrimPrefix(strings.TrimSuffix(g, "/"), "/"), r); err != nil {
			return nil, err
		}
	}
	if !p.LiftCredentials {
		pol.access.except = map[string]bool{}
		for _, n := range exceptEnv {
			pol.access.except[n] = true
		}
		for _, g := range credentials {
			r := &Rule{ID: "credentials:" + g, Lift: "the operator can lift it with presets: {credentials: off}", Hides: true}
			if err := pol.access.add(g, r); err != nil {
				return nil, err
			}
		}
	}
	if !p.LiftExecution {
		lift := "the operator can lift it with presets: {execution: off}"
		for _, g := range execution {
			if err := pol.mutation.add(g, &Rule{ID: "execution:" + g, Lift: lift}); err != nil {
				return nil, err
			}
		}
		pol.gitFile = &Rule{ID: "execution:" + gitFile, Lift: lift}
	}
	if len(p.AllowExtensions) > 0 {
		pol.ext = map[string]bool{}
		for _, e := range p.AllowExtensions {
			pol.ext[fold("."+strings.TrimPrefix(e, "."))] = true
		}
		pol.extRule = &Rule{ID: "allow_extensions", Lift: "the operator can add the extension to allow_extensions", Hides: true}
	}
	return pol, nil
}

// Access judges access to the folded path by patterns alone, for spellings of which it is not known what they are.
func (pol *Policy) Access(p string) *Rule { return pol.access.path(p) }

// Mutation is Access for changes.
func (pol *Policy) Mutation(p string) *Rule {
	if r := pol.access.path(p); r != nil {
		return r
	}
	return pol.mutation.path(p)
}

// Read judges access to the folded path p; dir: it is a directory.
func (pol *Policy) Read(p string, dir bool) *Rule {
	if r := pol.access.path(p); r != nil {
		return r
	}
	return pol.extension(p, dir)
}

// Mutate judges a change of the entry at the folded path p; dir: it is or becomes a directory.
func (pol *Policy) Mutate(p string, dir bool) *Rule {
	if r := pol.Read(p, dir); r != nil {
		return r
	}
	if r := pol.mutation.path(p); r != nil {
		return r
	}
	if pol.gitFile != nil && !dir && path.Base(p) == ".git" {
		return pol.gitFile
	}
	return nil
}

// Move judges a directory (or a link, which may lead to one) that is moved away from or to the folded path p: a
// directory that begins a longer pattern cannot be moved or be a destination.
func (pol *Policy) Move(p string) *Rule {
	name := path.Base(p)
	if r := pol.access.heads[name]; r != nil {
		return r
	}
	return pol.mutation.heads[name]
}

// Node judges one entry of a walk whose ancestors were judged before: hidden or not. p is asked for only where a name hits.
func (pol *Policy) Node(name string, dir bool, p func() string) *Rule {
	f := fold(name)
	if r := pol.access.self(f, func() string { return Fold(p()) }); r != nil {
		return r
	}
	if pol.ext == nil {
		return nil
	}
	return pol.extension(f, dir)
}

// Entry judges one entry of a tree that is moved, whose ancestors were judged before.
func (pol *Policy) Entry(p, name string, dir bool) *Rule {
	f, at := fold(name), func() string { return Fold(p) }
	if r := pol.access.self(f, at); r != nil {
		return r
	}
	if r := pol.mutation.self(f, at); r != nil {
		return r
	}
	if pol.gitFile != nil && !dir && f == ".git" {
		return pol.gitFile
	}
	return pol.extension(f, dir)
}

// IsGitFile reports whether a file of that name is a gitlink: it points at a repository elsewhere, whatever presets say.
func IsGitFile(name string) bool { return fold(name) == ".git" }

func (pol *Policy) extension(p string, dir bool) *Rule {
	if pol.ext == nil || dir || p == "" || pol.ext[path.Ext(p)] {
		return nil
	}
	return pol.extRule
}
