// Package ignore says what the .gitignore and .ignore files of a tree leave out, as git does. It does no I/O: files come as
// text, entries as names.
//
// The rules are those of gitignore(5), byte by byte: the last rule of a file that matches decides, a deeper file goes before
// the ones above, "!" takes back, "/" at the end means directories only, "/" anywhere else binds a rule to the directory of
// its file, "**" as a whole name stands for any number of directories. Names are compared as they are, upper and lower case
// apart. What lies below a directory that is left out cannot be taken back, so a walk does not enter it. As in ripgrep, any
// verdict of an .ignore file goes before every verdict of a .gitignore.
package ignore

import (
	"bytes"
	"strings"
)

// Bounds. A file that passes one counts as if it were not there, as a whole: half of its rules could mean the opposite.
const (
	MaxFile  = 1 << 20 // bytes of one file
	MaxRules = 10_000  // of one file
	MaxStack = 20_000  // rules of all files that count in one directory
	MaxHeld  = 4 << 20 // bytes that the texts and wildcards of those files take, roughly: a file may be one rule of a million
)

// List is the rules of one file. Immutable and safe for concurrent use.
type List struct {
	rules []rule
	held  int // see MaxHeld
	over  bool

	// Where to look first: the last rule for a name, and for the end of a name from its last "." on; rule.next leads to the
	// ones before. rest are the others, in the order of the file.
	names    map[string]int32
	suffixes map[string]int32
	rest     []int32
}

// none ends a chain of rules.
const none = int32(-1)

// Parse reads the text of one file. Every text is valid; a line that can match nothing matches nothing. A text over MaxFile,
// MaxRules or MaxHeld gives an empty list that says so in Over.
func Parse(text []byte) *List {
	l := &List{held: len(text)}
	if len(text) > MaxFile {
		l.over = true
		return l
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	rest := string(text)
	for line := 1; rest != ""; line++ {
		var s string
		s, rest, _ = strings.Cut(rest, "\n")
		if strings.HasPrefix(s, "#") || s == "" {
			continue
		}
		r, ok := compile(s, (MaxHeld-l.held)/tokenSize)
		l.held += len(r.tokens) * tokenSize
		if l.held > MaxHeld || ok && len(l.rules) == MaxRules {
			return &List{over: true}
		}
		if !ok {
			continue
		}
		r.line = int32(line)
		l.add(r)
	}
	return l
}

func (l *List) add(r rule) {
	n := int32(len(l.rules))
	r.next = none
	switch {
	case r.kind == literal:
		l.names, r.next = chain(l.names, r.name, n)
	case r.kind == suffix && strings.Contains(r.name, "."):
		l.suffixes, r.next = chain(l.suffixes, extension(r.name), n)
	default:
		l.rest = append(l.rest, n)
	}
	l.rules = append(l.rules, r)
}

func chain(m map[string]int32, key string, n int32) (map[string]int32, int32) {
	if m == nil {
		m = map[string]int32{}
	}
	before, ok := m[key]
	if !ok {
		before = none
	}
	m[key] = n
	return m, before
}

// extension is a name from its last "." on, "" where it has none.
func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i:]
	}
	return ""
}

// Len is how many rules there are.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.rules)
}

// Over reports that the file passed a bound, so that none of its rules count.
func (l *List) Over() bool { return l != nil && l.over }

// last is the last rule that matches the entry, none if no rule does.
func (l *List) last(e *entry) int32 {
	best := none
	if l.names != nil {
		best = l.along(l.names, e.name, e, best)
	}
	if l.suffixes != nil {
		if x := extension(e.name); x != "" {
			best = l.along(l.suffixes, x, e, best)
		}
	}
	for i := len(l.rest) - 1; i >= 0 && l.rest[i] > best; i-- {
		if l.rules[l.rest[i]].match(e) {
			return l.rest[i]
		}
	}
	return best
}

// along follows one chain down to the rule that is the best so far.
func (l *List) along(m map[string]int32, key string, e *entry, best int32) int32 {
	i, ok := m[key]
	if !ok {
		return best
	}
	for ; i > best; i = l.rules[i].next {
		if l.rules[i].match(e) {
			return i
		}
	}
	return best
}
