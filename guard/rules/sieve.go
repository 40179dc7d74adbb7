package rules

import (
	"slices"
	"strings"
)

// sieve throws out most paths that a pattern cannot match, by what its components begin and end with: matching a glob
// takes a hundred times as long. It never throws out what the glob matches.
type sieve struct {
	head, tail []ends // components before the first "**" and after the last one
	exact      bool   // there is no "**": head is all
}

// ends are the literal bytes a component begins and ends with.
type ends struct{ pre, suf string }

// sieveOf takes a pattern apart; nil if alternatives hide how many components it has.
func sieveOf(glob string) *sieve {
	depth := 0
	for i := range len(glob) {
		switch c := glob[i]; {
		case c == '\\': // what follows may be a bracket that means itself
			return nil
		case c == '{':
			depth++
		case c == '}':
			depth--
		case depth > 0 && (c == '/' || strings.HasPrefix(glob[i:], "**")), depth < 0:
			return nil
		case c == '[' && strings.ContainsAny(glob[i:], "/{}"): // a class may hold what looks like the end of a component
			end := strings.IndexByte(glob[i:], ']')
			if end < 0 || strings.ContainsAny(glob[i:i+end], "/{}") {
				return nil
			}
		}
	}
	s := &sieve{exact: true}
	for c := range strings.SplitSeq(glob, "/") {
		switch {
		case c == "**":
			s.exact, s.tail = false, nil
		case slices.ContainsFunc([]string{"**", "*{", "*}", "*,", "{*", ",*", "}*"}, func(s string) bool { return strings.Contains(c, s) }):
			return nil // alternatives may leave a "**" of it
		case s.exact:
			s.head = append(s.head, endsOf(c))
		default:
			s.tail = append(s.tail, endsOf(c))
		}
	}
	return s
}

func endsOf(c string) ends {
	first := strings.IndexAny(c, meta)
	if first < 0 {
		return ends{c, c}
	}
	return ends{c[:first], c[strings.LastIndexAny(c, `*?[]{},!\`)+1:]}
}

func (e ends) fit(name string) bool {
	return len(name) >= len(e.pre) && len(name) >= len(e.suf) && name[:len(e.pre)] == e.pre && name[len(name)-len(e.suf):] == e.suf
}

// last is what the last component begins and ends with.
func (s *sieve) last() ends {
	switch {
	case s == nil:
	case len(s.tail) > 0:
		return s.tail[len(s.tail)-1]
	case s.exact:
		return s.head[len(s.head)-1]
	}
	return ends{}
}

// finals are the bytes that what a component matches ends with; none if that may be any.
func finals(c string) []byte {
	if suf := endsOf(c).suf; suf != "" {
		return []byte{suf[len(suf)-1]}
	}
	if c == "" {
		return nil
	}
	open := strings.LastIndexAny(c[:len(c)-1], `*?[]{}!\`)
	if open < 0 {
		return nil
	}
	inner := c[open+1 : len(c)-1]
	for i := range len(inner) {
		if inner[i] >= 0x80 {
			return nil
		}
	}
	set := map[byte]bool{}
	switch {
	case c[open] == '[' && c[len(c)-1] == ']' && !strings.ContainsAny(inner, "-^"):
		for i := range len(inner) {
			set[inner[i]] = true
		}
	case c[open] == '{' && c[len(c)-1] == '}':
		for alt := range strings.SplitSeq(inner, ",") {
			if alt == "" { // what stands before it ends the name
				return nil
			}
			set[alt[len(alt)-1]] = true
		}
	}
	out := make([]byte, 0, len(set))
	for b := range set {
		out = append(out, b)
	}
	return out
}

// may reports whether the pattern could match p.
func (s *sieve) may(p string) bool {
	if s == nil {
		return true
	}
	rest := p
	for i := len(s.tail) - 1; i >= 0; i-- {
		if rest == "" {
			return false
		}
		cut := strings.LastIndexByte(rest, '/')
		if !s.tail[i].fit(rest[cut+1:]) {
			return false
		}
		rest = rest[:max(cut, 0)]
	}
	for _, e := range s.head {
		if rest == "" {
			return false
		}
		name, more, _ := strings.Cut(rest, "/")
		if !e.fit(name) {
			return false
		}
		rest = more
	}
	return !s.exact || rest == ""
}
