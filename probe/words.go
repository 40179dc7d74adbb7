package probe

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/rootbound/rootbound/probe/profile"
)

// lastLines are the last lines of what a server wrote, without what steers a terminal: at most 20, of at most 200 bytes.
func lastLines(s string) (lines []string) {
	const most, width = 20, 200
	for line := range strings.Lines(s) {
		line = strings.ToValidUTF8(line, "·")
		line = strings.Map(func(r rune) rune {
			if r == '\t' {
				return ' '
			}
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				return '·'
			}
			return r
		}, strings.TrimRightFunc(line, unicode.IsSpace))
		if len(line) > width {
			line = strings.ToValidUTF8(line[:width], "") + "…"
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-most):]
}

// notUnderstood says what is there, and how a profile says what it is for.
func notUnderstood(tools []profile.Tool) string {
	const most = 8
	text := "it offers no tools"
	name, argument := "NAME", "ARGUMENT"
	if len(tools) > 0 {
		text = "none of its tools is understood:"
		for i, t := range tools {
			if i == most {
				text += fmt.Sprintf(" and %d more", len(tools)-most)
				break
			}
			text += " " + word(t.Name)
			if needs := t.InputSchema.Required; len(needs) > 0 {
				text += "(" + word(strings.Join(needs, ", ")) + ")"
			}
		}
		name = word(tools[0].Name)
		if needs := tools[0].InputSchema.Required; len(needs) > 0 {
			argument = word(needs[0])
		}
	}
	return text + `. Write a profile, which says what tool reads, lists or writes and where the path goes, and give it with --profile FILE (a Go test: Server.Profile), such as
  ops:
    read: {tool: ` + name + `, args: {` + argument + `: "{path}"}}
docs/probe.md, "Which tool does what", has all operations and values`
}

// word is a server's word, as far as it is needed to recognise it.
func word(s string) string {
	if lines := lastLines(s); len(lines) > 0 {
		s = lines[len(lines)-1]
	}
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
