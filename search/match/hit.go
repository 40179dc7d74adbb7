package match

import "bytes"

// Hit is a line with a match, and the lines around it. Its strings hold the file's bytes as they are, without "\n"; they
// may be invalid UTF-8. No line is given twice: Before begins behind what the hit before gave, and After ends before the
// next hit, so hits in their order are what grep -C prints.
type Hit struct {
	Line   int    // number of the line, from 1
	Offset int64  // of the line's first byte: in the file, or in the decoded text if the file is UTF-16
	Text   string // the line, or what MaxLine leaves of it around the first match
	At     int    // where Text begins in the line, in bytes
	Cut    bool   // Text is not the whole line
	Spans  []Span // the matches that begin in Text, in bytes of the line; at most 100
	Before []string
	After  []string
}

// found takes the line [start, end) as a hit.
func (s *scan) found(text []byte, start, end int, spans []Span) {
	h := Hit{Line: s.number(start), Offset: s.base + int64(start)}
	s.show(&h, text[start:end], 0, spans)
	s.take(h, text, start, end)
}

// show fills in the text of a hit. line begins at byte at of its line, which the spans do not count.
func (s *scan) show(h *Hit, line []byte, at int, spans []Span) {
	shownText, from := shown(line, spans[0], s.o.MaxLine)
	h.Text, h.At = string(shownText), at+from
	h.Cut = at > 0 || len(shownText) < len(line)
	kept := spans[:1]
	for _, sp := range spans[1:] {
		if sp.Start < from+len(shownText) || from+len(shownText) == len(line) {
			kept = append(kept, sp)
		}
	}
	for i := range kept {
		kept[i].Start += at
		kept[i].End += at
	}
	h.Spans = kept
}

// take gives the hit that waited, and lets this one wait for the lines behind it if they are wanted.
func (s *scan) take(h Hit, text []byte, start, end int) {
	s.stats.Hits++
	if s.o.MaxHits > 0 && s.stats.Hits >= s.o.MaxHits {
		s.full, s.stats.Full = true, true
	}
	if s.o.Context == 0 {
		s.give(h)
		s.done = s.done || s.full
		return
	}
	s.after(text, start)
	s.flush()
	if s.done {
		return
	}
	h.Before = s.before(text, start)
	s.last, s.waiting, s.need = h, true, s.o.Context
	s.next, s.given = end+1, end+1
}

// before are the lines in front of start that were not given yet.
func (s *scan) before(text []byte, start int) []string {
	at := start
	n := 0
	for ; n < s.o.Context && at > s.given; n++ {
		at = bytes.LastIndexByte(text[s.given:at-1], '\n') + 1 + s.given
	}
	if n == 0 {
		return nil
	}
	out := make([]string, 0, n)
	for at < start {
		_, end := lineAround(text, at, at)
		out = append(out, string(head(text[at:end], s.o.MaxLine, false)))
		at = end + 1
	}
	return out
}

// after hands lines in front of end to the hit that waits for them.
func (s *scan) after(text []byte, end int) {
	for s.waiting && s.need > 0 && s.next < end {
		_, stop := lineAround(text, s.next, s.next)
		s.last.After = append(s.last.After, string(head(text[s.next:stop], s.o.MaxLine, false)))
		s.next = stop + 1
		s.given = s.next
		s.need--
	}
	if s.waiting && s.need == 0 {
		s.flush()
	}
}

// flush gives the hit that waits.
func (s *scan) flush() {
	if s.waiting {
		s.waiting = false
		s.give(s.last)
		s.last = Hit{}
		s.done = s.done || s.full
	}
}

func (s *scan) give(h Hit) {
	if !s.done && !s.hit(h) {
		s.done, s.stats.Full = true, true
	}
}
