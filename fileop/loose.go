package fileop

import (
	"bytes"
	"strings"

	"github.com/rootbound/rootbound"
)

// lineSpan is a line of a view: norm[start:end] without its newline.
type lineSpan struct{ start, end int }

func (v view) lines() []lineSpan {
	out := make([]lineSpan, 0, 1+bytes.Count(v.norm, []byte{'\n'}))
	for start := 0; ; {
		i := bytes.IndexByte(v.norm[start:], '\n')
		if i < 0 {
			if start < len(v.norm) || len(out) == 0 {
				out = append(out, lineSpan{start, len(v.norm)})
			}
			return out
		}
		out = append(out, lineSpan{start, start + i})
		start += i + 1
	}
}

// applyLoosely is the fallback for text that does not occur: whole lines, blanks at both their ends ignored. It takes a
// single hit only. Lines that the caller keeps keep their bytes; new ones get the file's indentation, shifted as the
// caller shifted his own.
func applyLoosely(v view, old, new []byte, limit int64) ([]byte, Applied, error) {
	lines := v.lines()
	body, ended := bytes.CutSuffix(old, []byte{'\n'})
	want := bytes.Split(body, []byte{'\n'})
	var repl [][]byte
	switch {
	case ended && len(new) == 0:
	case ended:
		repl = bytes.Split(bytes.TrimSuffix(new, []byte{'\n'}), []byte{'\n'})
	default:
		repl = bytes.Split(new, []byte{'\n'})
	}
	hits := looseHits(v, lines, want)
	switch len(hits) {
	case 0:
		return nil, Applied{}, noMatch(v, lines, want)
	case 1:
	default:
		m := &Misfit{Count: len(hits)}
		for _, h := range hits[:min(len(hits), maxShown)] {
			m.Lines = append(m.Lines, h+1)
		}
		return nil, Applied{}, &rootbound.Error{Reason: rootbound.EditAmbiguous, Detail: "only when blanks at the ends of lines are ignored", Err: m,
			Next: "Send oldText exactly as it stands in the file, long enough to occur once."}
	}
	hit := hits[0]
	in := indentsOf(v, lines[hit:], want)

	// what the caller repeats unchanged is not touched
	head := 0
	for head < len(want) && head < len(repl) && bytes.Equal(want[head], repl[head]) {
		head++
	}
	tail := 0
	for tail < len(want)-head && tail < len(repl)-head && bytes.Equal(want[len(want)-1-tail], repl[len(repl)-1-tail]) {
		tail++
	}
	gone := lines[hit+head : hit+len(want)-tail]
	come := repl[head : len(repl)-tail]
	var text []byte
	for i, l := range come {
		if i > 0 {
			text = append(text, '\n')
		}
		text = append(text, in.shift(l)...)
	}
	var from, to int
	switch {
	case len(gone) == 0 && tail > 0: // in front of a kept line
		from = lines[hit+head].start
		to, text = from, append(text, '\n')
	case len(gone) == 0: // behind the last kept line
		from = lines[hit+head-1].end
		to, text = from, append([]byte{'\n'}, text...)
	case len(come) == 0: // with their newlines
		from, to = gone[0].start, min(gone[len(gone)-1].end+1, len(v.norm))
	default:
		from, to = gone[0].start, gone[len(gone)-1].end
	}
	if len(gone) == 0 && len(come) == 0 {
		from, to, text = 0, 0, nil
	}
	out := append(make([]byte, 0, len(v.raw)+len(text)), v.raw[:v.offset(from)]...)
	out = v.appendText(out, text, from, to)
	out = append(out, v.raw[v.offset(to):]...)
	if int64(len(out)) > limit {
		return nil, Applied{}, tooLarge(int64(len(out)), limit)
	}
	return out, Applied{Line: hit + 1, Count: 1, BlanksIgnored: true}, nil
}

// looseHits are the lines where want stands if blanks at the ends of lines are ignored, none for text of blanks only.
func looseHits(v view, lines []lineSpan, want [][]byte) []int {
	trimmed := make([][]byte, len(want))
	solid := false
	for i, w := range want {
		trimmed[i] = bytes.TrimSpace(w)
		solid = solid || len(trimmed[i]) > 0
	}
	if !solid {
		return nil
	}
	var hits []int
	for i := 0; i+len(trimmed) <= len(lines) && len(hits) < maxPlaces; i++ {
		if v.matched(lines[i:], trimmed) == len(trimmed) {
			hits = append(hits, i)
		}
	}
	return hits
}

// matched counts the leading lines of want, trimmed, that lines begin with.
func (v view) matched(lines []lineSpan, want [][]byte) int {
	for k, w := range want {
		if k == len(lines) || !bytes.Equal(bytes.TrimSpace(v.norm[lines[k].start:lines[k].end]), w) {
			return k
		}
	}
	return len(want)
}

// indents maps the caller's indentations to the file's.
type indents struct {
	caller, file []string
	spaces       int // the caller's blanks that stand for one tab of the file; negative: the file's for one tab of his
}

func indentsOf(v view, lines []lineSpan, want [][]byte) indents {
	var in indents
	for k, w := range want {
		if len(bytes.TrimSpace(w)) == 0 {
			continue
		}
		c := indentation(w)
		f := indentation(v.norm[lines[k].start:lines[k].end])
		in.caller, in.file = append(in.caller, c), append(in.file, f)
		if in.spaces == 0 && c != "" && f != "" {
			switch {
			case only(c, ' ') && only(f, '\t'):
				in.spaces = max(1, len(c)/len(f))
			case only(c, '\t') && only(f, ' '):
				in.spaces = -max(1, len(f)/len(c))
			}
		}
	}
	return in
}

// shift gives a line of the caller the file's indentation.
func (in indents) shift(line []byte) []byte {
	c := indentation(line)
	rest := line[len(c):]
	if len(rest) == 0 {
		return nil
	}
	return append([]byte(in.of(c)), rest...)
}

func (in indents) of(c string) string {
	under, over := -1, -1 // the caller's longest indentation within c, and his shortest beyond it
	for i, k := range in.caller {
		switch {
		case k == c:
			return in.file[i]
		case strings.HasPrefix(c, k):
			if under < 0 || len(k) > len(in.caller[under]) {
				under = i
			}
		case strings.HasPrefix(k, c):
			if over < 0 || len(k) < len(in.caller[over]) {
				over = i
			}
		}
	}
	switch {
	case under >= 0:
		return in.file[under] + in.convert(c[len(in.caller[under]):])
	case over >= 0:
		f := in.file[over]
		return f[:max(0, len(f)-len(in.convert(in.caller[over][len(c):])))]
	}
	return c
}

// convert writes an indentation of the caller in the file's characters, as far as they are known.
func (in indents) convert(s string) string {
	switch {
	case in.spaces > 0 && only(s, ' '):
		return strings.Repeat("\t", len(s)/in.spaces) + strings.Repeat(" ", len(s)%in.spaces)
	case in.spaces < 0 && only(s, '\t'):
		return strings.Repeat(" ", len(s)*-in.spaces)
	}
	return s
}

func indentation(line []byte) string {
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func only(s string, c byte) bool { return strings.Trim(s, string(c)) == "" }
