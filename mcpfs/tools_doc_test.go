package mcpfs

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated documents anew")

// TestToolsDoc keeps docs/tools.md equal to the tools.
func TestToolsDoc(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Tools

Generated from the tool table in ` + "`mcpfs/table.go` by `make docs`" + `; do not edit.

The server tells its clients:

> ` + Instructions + `

Every answer carries one text block and, as ` + "`structuredContent.content`" + `, the same text. A refused call has ` + "`isError: true`" + `, the reason in
its text and in ` + "`structuredContent.error`" + `: ` + "`reason` ([reasons](reasons.md)), `detail`, `operation`, `path` as sent, `root`, `retryable`, `decision_id`, each where it applies" + `.
Arguments marked ! are required. Arguments no tool knows are dropped.
`)
	for _, row := range table() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", row.name, row.description)
		kind := "Changes something."
		if row.reads {
			kind = "Reads only."
		}
		fmt.Fprintf(&b, "\n%s\n", kind)
		columns(&b, "argument", row.in, true)
		columns(&b, "answer, beside content and error", row.out, false)
	}
	const file = "../docs/tools.md"
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

func columns(b *strings.Builder, what string, fields []field, defaults bool) {
	if len(fields) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s | type | meaning |\n|---|---|---|\n", what)
	for _, f := range fields {
		var s struct {
			Type, Description string
			Enum              []string
			Default           json.RawMessage
		}
		if err := json.Unmarshal([]byte(f.Schema), &s); err != nil {
			panic(f.Name + ": " + err.Error())
		}
		name, text := "`"+f.Name+"`", s.Description
		if f.Required {
			name += " !"
		}
		if len(s.Enum) > 0 {
			text += " (" + strings.Join(s.Enum, ", ") + ")"
		}
		if defaults && s.Default != nil && !slices.Contains([]string{"[]", "false"}, string(s.Default)) {
			text += "; default " + string(s.Default)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, s.Type, text)
	}
}
