package show

import (
	"strconv"
	"strings"

	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/search"
	"github.com/rootbound/rootbound/search/match"
)

// found is one line in structured data.
type found struct {
	Path    string    `json:"path"`
	Line    int       `json:"line"`
	Column  int       `json:"column"`
	Columns []columns `json:"columns"`
	Offset  int64     `json:"offset"`
	Text    string    `json:"text"`
	At      int       `json:"at,omitempty"`
	Cut     bool      `json:"cut,omitempty"`
	Before  []string  `json:"before,omitempty"`
	After   []string  `json:"after,omitempty"`
}

type columns struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// lineCut stands behind a line in the text that is not all of it.
const lineCut = " [line cut]"

// Matches writes lines as grep does, with "--" between groups where context was asked for, and their twins in structured
// data. They are bounded by the search that found them.
func Matches(r *wire.Reply, sent string, files []search.FileHits, grouped bool) {
	var b strings.Builder
	list := []found{}
	for _, f := range files {
		path := Join(sent, f.Path)
		end := 0 // line behind the last one of this file that was shown
		for i := range f.Hits {
			h := &f.Hits[i]
			first := h.Line - len(h.Before)
			if grouped && len(list) > 0 && first != end {
				b.WriteString("\n--")
			}
			for k, text := range h.Before {
				line(&b, path, '-', first+k, text, false)
			}
			line(&b, path, ':', h.Line, h.Text, h.Cut)
			for k, text := range h.After {
				line(&b, path, '-', h.Line+1+k, text, false)
			}
			end = h.Line + len(h.After) + 1
			list = append(list, structured(h, path))
		}
	}
	r.Text = b.String()
	r.Add("matches", list)
}

// line writes one line of the text; a byte that is no UTF-8 becomes U+FFFD, as in all text.
func line(b *strings.Builder, path string, mark byte, number int, text string, cut bool) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(path)
	b.WriteByte(mark)
	b.WriteString(strconv.Itoa(number))
	b.WriteByte(mark)
	b.WriteString(strings.ToValidUTF8(strings.TrimSuffix(text, "\r"), "\ufffd"))
	if cut {
		b.WriteString(lineCut)
	}
}

func structured(h *match.Hit, path string) found {
	out := found{Path: path, Line: h.Line, Columns: []columns{}, Offset: h.Offset, Text: h.Text, At: h.At, Cut: h.Cut, Before: h.Before, After: h.After}
	for i, s := range h.Spans {
		if i == 0 {
			out.Column = s.Start + 1
		}
		out.Columns = append(out.Columns, columns{s.Start + 1, s.End + 1})
	}
	return out
}
