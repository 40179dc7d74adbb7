package text

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
)

// maxCompared bounds the lines that are compared for a likeness, and alikeBytes what is looked at of each.
const (
	maxCompared = 200_000
	alikeBytes  = 240
)

// noMatch says where the text might have been meant: where its first lines stand and the next one differs, else the lines
// most like its first.
func noMatch(v view, lines []lineSpan, want [][]byte) error {
	m := &Misfit{}
	err := &rootbound.Error{Reason: rootbound.EditNoMatch, Err: m}
	for len(want) > 0 && len(bytes.TrimSpace(want[0])) == 0 {
		want = want[1:]
	}
	if len(want) == 0 {
		return err
	}
	trimmed := make([][]byte, len(want))
	for i, w := range want {
		trimmed[i] = bytes.TrimSpace(w)
	}
	lines = lines[:min(len(lines), maxCompared)]
	where := 0
	for i := range lines {
		if n := v.matched(lines[i:], trimmed); n > m.Matched && i+n < len(lines) {
			m.Matched, where = n, i+n
		}
	}
	if m.Matched > 0 {
		m.Near = []NearLine{v.near(lines, where)}
		return err
	}
	like := pairsOf(trimmed[0])
	type scored struct {
		line  int
		score float64
	}
	var best []scored
	for i, l := range lines {
		s := like.alike(bytes.TrimSpace(v.norm[l.start:l.end]))
		if s < 0.35 || len(best) == maxNear && s <= best[maxNear-1].score {
			continue
		}
		best = append(best, scored{i, s})
		sort.SliceStable(best, func(a, b int) bool { return best[a].score > best[b].score })
		best = best[:min(len(best), maxNear)]
	}
	for _, b := range best {
		if b.score < best[0].score*0.7 {
			break
		}
		m.Near = append(m.Near, v.near(lines, b.line))
	}
	return err
}

func (v view) near(lines []lineSpan, i int) NearLine {
	text := v.norm[lines[i].start:lines[i].end]
	if len(text) > maxLine {
		text = text[:WholeRunes(text[:maxLine])]
		return NearLine{i + 1, strings.ToValidUTF8(string(text), string(utf8.RuneError)) + "…"}
	}
	return NearLine{i + 1, strings.ToValidUTF8(string(text), string(utf8.RuneError))}
}

// pairs knows how often each pair of neighbouring bytes occurs in a line.
type pairs struct {
	id    *[1 << 16]uint8 // of a pair, 0 for none
	count [alikeBytes + 1]uint8
	total int
}

func pairsOf(line []byte) *pairs {
	line = line[:min(len(line), alikeBytes)]
	p := &pairs{id: new([1 << 16]uint8)}
	ids := uint8(0)
	for i := 1; i < len(line); i++ {
		k := &p.id[uint16(line[i-1])<<8|uint16(line[i])]
		if *k == 0 {
			ids++
			*k = ids
		}
		p.count[*k]++
		p.total++
	}
	return p
}

// alike is the share of pairs that both have, from 0 to 1.
func (p *pairs) alike(line []byte) float64 {
	line = line[:min(len(line), alikeBytes)]
	if p.total == 0 || len(line) < 2 {
		return 0
	}
	left := p.count
	both := 0
	for i := 1; i < len(line); i++ {
		if k := p.id[uint16(line[i-1])<<8|uint16(line[i])]; left[k] > 0 {
			left[k]--
			both++
		}
	}
	return 2 * float64(both) / float64(p.total+len(line)-1)
}
