package patch

import (
	"strings"
	"testing"
)

// What no screen shows is shown: a program reads it all the same.
func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                    "plain",
		"a\u3164b":                 `a\u{3164}b`, // a letter: an identifier in many languages
		"\uffa0\u115f\u1160":       `\u{ffa0}\u{115f}\u{1160}`,
		"x\ufe00\U000e0100\u034f.": `x\u{fe00}\u{e0100}\u{34f}.`, // bytes can be written in variation selectors
		"\u202eleft\x1b[2K\u200b":  `\u{202e}left\x1b[2K\u{200b}`,
		"\xff\u3164\xff":           `\xff\u{3164}\xff`,
		"日本語\u3000é":               "日本語\u3000é",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	p := &Plan{Project: "p", Files: []Planned{{Path: "a\u3164", Action: Writes}}, Diff: "+eval(\ufe01\U000e0101)\n"}
	if q := p.Question(); strings.ContainsAny(q, "\u3164\ufe01\U000e0101") || !strings.Contains(q, `+eval(\u{fe01}\u{e0101})`) {
		t.Errorf("%q", q)
	}
}
