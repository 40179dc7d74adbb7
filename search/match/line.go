package match

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// Span is a match inside its line, in bytes of the line. A column as editors and ripgrep count it is Start+1.
type Span struct{ Start, End int }

// Bounds of what is done at once, in bytes times instructions, and of what is looked for in one line.
const (
	light    = 1 << 18 // all matches in one call
	heavy    = 1 << 22 // a call that cannot be interrupted: some ten milliseconds
	maxSpans = 100
	near     = 8 << 10 // bytes: how far behind the first match of a long line further ones are looked for
)

// spans appends the matches in a text with the borders b to spans, at most 100 and without overlap, as regexp.FindAllIndex
// has them. In one above 8 KiB, or one that is long for the size of the pattern, only those near the first are looked for. It
// asks on now and then, and ends if it says no.
func (m *Matcher) spans(text []byte, b borders, spans []Span, on func(work int) bool) []Span {
	switch {
	case m.exact:
		return m.places(text, 0, b, maxSpans, spans)
	case m.engines.group[b] == 0 && len(text)*m.cost <= light:
		for _, loc := range m.engines.at(b).FindAllIndex(text, maxSpans) {
			spans = append(spans, Span{loc[0], loc[1]})
		}
		return spans
	}
	first, ok := m.first(text, b, on)
	if !ok {
		return spans
	}
	return m.rest(text, first, b, on, append(spans, first))
}

// first is the leftmost match in text.
func (m *Matcher) first(text []byte, b borders, on func(work int) bool) (Span, bool) {
	if len(text)*m.cost <= heavy {
		return m.engines.find(text, b)
	}
	r := &runes{text: text, cost: m.cost, on: on}
	s, ok := m.engines.read(r, b)
	return s, ok && !r.stopped
}

// runes gives a text to the engine character by character, and no more of it when it is told to end.
type runes struct {
	text    []byte
	at      int
	cost    int
	work    int
	on      func(work int) bool
	stopped bool
}

func (r *runes) ReadRune() (rune, int, error) {
	if r.work += r.cost; r.work > patience && r.on != nil {
		r.stopped = r.stopped || !r.on(r.work)
		r.work = 0
	}
	if r.stopped || r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRune(r.text[r.at:])
	r.at += n
	return c, n, nil
}

// borderAt are the borders of line[start:end], where the line has n bytes and the borders b.
func borderAt(b borders, start, end, n int) borders {
	if start > 0 {
		b &^= atBegin
	}
	if end < n {
		b &^= atEnd
	}
	return b
}

// quiet is the last place in (low, high] that has no ASCII word character on either side and splits no character, so that
// \b and \B mean the same on either side of a cut there; high if none is near.
func quiet(text []byte, low, high int) int {
	for i := high; i > low && i > high-1024; i-- {
		if i < len(text) && text[i] < utf8.RuneSelf && !isWord[text[i]] && !isWord[text[i-1]] {
			return i
		}
	}
	for i := high; i > low && i > high-utf8.UTFMax; i-- {
		if i < len(text) && utf8.RuneStart(text[i]) {
			return i
		}
	}
	return high
}

var isWord = func() (t [256]bool) {
	for c := range t {
		t[c] = c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' && c < utf8.RuneSelf
	}
	return t
}()

// rest appends the matches behind the first, as regexp.FindAllIndex would.
func (m *Matcher) rest(text []byte, first Span, b borders, on func(work int) bool, spans []Span) []Span {
	end := min(len(text), first.Start+min(near, heavy/m.cost))
	b = borderAt(b, 0, end, len(text))
	last := first.End // of a match: an empty one does not begin there
	n := len(spans) + maxSpans - 1
	for from := last; (from < end || from == end && end == len(text)) && len(spans) < n; {
		start, at := from, borderAt(b, from, end, end)
		if from > 0 && (m.word || m.filter.Words()) { // the character in front of a match decides
			_, w := utf8.DecodeLastRune(text[:from])
			start, at = from-w, at|behind
		}
		s, ok := m.engines.find(text[start:end], at)
		if !ok || on != nil && !on((end-start)*m.cost) {
			break
		}
		s = Span{s.Start + start, s.End + start}
		if s.Start == s.End && s.Start == last {
			if from == end {
				break
			}
			_, w := utf8.DecodeRune(text[from:])
			from += w
			continue
		}
		spans = append(spans, s)
		last = s.End
		from = s.End
	}
	return spans
}

// shown cuts a line to max bytes around its first match, at borders of characters.
func shown(line []byte, first Span, max int) (text []byte, at int) {
	if len(line) <= max {
		return line, 0
	}
	start := first.Start - (max-min(first.End-first.Start, max))/2
	start = min(start, len(line)-max)
	if start < 0 {
		start = 0
	}
	end := start + max
	for i := 0; i < utf8.UTFMax-1 && start > 0 && start < first.Start && !utf8.RuneStart(line[start]); i++ {
		start++
	}
	return head(line[start:end], end-start, end < len(line)), start
}

// head is the first max bytes of line, less what a cut leaves of a character at its end.
func head(line []byte, max int, more bool) []byte {
	if len(line) > max {
		line, more = line[:max], true
	}
	if !more {
		return line
	}
	for i := 1; i < utf8.UTFMax && i <= len(line); i++ {
		if c := line[len(line)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(line[len(line)-i:]) {
				line = line[:len(line)-i]
			}
			break
		}
	}
	return line
}

// lineAround are the borders of the line that position i of text lies in or ends; from is the beginning of a line before i.
func lineAround(text []byte, from, i int) (start, end int) {
	start = from + bytes.LastIndexByte(text[from:i], '\n') + 1
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		return start, i + n
	}
	return start, len(text)
}
