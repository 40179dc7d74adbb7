package patch

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
	if q := NewDesk(DeskOptions{}).Question(p); strings.ContainsAny(q, "\u3164\ufe01\U000e0101") || !strings.Contains(q, `+eval(\u{fe01}\u{e0101})`) {
		t.Errorf("%q", q)
	}
}

// pile keeps what waits.
type pile map[string]bool

func (p pile) Put(id string, _ time.Time, _ []byte) error { p[id] = true; return nil }
func (p pile) Drop(id string) error                       { delete(p, id); return nil }
func (p pile) Has(id string) bool                         { return p[id] }

// A person who is asked is told, before the parts that are shown, how much is not, and where all of it is. A plan that is
// shown whole says nothing of the kind.
func TestQuestionTellsWhatItLeavesOut(t *testing.T) {
	plan := func(files, lines int, line string) *Plan {
		p := &Plan{Project: "p", ID: "4fwz27d3ka"}
		for n := range files {
			p.Files = append(p.Files, Planned{Path: fmt.Sprintf("f%d", n), Action: Writes})
		}
		p.Diff = strings.Repeat(line+"\n", lines)
		return p
	}
	kept := NewDesk(DeskOptions{Pending: pile{"4fwz27d3ka": true}})
	for _, c := range []struct {
		name  string
		p     *Plan
		part  string
		tails []string
	}{
		{"whole", plan(20, 100, "+x"), "", nil},
		{"files", plan(21, 100, "+x"), "20 of 21 files, 100 of 100 lines", []string{"… and 1 more\n"}},
		{"lines", plan(1, 5000, "+x"), "1 of 1 file, 1365 of 5000 lines", []string{"… and 3635 more lines of the diff\n"}},
		{"both", plan(50, 5000, "+x"), "20 of 50 files, 1365 of 5000 lines", []string{"… and 30 more\n", "… and 3635 more lines of the diff\n"}},
		{"one line", plan(1, 1, strings.Repeat("x", 5000)), "1 of 1 file, 0 of 1 lines", []string{"… and 1 more lines of the diff\n"}},
	} {
		for desk, told := range map[*Desk]string{
			kept:                                  "See all of it before you agree: rootbound patch show 4fwz27d3ka\n",
			NewDesk(DeskOptions{}):                "The rest can be seen nowhere here",
			NewDesk(DeskOptions{Pending: pile{}}): "The rest can be seen nowhere here",
		} {
			q := desk.Question(c.p)
			if c.part == "" {
				if strings.Contains(q, "part") || strings.Contains(q, "…") {
					t.Errorf("%s: %s", c.name, q)
				}
				continue
			}
			lines := strings.SplitN(q, "\n", 3)
			if !strings.Contains(lines[1], c.part) || !strings.Contains(lines[1]+"\n", told) {
				t.Errorf("%s: %q", c.name, lines[1])
			}
			for _, tail := range c.tails {
				if !strings.Contains(q, tail) {
					t.Errorf("%s: %q is missing: %s", c.name, tail, q)
				}
			}
		}
	}
}
