package text

import (
	"bytes"
	"sort"
)

// view is a text with every line ending as "\n", and the way back to the bytes it came from.
type view struct {
	raw  []byte
	norm []byte
	crlf []int // positions in norm of the newlines that are "\r\n" in raw

	asked, next int // around's last question and the newline behind it, so that many places in one long line cost one look
}

func viewOf(raw []byte) view {
	v := view{raw: raw, norm: raw}
	first := bytes.Index(raw, []byte("\r\n"))
	if first < 0 {
		return v
	}
	v.norm = append(make([]byte, 0, len(raw)), raw[:first]...)
	for rest := raw[first:]; ; {
		// rest begins with "\r\n"
		v.crlf = append(v.crlf, len(v.norm))
		rest = rest[1:]
		i := bytes.Index(rest, []byte("\r\n"))
		if i < 0 {
			v.norm = append(v.norm, rest...)
			return v
		}
		v.norm = append(v.norm, rest[:i]...)
		rest = rest[i:]
	}
}

// offset in raw of position p in norm.
func (v view) offset(p int) int { return p + sort.SearchInts(v.crlf, p) }

// line number of position p in norm, counted from 1.
func (v view) line(p int) int { return 1 + bytes.Count(v.norm[:p], []byte{'\n'}) }

// ending of the newline at position p in norm.
func (v view) ending(p int) string {
	if i := sort.SearchInts(v.crlf, p); i < len(v.crlf) && v.crlf[i] == p {
		return "\r\n"
	}
	return "\n"
}

// around is the ending of the line that position p lies in, else of the last line. Positions asked for rise.
func (v *view) around(p int) string {
	if len(v.crlf) == 0 {
		return "\n"
	}
	if v.asked == 0 || v.next < p {
		v.next = len(v.norm)
		if i := bytes.IndexByte(v.norm[p:], '\n'); i >= 0 {
			v.next = p + i
		}
	}
	v.asked = max(p, 1)
	if v.next == len(v.norm) {
		return v.ending(bytes.LastIndexByte(v.norm, '\n'))
	}
	return v.ending(v.next)
}

// appendText writes text, which takes the place of norm[from:to], with the line endings of what it replaces, one by one,
// then with the ending of the last, and where nothing of it ends a line with that of the surrounding lines.
func (v *view) appendText(out, text []byte, from, to int) []byte {
	end := ""
	for {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return append(out, text...)
		}
		if j := bytes.IndexByte(v.norm[from:to], '\n'); j >= 0 {
			end = v.ending(from + j)
			from += j + 1
		} else if end == "" {
			end = v.around(to)
		}
		out = append(out, text[:i]...)
		out = append(out, end...)
		text = text[i+1:]
	}
}
