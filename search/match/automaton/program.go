package automaton

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Program is a pattern as an automaton over bytes. It takes every line that matches, and may take some that do not: of a
// character above ASCII it sees the length and the first byte, unless it is a single one.
type Program struct {
	nodes   []node
	start   uint32
	words   bool // \b or \B is used
	class   [256]uint8
	classes int         // kinds of bytes; one more stands for the end of the text
	members [][4]uint64 // of each set: the classes in it
	newline uint8       // its class, which holds nothing else
	isWord  []bool      // by class
}

// Words reports that the pattern uses \b or \B.
func (p *Program) Words() bool { return p.words }

type node struct {
	kind     nodeKind
	set      uint32 // of nodeBytes
	out, alt uint32
	empty    syntax.EmptyOp
}

type nodeKind uint8

const (
	nodeFail nodeKind = iota
	nodeBytes
	nodeAlt
	nodeEmpty
	nodeMatch
)

type byteSet [256 / 64]uint64

func (s *byteSet) add(low, high byte) {
	for c := int(low); c <= int(high); c++ {
		s[c>>6] |= 1 << (c & 63)
	}
}

func (s *byteSet) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

// Assemble builds the automaton of a pattern. word asks that no word character stands beside a match. The pattern is parsed
// with syntax.Perl; the caller bounds its size.
func Assemble(re *syntax.Regexp, word bool) (*Program, error) {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	p := &Program{}
	a := assembler{p: p, index: map[byteSet]uint32{}}
	// node i stands for instruction i; what an instruction needs beyond one node comes behind
	p.nodes = make([]node, len(prog.Inst), 2*len(prog.Inst)+8)
	for i := range prog.Inst {
		n := a.instruction(&prog.Inst[i], word)
		p.nodes[i] = n
	}
	p.start = uint32(prog.Start)
	if word {
		// (?:^|[^\w])( … )(?:[^\w]|$); nodeMatch of the inner program was replaced by the closing border
		var other byteSet
		for c := range 256 {
			if !isWord[c] && c != '\n' {
				other.add(byte(c), byte(c))
			}
		}
		before := a.add(node{kind: nodeBytes, set: a.set(other), out: p.start})
		begin := a.add(node{kind: nodeEmpty, empty: syntax.EmptyBeginText, out: p.start})
		p.start = a.add(node{kind: nodeAlt, out: begin, alt: before})
	}
	a.classify()
	return p, nil
}

type assembler struct {
	p     *Program
	sets  []byteSet
	index map[byteSet]uint32
	close uint32 // the closing border of Word, 0 if there is none yet
}

func (a *assembler) add(n node) uint32 {
	a.p.nodes = append(a.p.nodes, n)
	return uint32(len(a.p.nodes) - 1)
}

func (a *assembler) set(s byteSet) uint32 {
	s[0] &^= 1 << '\n'
	i, ok := a.index[s]
	if !ok {
		i = uint32(len(a.sets))
		a.sets = append(a.sets, s)
		a.index[s] = i
	}
	return i
}

func (a *assembler) instruction(in *syntax.Inst, word bool) node {
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return node{kind: nodeAlt, out: in.Out, alt: in.Arg}
	case syntax.InstCapture, syntax.InstNop:
		return node{kind: nodeAlt, out: in.Out, alt: in.Out}
	case syntax.InstEmptyWidth:
		op := syntax.EmptyOp(in.Arg)
		a.p.words = a.p.words || op&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
		return node{kind: nodeEmpty, empty: op, out: in.Out}
	case syntax.InstMatch:
		if !word {
			return node{kind: nodeMatch}
		}
		if a.close == 0 {
			done := a.add(node{kind: nodeMatch})
			var other byteSet
			for c := range 256 {
				if !isWord[c] {
					other.add(byte(c), byte(c))
				}
			}
			after := a.add(node{kind: nodeBytes, set: a.set(other), out: done})
			end := a.add(node{kind: nodeEmpty, empty: syntax.EmptyEndText, out: done})
			a.close = a.add(node{kind: nodeAlt, out: after, alt: end})
		}
		return node{kind: nodeAlt, out: a.close, alt: a.close}
	case syntax.InstRune, syntax.InstRune1:
		return a.runes(in.Rune, syntax.Flags(in.Arg)&syntax.FoldCase != 0, in.Out)
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return a.runes([]rune{0, unicode.MaxRune}, false, in.Out)
	}
	return node{kind: nodeFail}
}

// runes is the automaton for one character of the ranges.
func (a *assembler) runes(r []rune, fold bool, out uint32) node {
	if len(r) == 1 {
		one := r[0]
		r = []rune{one, one}
		for f := unicode.SimpleFold(one); fold && f != one; f = unicode.SimpleFold(f) {
			r = append(r, f, f)
		}
	}
	var branches []node
	var single byteSet
	var leads [5]byteSet // by length
	for i := 0; i < len(r); i += 2 {
		low, high := r[i], r[i+1]
		if low <= utf8.RuneError && utf8.RuneError <= high {
			single.add(utf8.RuneSelf, 255) // any byte that is no UTF-8
		}
		if low == high && low >= utf8.RuneSelf && len(r) <= 16 {
			branches = append(branches, a.exact(low, out))
			continue
		}
		for n, bounds := range [...][2]rune{1: {0, 0x7f}, 2: {0x80, 0x7ff}, 3: {0x800, 0xffff}, 4: {0x10000, unicode.MaxRune}} {
			if l, h := max(low, bounds[0]), min(high, bounds[1]); n > 0 && l <= h {
				if n == 1 {
					single.add(byte(l), byte(h))
				} else {
					leads[n].add(lead(l), lead(h))
				}
			}
		}
	}
	if single != (byteSet{}) {
		branches = append(branches, node{kind: nodeBytes, set: a.set(single), out: out})
	}
	var rest byteSet
	rest.add(0x80, 0xbf)
	next := out
	for n := 2; n <= 4; n++ {
		if slices.ContainsFunc(leads[n:], func(s byteSet) bool { return s != byteSet{} }) {
			next = a.add(node{kind: nodeBytes, set: a.set(rest), out: next})
		}
		if leads[n] != (byteSet{}) {
			branches = append(branches, node{kind: nodeBytes, set: a.set(leads[n]), out: next})
		}
	}
	if len(branches) == 0 {
		return node{kind: nodeFail}
	}
	for len(branches) > 1 {
		last := len(branches) - 2
		branches[last] = node{kind: nodeAlt, out: a.add(branches[last]), alt: a.add(branches[last+1])}
		branches = branches[:last+1]
	}
	return branches[0]
}

func lead(r rune) byte { return utf8.AppendRune(nil, r)[0] }

// exact is the automaton for the bytes of one character.
func (a *assembler) exact(r rune, out uint32) node {
	p := utf8.AppendRune(nil, r)
	for i := len(p) - 1; ; i-- {
		var s byteSet
		s.add(p[i], p[i])
		n := node{kind: nodeBytes, set: a.set(s), out: out}
		if i == 0 {
			return n
		}
		out = a.add(n)
	}
}

// classify finds which bytes no set tells apart.
func (a *assembler) classify() {
	p := a.p
	of := [256]int{} // class by refinement
	n := 1
	split := func(in func(c byte) bool) {
		type half struct {
			class int
			in    bool
		}
		seen := map[half]int{}
		next := [256]int{}
		for c := range 256 {
			h := half{of[c], in(byte(c))}
			i, ok := seen[h]
			if !ok {
				i = len(seen)
				seen[h] = i
			}
			next[c] = i
		}
		of, n = next, len(seen)
	}
	split(func(c byte) bool { return c == '\n' })
	if p.words {
		split(func(c byte) bool { return isWord[c] })
	}
	for i := range a.sets {
		if n < 256 {
			split(a.sets[i].has)
		}
	}
	p.classes = n
	p.isWord = make([]bool, n+1)
	for c := range 256 {
		p.class[c] = uint8(of[c])
		p.isWord[of[c]] = isWord[c]
	}
	p.newline = p.class['\n']
	p.members = make([][4]uint64, len(a.sets))
	for i, s := range a.sets {
		for c := range 256 {
			if s.has(byte(c)) {
				p.members[i][of[c]>>6] |= 1 << (of[c] & 63)
			}
		}
	}
}

// isWord are the characters that \w has in RE2 syntax.
var isWord = func() (t [256]bool) {
	for c := range t {
		t[c] = c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' && c < utf8.RuneSelf
	}
	return t
}()
