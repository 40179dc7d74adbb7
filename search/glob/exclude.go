package glob

import (
	"fmt"
	"strings"
)

// MaxPatterns is the most patterns of one list.
const MaxPatterns = 256

// Excludes is a list of compiled exclude patterns. The zero value excludes nothing. Immutable and safe for concurrent use.
type Excludes struct {
	patterns []*Pattern
	anywhere map[string]struct{} // plain names that are left out at any depth
	vain     string              // why the first pattern that can match nothing cannot; an empty one is not meant to
}

// CompileExcludes reads the excludes of a search: each is a pattern like that of the search itself, so one without "/"
// means the top level only.
func CompileExcludes(patterns []string) (Excludes, error) {
	var x Excludes
	if err := few("exclude", patterns); err != nil {
		return x, err
	}
	b := newBudget(1)
	for _, s := range patterns {
		if err := x.add(b, s, s); err != nil {
			return Excludes{}, err
		}
	}
	return x, nil
}

// CompileTreeExcludes reads the excludes of a tree: one with "*" is a pattern, one without means that path at any depth.
func CompileTreeExcludes(patterns []string) (Excludes, error) {
	var x Excludes
	if err := few("exclude", patterns); err != nil {
		return x, err
	}
	b := newBudget(3)
	for _, s := range patterns {
		if s == "" {
			continue // else the forms for any depth would leave out everything
		}
		if len(s) <= MaxPattern && plainName(s) {
			if x.anywhere == nil {
				x.anywhere = map[string]struct{}{}
			}
			x.anywhere[s] = struct{}{}
			continue
		}
		forms := []string{s}
		if !strings.Contains(s, "*") {
			// a leading "!" or "#" has its meaning at the start of a pattern only
			forms = append(forms, "**/"+s, "**/"+s+"/**")
		}
		if err := x.add(b, s, forms...); err != nil {
			return Excludes{}, err
		}
	}
	return x, nil
}

// CompileGlobs reads the globs of a content search, which mean what they mean to grep and git: one without "/" is a name at
// any depth, one with "/" a path, with or without "/" in front, and "/" at the end stands for all below that directory. Refusals
// call them by kind, "include" or "exclude".
func CompileGlobs(kind string, patterns []string) (Excludes, error) {
	var x Excludes
	if err := few(kind, patterns); err != nil {
		return x, err
	}
	b := newBudget(1)
	for _, s := range patterns {
		glob := strings.TrimLeft(s, "!")
		turned := s[:len(s)-len(glob)]
		if strings.Trim(glob, "/") == "" {
			continue
		}
		if below, ok := strings.CutSuffix(glob, "/"); ok {
			glob = below + "/**"
			if !strings.Contains(below, "/") {
				glob = "**/" + glob
			}
		}
		if path, ok := strings.CutPrefix(glob, "/"); ok {
			glob = path
		} else if !strings.Contains(glob, "/") && !strings.HasPrefix(glob, "#") {
			glob = "**/" + glob
		}
		if err := x.add(b, s, turned+glob); err != nil {
			return Excludes{}, err
		}
	}
	return x, nil
}

func few(kind string, patterns []string) error {
	if len(patterns) > MaxPatterns {
		return invalid(fmt.Sprintf("more than %d %s patterns", MaxPatterns, kind))
	}
	return nil
}

// add adds the patterns that one of the list stands for.
func (x *Excludes) add(b *budget, sent string, forms ...string) error {
	vain := ""
	for i, s := range forms {
		p, err := compile(s, b)
		if err != nil {
			return err
		}
		x.patterns = append(x.patterns, p)
		if why := p.Vain(); i == 0 {
			vain = why
		} else if why == "" {
			vain = ""
		}
	}
	if x.vain == "" && sent != "" {
		x.vain = vain
	}
	return nil
}

// Vain is [Pattern.Vain] of the first of the patterns that has one.
func (x Excludes) Vain() string { return x.vain }

func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/*?[]{}()!#\\\x00")
}

// Match reports whether the entry at rel, relative to the directory that was asked for, is left out, and with it what
// lies below.
func (x Excludes) Match(rel string) bool {
	if len(x.anywhere) > 0 {
		last := rel[strings.LastIndexByte(rel, '/')+1:]
		if _, ok := x.anywhere[last]; ok {
			return true
		}
	}
	for _, p := range x.patterns {
		if p.Match(rel) {
			return true
		}
	}
	return false
}

// None reports that nothing is excluded.
func (x Excludes) None() bool { return len(x.patterns) == 0 && len(x.anywhere) == 0 }
