package rootbound

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated documents anew")

// TestReasonsDoc keeps docs/reasons.md equal to the registry.
func TestReasonsDoc(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Reasons\n\nGenerated from the registry in `reason.go` by `make docs`; do not edit.\n\n" +
		"Every refusal carries one reason. The list only grows: a reason keeps its name and its meaning. A finer word may stand beside it\n" +
		"as *detail*. Programs branch on the reason, people read the two sentences.\n\n| reason | why | what to do next |\n|---|---|---|\n")
	for _, r := range Reasons() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r, r.Meaning(), r.Next())
	}
	const file = "docs/reasons.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != b.String() {
		t.Errorf("%s is stale: run make docs (%v)", file, err)
	}
}

// TestEveryReasonHasSomebodyToMendIt compares the table of docs/serve.md with the registry: each reason once, and no other word.
func TestEveryReasonHasSomebodyToMendIt(t *testing.T) {
	page, err := os.ReadFile("docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n| who | reasons |\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	times := map[string]int{}
	for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(table, -1) {
		times[m[1]]++
	}
	for _, r := range Reasons() {
		if n := times[string(r)]; n != 1 {
			t.Errorf("%s stands there %d times", r, n)
		}
		delete(times, string(r))
	}
	if len(times) != 0 {
		t.Errorf("no reasons: %v", times)
	}
}
