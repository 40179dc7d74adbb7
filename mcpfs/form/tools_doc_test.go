package form

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

Generated from the tool table in ` + "`mcpfs/form/table.go` by `make docs`" + `; do not edit.

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

Every answer carries a text block and, as ` + "`structuredContent.content`" + `, the same text; what is missing of a tree, and places that could not be
read or searched, are told in text blocks behind it. A refused call has ` + "`isError: true`" + `, the reason in
its text and in ` + "`structuredContent.error`" + `: ` + "`reason` ([reasons](reasons.md)), `detail`, `operation`, `path` as sent, `root`, `retryable`, `decision_id`, each where it applies" + `.
A call whose arguments do not fit is refused the same way, with a decision and a record; its text is that of the classic server,
` + "`MCP error -32602: Input validation error: …`, and the reason, `argument_invalid`" + `, stands in ` + "`structuredContent.error`" + ` only. Arguments marked ! are required.
`)
	for _, row := range Classic.Rows() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", row.Name, strings.Replace(row.Description, pathRules, "", 1))
		kind := "Changes something."
		if row.Reads {
			kind = "Reads only."
		}
		if row.ClassicOnly {
			kind += " Classic form only."
		}
		fmt.Fprintf(&b, "\n%s\n", kind)
		columns(&b, "argument", row.In, Project.Row(row.Name))
		columns(&b, "answer, beside content and error", row.Out, nil)
	}
	const file = "../../docs/tools.md"
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

// columns writes a table of Fields; where a project form is given its names stand beside the classic ones.
func columns(b *strings.Builder, what string, fields []Field, project *Tool) {
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
		other := projectField(project, f)
		if other != nil && (other.Name != f.Name || other.Required != f.Required) {
			name += ", project form `" + other.Name + "`"
			if other.Required {
				name += " !"
			}
		}
		if len(s.Enum) > 0 {
			text += " (" + strings.Join(s.Enum, ", ") + ")"
		}
		if s.Default != nil && !slices.Contains([]string{"[]", "false"}, string(s.Default)) {
			text += "; default " + string(s.Default)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, s.Type, strings.TrimSpace(text))
		if project != nil && s.Type == "array" {
			nested := project.In
			if other != nil {
				nested = []Field{*other}
			}
			columnsOfItems(b, f, nested)
		}
	}
}

// projectField is the argument of the project form that stands for f; nil if f is the same argument there.
func projectField(project *Tool, f Field) *Field {
	if project == nil || f.Is == 0 {
		return nil
	}
	for i := range project.In {
		// Roles may be shared by several arguments, which then keep their names.
		if o := &project.In[i]; o.Is == f.Is && (o.Name == f.Name || project.Named(f.Is) == o.Name && !hasName(project.In, f.Name)) {
			return o
		}
	}
	panic("no argument of the project form stands for " + f.Name)
}

func hasName(fields []Field, name string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name })
}

// columnsOfItems writes the fields of a list's objects, in the order in which both forms declare them.
func columnsOfItems(b *strings.Builder, f Field, project []Field) {
	own, required := itemsOf(f)
	var other []property
	for _, p := range project {
		if p.Name == f.Name {
			other, _ = itemsOf(p)
		}
	}
	for i, p := range own {
		name := "`" + f.Name + "[]." + p.name + "`"
		if slices.Contains(required, p.name) {
			name += " !"
		}
		if i < len(other) && other[i].name != p.name {
			name += ", project form `" + other[i].name + "`"
			if slices.Contains(required, p.name) {
				name += " !"
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, p.Type, p.Description)
	}
}

type property struct{ name, Type, Description string }

// itemsOf gives the fields of a list's objects in the order of the schema.
func itemsOf(f Field) (fields []property, required []string) {
	var s struct {
		Items struct {
			Properties json.RawMessage
			Required   []string
		}
	}
	if err := json.Unmarshal([]byte(f.Schema), &s); err != nil {
		panic(f.Name + ": " + err.Error())
	}
	if s.Items.Properties == nil {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(string(s.Items.Properties)))
	for d.Token(); d.More(); { // the first token is the brace
		key, err := d.Token()
		p := property{}
		if err == nil {
			err = d.Decode(&p)
		}
		if err != nil {
			panic(f.Name + ": " + err.Error())
		}
		p.name = key.(string)
		fields = append(fields, p)
	}
	return fields, s.Items.Required
}
