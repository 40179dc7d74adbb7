package glob

import (
	"strings"

	"github.com/rootbound/rootbound"
)

// MaxPattern is the most bytes of one pattern.
const MaxPattern = 4096

// Pattern is a compiled glob. Immutable and safe for concurrent use.
//
// "*" and "?" match within one name; "**" as a whole name matches any number of directories, at the end of a pattern at
// least one name; "[a-z]", "[!a]" and "[[:alpha:]]" match one character; "{a,b}" and "{1..3}" are written out first; "\"
// takes the next character as it is; a leading "!" turns the pattern round and a leading "#" makes it match nothing.
// Names that begin with "." are names like any other. Extended forms "!(…)" "@(…)" "+(…)" "?(…)" "*(…)" are refused.
type Pattern struct {
	globs  []glob
	negate bool
	vain   string // why the first alternative that can match nothing cannot
}

// glob is one alternative: tests for the names of a path, one by one.
type glob []part

type part struct {
	globstar bool
	name     name
}

// Compile reads a pattern: argument_invalid, with the forms that exist, for what is not one.
func Compile(pattern string) (*Pattern, error) { return compile(pattern, newBudget(1)) }

func compile(pattern string, b *budget) (*Pattern, error) {
	if len(pattern) > MaxPattern {
		return nil, invalid("a pattern of more than 4096 bytes")
	}
	if strings.IndexByte(pattern, 0) >= 0 {
		return nil, invalid("a NUL in a pattern")
	}
	p := &Pattern{}
	switch {
	case pattern == "":
		p.vain = "it is empty; ** stands for everything below the directory"
		return p, nil
	case pattern[0] == '#':
		p.vain = `it begins with #, which makes it a comment; write \# for a name that begins so`
		return p, nil
	}
	if at := extendedAt(pattern, b); b.over {
		return nil, tooMuch(pattern)
	} else if at >= 0 {
		return nil, invalid("the form " + pattern[at:at+2] + "…) in a pattern")
	}
	for strings.HasPrefix(pattern, "!") {
		p.negate = !p.negate
		pattern = pattern[1:]
	}
	alternatives, ok := expandBraces(pattern, b)
	if !ok {
		return nil, tooMuch(pattern)
	}
	for _, a := range alternatives {
		g, vain := compileGlob(a, b)
		switch {
		case b.over:
			return nil, tooMuch(pattern)
		case vain == "":
			p.globs = append(p.globs, g)
		case p.vain == "":
			p.vain = vain
		}
	}
	return p, nil
}

func tooMuch(pattern string) error {
	if strings.Contains(pattern, "{") {
		return invalid("braces that stand for too many patterns")
	}
	return invalid("patterns that are too much together")
}

func invalid(detail string) error {
	return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: detail,
		Next: `Patterns know *, ?, **, [a-z], [!a], {a,b}, {1..3}, a leading ! and \ for a character to be taken as it is.`}
}

// extendedAt finds the first extended form outside a class, -1 for none.
func extendedAt(s string, b *budget) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			_, n, _ := parseClass(s[i:])
			if n > 0 {
				i += n - 1
			} else if !b.read(16 * (len(s) - i)) {
				return -1
			}
		case '!', '@', '+', '?', '*':
			if i+1 < len(s) && s[i+1] == '(' && strings.IndexByte(s[i+2:], ')') >= 0 {
				return i
			}
		}
	}
	return -1
}

// Unclosed reports whether a pattern holds a "[" or "{" that nothing closes: such a character stands for itself, which is
// seldom meant.
func Unclosed(pattern string) bool {
	open := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '[':
			_, n, _ := parseClass(pattern[i:])
			if n == 0 {
				return true
			}
			i += n - 1
		case '{':
			open++
		case '}':
			open = max(open-1, 0)
		}
	}
	return open > 0
}

// Vain says why the pattern, or one of those that its braces stand for, can match no path, and what to write instead;
// empty: it may match. It is for who is told that nothing matched.
func (p *Pattern) Vain() string {
	if p.negate { // it matches all the more
		return ""
	}
	return p.vain
}

// compileGlob reads an alternative, or says why it can match nothing.
func compileGlob(s string, b *budget) (g glob, vain string) {
	if !b.take(&b.parts, 1+strings.Count(s, "/")) {
		return nil, "it is too long"
	}
	var names []string
	all := strings.Split(s, "/")
	for i, n := range all {
		last := ""
		if len(names) > 0 {
			last = names[len(names)-1]
		}
		switch {
		case n == "" && i > 0 && i < len(all)-1: // doubled slashes are one
			continue
		case n == "**" && last == "**":
			continue
		case n == ".." && last != "" && last != "." && last != ".." && last != "**":
			names = names[:len(names)-1] // a name and the climb behind it cancel out, as text
			continue
		}
		names = append(names, n)
	}
	g = make(glob, 0, len(names))
	for i, n := range names {
		// relative paths hold no such names, at the ends of a pattern neither
		switch {
		case n == "**":
			g = append(g, part{globstar: true})
			continue
		case n == "" && i == 0:
			return nil, "it begins with /, and paths are matched from the directory that is searched on: leave the / off, and name the directory to search apart from the pattern"
		case n == "":
			return nil, "it ends with /, which no path does here: leave it off, or write /** for what lies below"
		case n == ".":
			return nil, "no path below the directory that is searched holds the name . as ./ does: leave it off"
		case n == "..":
			return nil, "no path below the directory that is searched holds the name ..: name the directory to search apart from the pattern"
		}
		t, ok := compileName(n, b)
		if !ok {
			return nil, "no character fits what stands in brackets in it: the first of a range comes first in the alphabet too"
		}
		g = append(g, part{name: t})
	}
	if len(g) == 0 {
		return nil, "it stands for the directory itself; ** stands for everything below it"
	}
	return g, ""
}

// Match reports whether rel matches: a path relative to the directory that is searched, cleaned, not empty.
func (p *Pattern) Match(rel string) bool {
	for _, g := range p.globs {
		if g.match(rel) {
			return !p.negate
		}
	}
	return p.negate
}

// match needs to try again behind the last "**" only: what an earlier one could swallow, the later can as well.
func (g glob) match(rel string) bool {
	i, rest := 0, rel
	again, from := -1, "" // part behind the last "**", and what it was tried on
	for {
		switch {
		case i == len(g):
			if rest == "" {
				return true
			}
		case g[i].globstar:
			if i == len(g)-1 {
				return rest != ""
			}
			i++
			again, from = i, rest
			continue
		case rest != "":
			first, behind, _ := strings.Cut(rest, "/")
			if g[i].name.match(first) {
				i, rest = i+1, behind
				continue
			}
		}
		if again < 0 {
			return false
		}
		_, behind, more := strings.Cut(from, "/")
		if !more {
			return false
		}
		i, rest, from = again, behind, behind
	}
}

// LastNameOnly reports that the last name of a path alone decides: "**/" and one test.
func (p *Pattern) LastNameOnly() bool {
	for _, g := range p.globs {
		if len(g) != 2 || !g[0].globstar || g[1].globstar {
			return false
		}
	}
	return len(p.globs) > 0
}

// MatchName is Match where LastNameOnly holds.
func (p *Pattern) MatchName(last string) bool {
	for _, g := range p.globs {
		if g[1].name.match(last) {
			return !p.negate
		}
	}
	return p.negate
}

// MayHold reports whether anything below the directory rel can match.
func (p *Pattern) MayHold(rel string) bool {
	if p.negate {
		return true
	}
	for _, g := range p.globs {
		if g.mayHold(rel) {
			return true
		}
	}
	return false
}

func (g glob) mayHold(rel string) bool {
	for _, t := range g {
		if t.globstar || rel == "" {
			return true
		}
		first, rest, _ := strings.Cut(rel, "/")
		if !t.name.match(first) {
			return false
		}
		rel = rest
	}
	return false // the directory is as deep as the pattern
}

// Anchored reports that the first name of some path decides: MayHold is worth asking.
func (p *Pattern) Anchored() bool {
	if p.negate {
		return false
	}
	for _, g := range p.globs {
		if g[0].globstar {
			return false
		}
	}
	return true
}
