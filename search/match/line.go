package match

import (
	"bytes"
	"unicode/utf8"
)

// Span is a match inside its line, in bytes of the line. A column as editors and ripgrep count it is Start+1.
type Span struct{ Start, End int }

// Bounds of what one call of the standard engine may cost: it cannot be interrupted.
const (
	maxWork  = 4 << 20 // bytes times instructions
	minPart  = 1 << 10
	maxPart  = 256 << 10
	maxSpans = 100     // of one line
	near     = 8 << 10 // bytes: how far behind the first match of a long line further ones are looked for
)

// part is how much of a line the engine gets at once.
func (m *Matcher) part() int { return min(max(maxWork/m.cost, minPart), maxPart) }

// Line appends the matches of a line to spans, at most 100 and without overlap, as regexp.FindAllIndex has them. Of a line
// above 8 KiB they begin at most 8 KiB behind the first. inParts tells that the line is so long for the pattern that it was
// searched in overlapping parts.
func (m *Matcher) Line(line []byte, spans []Span) (_ []Span, inParts bool) {
	return m.spans(line, whole, spans, nil)
}

// spans is Line for a text with the borders b. It asks on between calls of the engine, and ends without a match if it says no.
func (m *Matcher) spans(text []byte, b borders, spans []Span, on func(work int) bool) (_ []Span, inParts bool) {
	switch {
	case m.exact:
		return m.places(text, 0, b, maxSpans, spans), false
	case m.engines.group == 0 && len(text) <= min(near, m.part()):
		for _, loc := range m.engines.at(b).FindAllIndex(text, maxSpans) {
			spans = append(spans, Span{loc[0], loc[1]})
		}
		return spans, false
	}
	first, ok, inParts := m.first(text, b, on)
	if !ok {
		return spans, inParts
	}
	end := min(len(text), first.Start+near)
	return m.rest(text[:end], first, borderAt(b, 0, end, len(text)), spans), inParts
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

// first is the leftmost match in text. Where the text is too long for one call, it is the leftmost in the first part that
// has any; a match longer than the overlap, a quarter of a part, may be missed or cut short.
func (m *Matcher) first(text []byte, b borders, on func(work int) bool) (s Span, ok, inParts bool) {
	size := m.part()
	if len(text) <= size {
		s, ok = m.engines.find(text, b)
		return s, ok, false
	}
	for start := 0; ; {
		end := min(start+size, len(text))
		if end < len(text) {
			end = quiet(text, start+size/2, end)
		}
		if s, ok = m.engines.find(text[start:end], borderAt(b, start, end, len(text))); ok {
			return Span{s.Start + start, s.End + start}, true, true
		}
		if end == len(text) || on != nil && !on(m.cost*(end-start)) {
			return Span{}, false, true
		}
		start = quiet(text, start+1, end-size/4)
	}
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

// rest appends first and the matches behind it in text, where the first may end behind it.
func (m *Matcher) rest(text []byte, first Span, b borders, spans []Span) []Span {
	if m.engines.group == 0 {
		spans = append(spans, first)
		if first.End >= len(text) {
			return spans
		}
		for _, loc := range m.engines.at(b).FindAllIndex(text, maxSpans) {
			if s := (Span{loc[0], loc[1]}); s.Start > first.End || s.Start == first.End && s.End > s.Start {
				spans = append(spans, s)
			}
		}
		return spans
	}
	n := maxSpans
	for s, from := first, 0; ; {
		spans = append(spans, s)
		if n--; n <= 0 || s.End >= len(text) {
			return spans
		}
		// The character before the next match stands in front of it, and may be the last one of this match.
		from = s.End
		if s.End > 0 {
			_, w := utf8.DecodeLastRune(text[:s.End])
			from -= w
		}
		for {
			next, ok := m.engines.find(text[from:], b&^atBegin)
			if !ok {
				return spans
			}
			next = Span{next.Start + from, next.End + from}
			if next.Start == next.End && next.Start == s.End { // empty beside the last match: as FindAll, look further on
				from = s.End
				if from >= len(text) {
					return spans
				}
				continue
			}
			s = next
			break
		}
	}
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
