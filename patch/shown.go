package patch

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
)

// Shown is the plan's diff in a fenced block, for whoever proposed it. It takes about limit bytes; cut says that the rest
// of it is missing.
func (p *Plan) Shown(limit int) (text string, cut bool) {
	body, cut := cutLines(p.Diff, limit)
	fence := strings.Repeat("`", max(3, backticks(body)+1))
	return fence + "diff\n" + body + fence + "\n\n", cut
}

// Next says what a plan is and how it goes on.
func (i Issued) Next(p *Plan) string {
	s := "Plan " + p.ID + ": " + Counted(len(p.Files)) + ". Nothing was changed yet. "
	if !i.Waits {
		return s + "Apply it with apply_patch within 15 minutes."
	}
	s += "A person has to agree within 15 minutes: "
	terminal := "rootbound patch show " + p.ID + ", then rootbound patch apply " + p.ID
	switch {
	case i.Visible && i.Asks:
		return s + terminal + "; or apply_patch, if the client can ask its user."
	case i.Visible:
		return s + terminal + "."
	case i.Asks:
		return s + "apply_patch, if the client can ask its user. Nothing is kept for the terminal here."
	}
	return s + "but nothing is kept for the terminal here."
}

// Counted is a number of files in words.
func Counted(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// cutLines is s up to the last line end within limit bytes.
func cutLines(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	return s[:strings.LastIndexByte(s[:limit], '\n')+1], true
}

// backticks is the longest run of them.
func backticks(s string) int {
	best, n := 0, 0
	for _, c := range []byte(s) {
		if c != '`' {
			n = 0
			continue
		}
		n++
		best = max(best, n)
	}
	return best
}

// Visible is rootbound.Clean for what a person agrees to. It escapes, beside what Clean does, letters and marks that no
// screen shows (default ignorable: Unicode Standard 5.21), in which text that a program reads could be hidden.
func Visible(s string) string {
	at := strings.IndexFunc(s, ignorable)
	if at < 0 {
		return rootbound.Clean(s)
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexFunc(s, ignorable) {
		b.WriteString(rootbound.Clean(s[:at]))
		r, n := utf8.DecodeRuneInString(s[at:])
		fmt.Fprintf(&b, `\u{%x}`, r)
		s = s[at+n:]
	}
	return b.String() + rootbound.Clean(s)
}

func ignorable(r rune) bool {
	return r >= 0x80 && unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Question is what a person reads who is asked to agree: what happens to which file, and the diff as far as a form has room.
// Clients differ in what they show, so nothing in it may look like something else.
func (p *Plan) Question() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Change %s in project %s?\n", Counted(len(p.Files)), rootbound.Clean(string(p.Project)))
	for n, file := range p.Files {
		if n == 20 {
			fmt.Fprintf(&b, "… and %d more\n", len(p.Files)-n)
			break
		}
		fmt.Fprintf(&b, "%s %s\n", file.Action, Visible(file.Path))
	}
	shown, cut := cutLines(p.Diff, 4<<10)
	b.WriteByte('\n')
	for l := range strings.Lines(shown) {
		b.WriteString(Visible(strings.TrimSuffix(l, "\n")) + "\n")
	}
	if cut {
		fmt.Fprintf(&b, "… the rest: rootbound patch show %s\n", p.ID)
	}
	return b.String()
}
