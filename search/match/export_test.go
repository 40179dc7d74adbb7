package match

// SetSizes lets a test see the borders of blocks, and of what an automaton remembers, in texts of few bytes.
func (b *Buffer) SetSizes(first, most, overlap, table, lane int) {
	b.sizes = sizes{first, most, overlap, table, lane}
}

// Memory is about what the buffer holds, in bytes.
func (b *Buffer) Memory() int {
	n := cap(b.data) + cap(b.raw)
	if a := b.finder.auto; a != nil {
		n += 4*cap(a.table) + 2*a.size + 4*(cap(a.seen)+cap(a.queue)+cap(a.stack)) + 56*cap(a.states)
	}
	return n
}

// GaveUp reports that the automaton of the last pattern had too many states.
func (b *Buffer) GaveUp() bool { return b.finder.auto != nil && b.finder.auto.lost }
