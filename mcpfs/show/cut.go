package show

import (
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/search"
)

// Counted is a number of things in words.
func Counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// CutText says in the last line that the text was cut and how to go on. lines names the argument that bounds how many
// lines there are; empty: none does.
func CutText(text string, t fileop.Text, lines string) (string, map[string]any) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	where, key, value := fmt.Sprintf("[cut at byte %d of a file of %d bytes", t.NextByte, t.Size), "offset", t.NextByte
	switch {
	case t.Front: // the last lines: what was cut lies in front
		where, value = fmt.Sprintf("[cut: these lines begin at byte %d of a file of %d bytes; those before them are to come", t.Offset, t.Size), t.Offset
	case t.NextLine > 0:
		where, key, value = fmt.Sprintf("[cut before line %d of a file of %d bytes", t.NextLine, t.Size), "line", t.NextLine
	}
	next := map[string]any{key: value}
	text += fmt.Sprintf("%s; go on with %s: %d", where, key, value)
	if lines != "" && t.Left > 0 {
		next[lines] = t.Left
		text += fmt.Sprintf(" and %s: %d", lines, t.Left)
	}
	return text + "]", next
}

// Skipped says what a walk could not read: in structured data and in a block of its own.
func Skipped(r *wire.Reply, sent string, s fileop.Skipped) {
	places := make([]search.Skip, len(s.Paths))
	for i, p := range s.Paths {
		places[i] = search.Skip{Path: p, Reason: rootbound.IOError}
	}
	leftOut(r, sent, "could not be read", places, s.Count)
}

// Unsearched says what a search of contents did not read, or not to its end, and why.
func Unsearched(r *wire.Reply, sent string, places []search.Skip, count int) {
	leftOut(r, sent, "were not searched to their end", places, count)
}

func leftOut(r *wire.Reply, sent, what string, places []search.Skip, count int) {
	if count == 0 {
		return
	}
	list := []map[string]string{}
	text := "[" + Counted(count, "place ", "places ") + what + ":"
	for i, p := range places {
		shown := Join(sent, p.Path)
		list = append(list, map[string]string{"path": shown, "reason": string(p.Reason)})
		if i < 5 {
			text += " " + rootbound.Quote(shown)
			if p.Reason != rootbound.IOError {
				text += " (" + p.Reason.Meaning() + ")"
			}
		}
	}
	if count > 5 {
		text += " …"
	}
	r.Add("skipped", list)
	r.Blocks = append(r.Blocks, text+"]")
}
