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

// What a form has room for.
const (
	askedFiles = 20
	askedDiff  = 4 << 10 // bytes
)

// Question is what a person reads who is asked to agree to a plan of this Desk: what happens to which file, and the diff as
// far as a form has room. What is left out is counted, before anything that is shown, and where it can be seen is said.
// Clients differ in what they show, so nothing in it may look like something else.
func (d *Desk) Question(p *Plan) string {
	return p.question(d.o.Pending != nil && d.o.Pending.Has(p.ID))
}

// question: kept tells that a person at a terminal finds the plan.
func (p *Plan) question(kept bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Change %s in project %s?\n", Counted(len(p.Files)), rootbound.Clean(string(p.Project)))
	files := p.Files[:min(len(p.Files), askedFiles)]
	shown, cut := cutLines(p.Diff, askedDiff)
	some, all := strings.Count(shown, "\n"), strings.Count(p.Diff, "\n")
	if cut || len(files) < len(p.Files) {
		fmt.Fprintf(&b, "This form shows a part: %d of %s, %d of %d lines of the diff. ", len(files), Counted(len(p.Files)), some, all)
		if kept {
			fmt.Fprintf(&b, "See all of it before you agree: rootbound patch show %s\n", p.ID)
		} else {
			b.WriteString("The rest can be seen nowhere here: agree only to what you would agree to unseen.\n")
		}
	}
	for _, file := range files {
		fmt.Fprintf(&b, "%s %s\n", file.Action, Visible(file.Path))
	}
	if n := len(p.Files) - len(files); n > 0 {
		fmt.Fprintf(&b, "… and %d more\n", n)
	}
	b.WriteByte('\n')
	for l := range strings.Lines(shown) {
		b.WriteString(Visible(strings.TrimSuffix(l, "\n")) + "\n")
	}
	if cut {
		fmt.Fprintf(&b, "… and %d more lines of the diff\n", all-some)
	}
	return b.String()
}
