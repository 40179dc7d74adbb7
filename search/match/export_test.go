package match

import "github.com/rootbound/rootbound/search/match/automaton"

// SetSizes lets a test see the borders of blocks, and of what an automaton remembers, in texts of few bytes.
func (b *Buffer) SetSizes(first, most, overlap, table, lane int) {
	b.sizes = sizes{first, most, overlap, automaton.Bounds{Table: table, Lane: lane}}
}

// Memory is about what the buffer holds, in bytes.
func (b *Buffer) Memory() int {
	n := cap(b.data) + cap(b.raw)
	if b.finder.auto != nil {
		n += b.finder.auto.Size()
	}
	return n
}

// GaveUp reports that the automaton of the last pattern had too many states.
func (b *Buffer) GaveUp() bool { return b.finder.auto != nil && b.finder.auto.Lost() }

// Class tells how a pattern is searched: "literal" is compared as it is, "required" has literals of which a line must hold
// one, "none" has no such help.
func (m *Matcher) Class() string {
	switch {
	case m.exact:
		return "literal"
	case m.need != nil:
		return "required"
	}
	return "none"
}
