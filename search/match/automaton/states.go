package automaton

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
)

// Bounds of what one worker's automaton remembers.
const (
	maxSets   = 384 << 10 // bytes
	maxTable  = 128 << 10 // entries of four bytes each
	minLane   = 1 << 10   // bytes
	maxFlush  = 8         // flushes while fewer than flushCost bytes a state went by, after which it gives up
	flushCost = 64
)

// Bounds are what an automaton remembers and when it runs lanes; zero values stand for what is fit for work.
type Bounds struct {
	Table int // entries of the table of states
	Lane  int // bytes of a text that is worth a lane
}

// Automaton is a program made deterministic while it runs. States are rows of a table, by the class of the next byte. It
// belongs to one goroutine and holds at most about one MiB.
type Automaton struct {
	// On is asked now and then, with the steps that were taken since, whether to go on; nil goes on.
	On func(work int) bool

	p      *Program
	bounds Bounds
	common func(c byte) float64
	stride uint32
	table  []uint32
	states []state
	index  map[string]uint32
	size   int // bytes of the sets and their keys

	line    uint32    // the state at the beginning of a line
	inside  [2]uint32 // the state inside of a line: behind another character, and behind a word character
	special uint32    // rows up to here end the fast loop
	leaves  [256]bool // bytes that lead away from the state inside, if idle
	idle    bool      // the state inside is worth a loop of its own

	queue, stack []uint32 // scratch
	seen         []uint32
	mark         uint32
	key          []byte

	text  []byte // that is run
	begin bool   // a line begins where it does
	all   [lanes]lane
	lanes []lane // of all
	lane  int    // the first that is not done

	work    int  // nodes that were looked at since On was asked
	stopped bool // On said no: what was loaded is not run any further

	passed  int // bytes since the last flush
	flushes int
	lost    bool // too many states for what they yield: it is not used any more
}

// Rows of the table that are no states.
const (
	rowUnknown  = iota // the state is not built yet
	rowAccepted        // the line matches
	rowDead            // the line does not match
	rowIdle            // the state inside, if idle
	firstRow
)

type state struct {
	nodes []uint32 // nodeBytes, nodeEmpty and nodeMatch only, sorted
	begin bool     // at the beginning of the line
	word  bool     // behind a word character, where the program asks
}

// New makes an automaton. common tells the share of a byte in the texts that are expected, to choose what is skipped fast.
func New(p *Program, b Bounds, common func(c byte) float64) *Automaton {
	if b.Table == 0 {
		b.Table = maxTable
	}
	if b.Lane == 0 {
		b.Lane = minLane
	}
	a := &Automaton{p: p, bounds: b, common: common, stride: uint32(p.classes + 1), seen: make([]uint32, len(p.nodes))}
	a.reset()
	return a
}

// Lost reports that the automaton gave up: it had more states than it may remember, too often for what they were worth.
func (a *Automaton) Lost() bool { return a.lost }

// Size is about what the automaton holds, in bytes.
func (a *Automaton) Size() int {
	return 4*(cap(a.table)+cap(a.seen)+cap(a.queue)+cap(a.stack)) + 2*a.size + 56*cap(a.states)
}

// reset forgets all states.
func (a *Automaton) reset() {
	a.table = append(a.table[:0], make([]uint32, firstRow*a.stride)...)
	for i := range a.stride {
		a.table[rowAccepted*a.stride+i] = rowAccepted * a.stride
		a.table[rowDead*a.stride+i] = rowDead * a.stride
	}
	a.states = append(a.states[:0], make([]state, firstRow)...)
	a.index = map[string]uint32{}
	a.size, a.passed = 0, 0
	a.special = rowDead * a.stride
	a.idle = false
	a.inside[0] = a.state(a.closure(nil, a.p.start), false, false)
	a.inside[1] = a.inside[0]
	if a.p.words {
		a.inside[1] = a.state(a.closure(nil, a.p.start), false, true)
	}
	a.line = a.state(a.closure(nil, a.p.start), true, false)
	a.rest()
}

// rest gives the state inside a row of its own if most bytes stay in it.
func (a *Automaton) rest() {
	if a.inside[0] != a.inside[1] || a.inside[0] < firstRow*a.stride {
		return
	}
	share := 0.0
	for c := range 256 {
		class := uint32(a.p.class[c])
		from := a.inside[0]
		a.leaves[c] = a.step(from, class) != from
		if a.leaves[c] {
			share += a.common(byte(c))
		}
	}
	if share > 1.0/10 {
		return
	}
	// The row moves, so that reaching it ends the fast loop.
	old, row := a.inside[0], rowIdle*a.stride
	for i := range a.table {
		if a.table[i] == old {
			a.table[i] = row
		}
	}
	copy(a.table[row:row+a.stride], a.table[old:old+a.stride])
	a.states[rowIdle] = a.states[old/a.stride]
	for k, v := range a.index {
		if v == old {
			a.index[k] = row
		}
	}
	if a.line == old {
		a.line = row
	}
	a.inside = [2]uint32{row, row}
	a.special, a.idle = row, true
}

// closure appends the nodes that are reached from n without a byte and without a condition.
func (a *Automaton) closure(out []uint32, n uint32) []uint32 {
	if out == nil {
		out = a.queue[:0]
		a.mark++
	}
	a.stack = append(a.stack[:0], n)
	for len(a.stack) > 0 {
		a.work++
		n := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.seen[n] == a.mark {
			continue
		}
		a.seen[n] = a.mark
		switch nd := &a.p.nodes[n]; nd.kind {
		case nodeAlt:
			a.stack = append(a.stack, nd.alt, nd.out)
		case nodeBytes, nodeEmpty, nodeMatch:
			out = append(out, n)
		}
	}
	a.queue = out
	return out
}

// state is the row of a set of nodes; it builds the row if it is new.
func (a *Automaton) state(nodes []uint32, begin, word bool) uint32 {
	kept := nodes[:0]
	conditions := false
	for _, n := range nodes {
		nd := &a.p.nodes[n]
		if nd.kind == nodeEmpty {
			if !begin && nd.empty&(syntax.EmptyBeginLine|syntax.EmptyBeginText) != 0 {
				continue
			}
			conditions = true
		}
		kept = append(kept, n)
	}
	if len(kept) == 0 {
		return rowDead * a.stride
	}
	if !conditions { // nothing asks
		begin, word = false, false
	}
	slices.Sort(kept)
	a.key = a.key[:0]
	for _, n := range kept {
		a.key = binary.AppendUvarint(a.key, uint64(n))
	}
	flags := byte(0)
	if begin {
		flags |= 1
	}
	if word {
		flags |= 2
	}
	a.key = append(a.key, flags)
	if row, ok := a.index[string(a.key)]; ok {
		return row
	}
	row := uint32(len(a.table))
	a.table = append(a.table, make([]uint32, a.stride)...)
	a.states = append(a.states, state{nodes: slices.Clone(kept), begin: begin, word: word})
	a.index[string(a.key)] = row
	a.size += 4*len(kept) + len(a.key) + 96
	return row
}

// step is the state behind a byte of the class, or the end of the text for the class behind the last.
func (a *Automaton) step(from, class uint32) uint32 {
	if to := a.table[from+class]; to != rowUnknown {
		return to
	}
	s := &a.states[from/a.stride]
	end := class == uint32(a.p.classes) || class == uint32(a.p.newline)
	word := a.p.isWord[class]
	var holds syntax.EmptyOp
	if s.begin {
		holds |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	if end {
		holds |= syntax.EmptyEndLine | syntax.EmptyEndText
	}
	if s.word != word {
		holds |= syntax.EmptyWordBoundary
	} else {
		holds |= syntax.EmptyNoWordBoundary
	}
	a.work += len(s.nodes)
	to := a.after(s, class, holds, end, word)
	a.table[from+class] = to
	return to
}

func (a *Automaton) after(s *state, class uint32, holds syntax.EmptyOp, end, word bool) uint32 {
	// what the conditions that hold here let through
	here := s.nodes
	if slices.ContainsFunc(here, func(n uint32) bool { return a.p.nodes[n].kind == nodeEmpty }) {
		a.mark++
		all := make([]uint32, 0, 2*len(here))
		for i := 0; i < len(here)+len(all); i++ {
			var n uint32
			if i < len(here) {
				n = here[i]
			} else {
				n = all[i-len(here)]
			}
			nd := &a.p.nodes[n]
			if i < len(here) {
				a.seen[n] = a.mark
			}
			if nd.kind == nodeEmpty && nd.empty&^holds == 0 {
				all = a.closure(all, nd.out)
			}
		}
		here = slices.Concat(here, all)
	}
	for _, n := range here {
		if a.p.nodes[n].kind == nodeMatch {
			return rowAccepted * a.stride
		}
	}
	if end {
		return a.line
	}
	next := a.closure(nil, a.p.start)
	for _, n := range here {
		nd := &a.p.nodes[n]
		if nd.kind == nodeBytes && a.p.members[nd.set][class>>6]&(1<<(class&63)) != 0 {
			next = a.closure(next, nd.out)
		}
	}
	for _, n := range next {
		if a.p.nodes[n].kind == nodeMatch {
			return rowAccepted * a.stride
		}
	}
	return a.state(next, false, word && a.p.words)
}

// full reports that no more states fit.
func (a *Automaton) full() bool {
	return len(a.table)+int(a.stride) > a.bounds.Table || a.size > maxSets
}

// flush makes room by forgetting all states, or gives up where that happens too often.
func (a *Automaton) flush() {
	if a.passed < flushCost*len(a.states) {
		if a.flushes++; a.flushes > maxFlush {
			a.lost = true
			return
		}
	} else {
		a.flushes = 0
	}
	a.reset()
}
