package search

import "strings"

// MaxPatterns is the most exclude patterns of one call.
const MaxPatterns = 256

// Excludes is a list of compiled exclude patterns. The zero value excludes nothing. Immutable and safe for concurrent use.
type Excludes struct {
	patterns []*Pattern
	anywhere []string // plain names that are left out at any depth
}

// CompileExcludes reads the excludes of a search: each is a pattern like that of the search itself, so one without "/"
// means the top level only.
func CompileExcludes(patterns []string) (Excludes, error) {
	var x Excludes
	for _, s := range patterns {
		if err := x.add(s); err != nil {
			return Excludes{}, err
		}
	}
	return x, nil
}

// CompileTreeExcludes reads the excludes of a tree: one with "*" is a pattern, one without means that path at any depth.
func CompileTreeExcludes(patterns []string) (Excludes, error) {
	var x Excludes
	for _, s := range patterns {
		if s == "" {
			continue // else the forms for any depth would leave out everything
		}
		if plainName(s) {
			x.anywhere = append(x.anywhere, s)
			continue
		}
		if err := x.add(s); err != nil {
			return Excludes{}, err
		}
		if !strings.Contains(s, "*") {
			// a leading "!" or "#" has its meaning at the start of a pattern only
			for _, anywhere := range []string{"**/" + s, "**/" + s + "/**"} {
				if err := x.add(anywhere); err != nil {
					return Excludes{}, err
				}
			}
		}
	}
	return x, nil
}

// CompileGlobs reads the globs of a content search, which mean what they mean to grep and git: one without "/" is a name at
// any depth, one with "/" a path, with or without "/" in front, and "/" at the end stands for all below that directory.
func CompileGlobs(patterns []string) (Excludes, error) {
	var x Excludes
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
		if err := x.add(turned + glob); err != nil {
			return Excludes{}, err
		}
	}
	return x, nil
}

func (x *Excludes) add(s string) error {
	if len(x.patterns) >= 3*MaxPatterns {
		return invalid("more than 256 exclude patterns")
	}
	p, err := Compile(s)
	if err == nil {
		x.patterns = append(x.patterns, p)
	}
	return err
}

func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/*?[]{}()!#\\\x00")
}

// Match reports whether the entry at rel, relative to the directory that was asked for, is left out, and with it what
// lies below.
func (x Excludes) Match(rel string) bool {
	if len(x.anywhere) > 0 {
		last := rel[strings.LastIndexByte(rel, '/')+1:]
		for _, n := range x.anywhere {
			if n == last {
				return true
			}
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
