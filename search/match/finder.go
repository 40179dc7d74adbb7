package match

import (
	"unicode"
	"unicode/utf8"

	"github.com/rootbound/rootbound/search/match/automaton"
)

// finder goes from line to line that may match: by the literals a match needs if that skips much, by the automaton else. It
// belongs to one worker and remembers what it learned of a pattern from file to file.
type finder struct {
	m       *Matcher
	sizes   sizes
	auto    *automaton.Automaton
	cursors [maxNeeded]cursor
	places  [maxNeeded]int

	tried  int // lines that held a literal
	passed int // bytes that were searched for literals
	dense  bool

	on     func(work int) bool // asked now and then with the steps that were taken since
	loaded bool                // the automaton stands in the text, which it took from base
	base   int
}

// Where a literal stands in one line of this many bytes, looking for it is no help.
const densely = 160

func (f *finder) use(m *Matcher, z sizes, on func(work int) bool) {
	if f.m != m {
		*f = finder{m: m, sizes: z}
	}
	f.on = on
	if f.auto != nil {
		f.auto.On = on
	}
}

// begin forgets where literals stood in the last text.
func (f *finder) begin() {
	f.loaded = false
	for i := range f.cursors {
		f.cursors[i].reset()
		f.places[i] = -1
	}
}

// literal is the first place of any of the literals at or behind low.
func (f *finder) literal(text []byte, low int) int {
	first := nowhere
	for i := range f.m.need {
		if f.places[i] < low {
			f.places[i] = f.m.need[i].index(text, low, &f.cursors[i])
		}
		first = min(first, f.places[i])
	}
	return first
}

// next is the first line of text at or behind low, where a line begins, that may match; start is -1 for none.
func (f *finder) next(text []byte, low int) (start, end int) {
	m := f.m
	for low < len(text) {
		if m.need == nil || f.dense {
			return f.run(text, low)
		}
		at := f.literal(text, low)
		f.passed += min(at, len(text)) - low
		if at == nowhere {
			return -1, 0
		}
		start, end = lineAround(text, low, at)
		if m.exact {
			if !m.word || len(m.places(text[start:end], at-start, whole, 1, nil)) > 0 {
				return start, end
			}
			low = end + 1
			continue
		}
		f.tried++
		if f.tried > 64 && f.passed < densely*f.tried {
			f.dense = true
		}
		if f.automaton().Accepts(text[start:end], true) {
			return start, end
		}
		low = end + 1
		if !f.on(end - start) {
			break
		}
	}
	return -1, 0
}

// run is next by the automaton alone.
func (f *finder) run(text []byte, low int) (start, end int) {
	a := f.automaton()
	if !a.Lost() {
		if !f.loaded {
			f.base, f.loaded = low, true
			a.Load(text[low:], true)
		}
		at := a.Next(low - f.base)
		if at < 0 {
			return -1, 0
		}
		if !a.Lost() {
			return lineAround(text, low, f.base+at)
		}
	}
	return lineAround(text, low, low)
}

func (f *finder) automaton() *automaton.Automaton {
	if f.auto == nil {
		f.auto = automaton.New(f.m.filter, f.sizes.bounds, share)
		f.auto.On = f.on
	}
	return f.auto
}

// places are the matches of a pattern that is a literal in line[from:], at most n.
func (m *Matcher) places(line []byte, from int, b borders, n int, spans []Span) []Span {
	l := &m.need[0]
	var c cursor
	c.reset()
	for at := from; len(spans) < n && at <= len(line)-len(l.text); {
		if at = l.index(line, at, &c); at == nowhere {
			break
		}
		end := at + len(l.text)
		if m.word && !alone(line, at, end, b) {
			at++
			continue
		}
		spans = append(spans, Span{at, end})
		at = end
	}
	return spans
}

// alone reports that no word character stands beside line[start:end]. A border that is none of the line is beside none.
func alone(line []byte, start, end int, b borders) bool {
	if start == 0 && b&atBegin == 0 || end == len(line) && b&atEnd == 0 {
		return false
	}
	before, _ := utf8.DecodeLastRune(line[:start])
	after, _ := utf8.DecodeRune(line[end:])
	return (start == 0 || !wordRune(before)) && (end == len(line) || !wordRune(after))
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isWord[r]
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
