package ignore

import "strings"

type kind uint8

const (
	literal kind = iota // one name, below where if the rule is bound
	suffix              // "*" and the end of a name
	general             // everything else
)

// rule is one line of a file.
type rule struct {
	kind    kind
	negate  bool
	dirOnly bool
	bound   bool   // to the directory of the file: matched against the path from there, else against the name alone
	name    string // of literal: the name; of suffix: its end; of general: what the text begins with
	where   string // of a literal that is bound: the directory, from that of the file
	tokens  []token
	line    int32
	next    int32 // rule before this one in the same chain of the list
}

// entry is what is asked about, seen from the directory of one file.
type entry struct {
	name string
	dir  string // of the entry, from that of the file, "" for the same
	path string // dir and name, made on demand
	tree bool   // it is a directory
	left *int   // steps that may still be spent on patterns
	free int    // of them, what no purse paid for
}

// perStep is how many bytes of a path are put together in the time of a step.
const perStep = 16

func (e *entry) rel() string {
	if e.path == "" {
		if e.dir == "" {
			e.path = e.name
		} else {
			e.path = e.dir + "/" + e.name
			*e.left -= len(e.path) / perStep
		}
	}
	return e.path
}

// compile reads one line that is neither empty nor a comment; false for one that can match nothing. Of more tokens than most
// it reads only a few more, and the rule is no good.
func compile(s string, most int) (rule, bool) {
	s = strings.TrimSuffix(s, "\r")
	// git reads lines as C strings
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	s = trimSpaces(s)
	var r rule
	if strings.HasPrefix(s, "!") {
		r.negate, s = true, s[1:]
	}
	if strings.HasSuffix(s, "/") {
		r.dirOnly, s = true, s[:len(s)-1]
	}
	r.bound = strings.Contains(s, "/")
	if r.bound {
		s = strings.TrimPrefix(s, "/")
		if rest, ok := strings.CutPrefix(s, "**/"); ok && rest != "" && !strings.Contains(rest, "/") {
			s, r.bound = rest, false // any directory and one name: the name alone decides, and is cheaper to ask for
		}
	}
	if s == "" {
		return r, false
	}
	// What stands before the first special character is compared as it is; "**" behind it counts as if it began the
	// pattern, even in the middle of a name: that is how git cuts it.
	plain := strings.IndexAny(s, special)
	switch {
	case plain < 0 && r.bound:
		r.where, r.name = cutLast(s)
		return r, r.name != "" && !strings.HasPrefix(s, "/") && !strings.Contains(s, "//")
	case plain < 0:
		r.name = s
		return r, true
	case plain == 0 && !r.bound && !strings.ContainsAny(s[1:], special) && s[0] == '*':
		r.kind, r.name = suffix, s[1:]
		return r, true
	}
	r.kind, r.name = general, s[:plain]
	var ok bool
	r.tokens, ok = tokenize(s[plain:], r.bound, most)
	return r, ok
}

// special are the characters that mean more than themselves.
const special = `*?[\`

// trimSpaces drops the blanks at the end that no backslash keeps.
func trimSpaces(s string) string {
	end := -1 // where the blanks that may go begin
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if end < 0 {
				end = i
			}
			continue
		case '\\':
			if i++; i == len(s) {
				return s
			}
		}
		end = -1
	}
	if end >= 0 {
		return s[:end]
	}
	return s
}

func cutLast(p string) (dir, name string) {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i], p[i+1:]
	}
	return "", p
}

func (r *rule) match(e *entry) bool {
	if r.dirOnly && !e.tree {
		return false
	}
	switch r.kind {
	case literal:
		return r.name == e.name && (!r.bound || r.where == e.dir)
	case suffix:
		return strings.HasSuffix(e.name, r.name)
	}
	s := e.name
	if r.bound {
		if !r.mayBegin(e) {
			return false
		}
		s = e.rel()
	}
	rest, ok := strings.CutPrefix(s, r.name)
	return ok && matchTokens(r.tokens, rest, e.left)
}

// mayBegin looks at the directory first, so that most paths need not be put together.
func (r *rule) mayBegin(e *entry) bool {
	n := min(len(r.name), len(e.dir))
	return r.name[:n] == e.dir[:n]
}
