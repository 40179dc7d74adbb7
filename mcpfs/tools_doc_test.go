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

The tools have two forms: ` + "`--tools=classic` (`ROOTBOUND_TOOLS`, `tools:` in the configuration) or `--tools=project`" + `. Without a choice
directories named as arguments are served in the classic form, and a configuration file without them in the project form.
Names, answers and texts are the same; only how a call says where differs:

| classic | project |
|---|---|
`)
	for _, r := range []struct{ classic, project string }{
		{"`root`, optional: project id, root id or unique root name", "`project_id` !: the id of a project; an enum where at most 100 are configured"},
		{"`path` !, `source` !: relative to the project, or absolute below an allowed directory", "`relative_path` !: relative to the project"},
		{"`paths` !", "`relative_paths` !"},
		{"`destination` !", "`relative_destination` !"},
		{"`list_allowed_directories`", "– (`list_projects`)"},
		{"arguments that a tool of the classic server does not know are dropped; other tools refuse them", "arguments that a tool does not know are refused"},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", r.classic, r.project)
	}
	b.WriteString(`
In the project form a path is plain: names joined by ` + "`/`, `.` for the project itself; absolute paths, `..` and doubled slashes are `path_invalid`" + `,
and a symbolic link that leads into another project is ` + "`outside_root`" + `. A project inside another one can be named by either; its own rights
and rules hold. No path of the host stands in an argument, an answer, a text or a refusal.

The server tells its clients in the classic form:

> ` + Classic.Instructions() + `

and in the project form:

> ` + Project.Instructions() + `

Every answer carries one text block and, as ` + "`structuredContent.content`" + `, the same text. A refused call has ` + "`isError: true`" + `, the reason in
its text and in ` + "`structuredContent.error`" + `: ` + "`reason` ([reasons](reasons.md)), `detail`, `operation`, `path` as sent, `root`, `retryable`, `decision_id`, each where it applies" + `.
A call whose arguments do not fit is refused the same way, with a decision and a record. Arguments marked ! are required.
`)
	for _, row := range Classic.rows() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", row.name, strings.Replace(row.description, pathRules, "", 1))
		kind := "Changes something."
		if row.reads {
			kind = "Reads only."
		}
		if row.classicOnly {
			kind += " Classic form only."
		}
		fmt.Fprintf(&b, "\n%s\n", kind)
		columns(&b, "argument", row.in, Project.row(row.name))
		columns(&b, "answer, beside content and error", row.out, nil)
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

// columns writes a table of fields; where a project form is given its names stand beside the classic ones.
func columns(b *strings.Builder, what string, fields []field, project *tool) {
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
		if project != nil && f.is != 0 {
			name += ", project form `" + project.named(f.is) + "` !"
		}
		if len(s.Enum) > 0 {
			text += " (" + strings.Join(s.Enum, ", ") + ")"
		}
		if s.Default != nil && !slices.Contains([]string{"[]", "false"}, string(s.Default)) {
			text += "; default " + string(s.Default)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, s.Type, strings.TrimSpace(text))
	}
}
