package text

import (
	"bytes"
	"strings"

	"github.com/rootbound/rootbound"
)

// maxLoose is more than any indentation that is compared.
const maxLoose = 1 << 29

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
		m := &Misfit{Count: len(hits), more: len(hits) > maxShown}
		for _, h := range hits[:min(len(hits), maxShown)] {
			m.Lines, m.times = append(m.Lines, h+1), append(m.times, 1)
		}
		return nil, Applied{}, &rootbound.Error{Reason: rootbound.EditAmbiguous, Detail: "only when blanks at the ends of lines are ignored", Err: m,
			Next: "Send the text exactly as it stands in the file, long enough to occur once."}
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
		text = append(text, in.shift(l, head+i)...)
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

// indents maps the caller's indentations to the file's, line by line of what he sent as old.
type indents struct {
	pairs  []indentPair
	spaces int // the caller's blanks that stand for one tab of the file; negative: the file's for one tab of his
}

type indentPair struct {
	line         int
	caller, file string
}

func indentsOf(v view, lines []lineSpan, want [][]byte) indents {
	var in indents
	for k, w := range want {
		if len(bytes.TrimSpace(w)) == 0 {
			continue
		}
		p := indentPair{k, indentation(w), indentation(v.norm[lines[k].start:lines[k].end])}
		in.pairs = append(in.pairs, p)
		if in.spaces == 0 && p.caller != "" && p.file != "" {
			switch {
			case only(p.caller, ' ') && only(p.file, '\t'):
				in.spaces = max(1, len(p.caller)/len(p.file))
			case only(p.caller, '\t') && only(p.file, ' '):
				in.spaces = -max(1, len(p.file)/len(p.caller))
			}
		}
	}
	return in
}

// shift gives a line of the caller, which takes the place of old line number near, the file's indentation.
func (in indents) shift(line []byte, near int) []byte {
	c := indentation(line)
	rest := line[len(c):]
	if len(rest) == 0 {
		return nil
	}
	return append([]byte(in.of(c, near)), rest...)
}

// of takes the pair whose caller's side is c, else the longest within c, else the shortest beyond it; among equals the
// one nearest to the line.
func (in indents) of(c string, near int) string {
	var best indentPair
	rank := func(p indentPair) int {
		switch {
		case strings.HasPrefix(c, p.caller):
			return 2*maxLoose - (len(c) - len(p.caller))
		case strings.HasPrefix(p.caller, c):
			return maxLoose - (len(p.caller) - len(c))
		}
		return 0
	}
	most := 0
	for _, p := range in.pairs {
		r := rank(p)
		if r > most || r > 0 && r == most && distance(p.line, near) < distance(best.line, near) {
			best, most = p, r
		}
	}
	switch {
	case most == 0:
		return c
	case len(best.caller) <= len(c):
		return best.file + in.convert(c[len(best.caller):])
	}
	gone := len(in.convert(best.caller[len(c):]))
	return best.file[:max(0, len(best.file)-gone)]
}

func distance(a, b int) int { return max(a-b, b-a) }

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
