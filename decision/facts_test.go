package decision

import (
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

func TestFacts(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "",
		"3 places":          "3 places",
		`line 1 is "x"`:     `line 1 is "…"`,
		`"a" and "b\"c", d`: `"…" and "…", d`,
		`cut "short`:        `cut "…"`,
		`cut "short\`:       `cut "…"`,
		`""`:                `"…"`,
	} {
		if got := Facts(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// FuzzFacts: nothing that was quoted gets through.
func FuzzFacts(f *testing.F) {
	f.Add("plain", `\`)
	f.Add(`a"b`, "\xff\n")
	f.Fuzz(func(t *testing.T, first, second string) {
		detail := "1: " + rootbound.Quote(first) + "; 2: " + rootbound.Quote(second)
		cut := strings.ReplaceAll(detail, `"…`, `"`) // Quote marks what it cut behind the closing quote
		if got := strings.ReplaceAll(Facts(cut), `"…"`, ""); got != "1: ; 2: " {
			t.Errorf("%s: %s", cut, got)
		}
	})
}
