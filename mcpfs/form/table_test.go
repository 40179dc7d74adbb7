package form

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/wire"
)

// shown is a tool as a client decodes it.
type shown struct {
	Name, Title, Description  string
	InputSchema, OutputSchema map[string]any
	Annotations               map[string]any
}

func listedTools(t *testing.T, form Tools) []shown {
	t.Helper()
	var out []shown
	for _, row := range form.Rows() {
		b, err := json.Marshal(row.Describe())
		if err != nil {
			t.Fatal(err)
		}
		var s shown
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// The classic tools are the same by meaning: names, order, titles, parameters with their types, bounds, defaults and which
// are required, annotations. What we add is optional; what we answer beside content is declared.
func TestToolsAreTheClassicOnes(t *testing.T) {
	b, err := os.ReadFile("testdata/classic.json")
	if err != nil {
		t.Fatal(err)
	}
	var classic struct{ Tools []shown }
	if err := json.Unmarshal(b, &classic); err != nil {
		t.Fatal(err)
	}
	ours := listedTools(t, Classic)
	if len(ours) < len(classic.Tools) {
		t.Fatalf("%d tools", len(ours))
	}
	for i, want := range classic.Tools {
		got := ours[i]
		if got.Name != want.Name || got.Title != want.Title {
			t.Fatalf("tool %d is %s %q, want %s %q", i, got.Name, got.Title, want.Name, want.Title)
		}
		props, wantProps := got.InputSchema["properties"].(map[string]any), want.InputSchema["properties"].(map[string]any)
		for name, p := range wantProps {
			mine, _ := withoutText(props[name]).(map[string]any)
			if d := cmp.Diff(p, any(mine)); d != "" && !extendsItems(mine, p) {
				t.Errorf("%s.%s: %s", got.Name, name, d)
			}
		}
		if d := cmp.Diff(want.InputSchema["required"], got.InputSchema["required"]); d != "" {
			t.Errorf("%s requires: %s", got.Name, d)
		}
		if _, closed := got.InputSchema["additionalProperties"]; closed {
			t.Errorf("%s: hosts add keys of their own", got.Name)
		}
		for hint, std := range map[string]bool{"readOnlyHint": false, "idempotentHint": false, "openWorldHint": true, "destructiveHint": true} {
			if got.Annotations["readOnlyHint"] == true && hint == "destructiveHint" {
				continue // has no meaning for readers
			}
			if hintOf(got.Annotations, hint, std) != hintOf(want.Annotations, hint, std) {
				t.Errorf("%s: %s is %v", got.Name, hint, got.Annotations[hint])
			}
		}
		out := got.OutputSchema["properties"].(map[string]any)
		if d := cmp.Diff(want.OutputSchema["properties"].(map[string]any)["content"], out["content"]); d != "" {
			t.Errorf("%s content: %s", got.Name, d)
		}
		if out["error"] == nil || !slices.Equal(got.OutputSchema["required"].([]any), []any{"content"}) {
			t.Errorf("%s: a refusal does not fit its output schema", got.Name)
		}
	}
}

func hintOf(a map[string]any, hint string, standard bool) bool {
	if v, ok := a[hint].(bool); ok {
		return v
	}
	return standard
}

// extendsItems allows optional keys in the objects of a list (replaceAll).
func extendsItems(mine map[string]any, p any) bool {
	items, ok := mine["items"].(map[string]any)
	if !ok {
		return false
	}
	props, ok := items["properties"].(map[string]any)
	if !ok {
		return false
	}
	delete(props, "replaceAll")
	return cmp.Equal(p, any(mine))
}

func withoutText(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, x := range m {
		if _, text := x.(string); k == "description" && text {
			continue
		}
		out[k] = withoutText(x)
	}
	return out
}

func forms() []Tools { return []Tools{Classic, Project} }

func TestToolTextsStateTheRules(t *testing.T) {
	for _, form := range forms() {
		said := "list_allowed_directories"
		if form == Project {
			said = "list_projects"
		}
		if text := form.Instructions(); !strings.Contains(text, said) || len(text) > 900 {
			t.Errorf("%s: instructions of %d bytes: %s", form, len(text), text)
		}
		for _, s := range listedTools(t, form) {
			if len(s.Description) > 700 || len(s.Description) < 60 {
				t.Errorf("%s: a description of %d bytes", s.Name, len(s.Description))
			}
			props, _ := s.InputSchema["properties"].(map[string]any)
			_, root := props["root"]
			_, id := props["project_id"]
			if (root || id) && (!strings.Contains(s.Description, "relative") || !strings.Contains(s.Description, said)) {
				t.Errorf("%s %s does not state how paths are read", form, s.Name)
			}
			for name, p := range props {
				if p.(map[string]any)["description"] == nil {
					t.Errorf("%s.%s is not described", s.Name, name)
				}
			}
		}
	}
}

// The project form has the tools of the classic one, each with the id of a project and relative paths in place of paths,
// and speaks of nothing else. Its arguments are closed.
func TestProjectFormNamesNoHostPath(t *testing.T) {
	want := slices.DeleteFunc(Classic.Names(), func(n string) bool { return n == "list_allowed_directories" })
	if d := cmp.Diff(want, Project.Names()); d != "" {
		t.Fatal(d)
	}
	foreign := regexp.MustCompile(`(?i)absolut|\broot\b|list_allowed|\bpath\b" *:|"(path|paths|source|destination|root)":`)
	for _, s := range listedTools(t, Project) {
		in, _ := json.Marshal(s.InputSchema)
		if m := foreign.FindString(s.Description + string(in)); m != "" {
			t.Errorf("%s speaks of %q: %s %s", s.Name, m, s.Description, in)
		}
		if s.InputSchema["additionalProperties"] != false {
			t.Errorf("%s takes arguments it does not know", s.Name)
		}
		row := Project.Row(s.Name)
		names := row.Named(Object)+row.Named(Objects)+row.Named(Patched) != ""
		if names != (row.Named(Root) == "project_id") {
			t.Errorf("%s names a path without a project, or the other way round", s.Name)
		}
		if names && (row.In[0].Name != "project_id" || !row.In[0].Required) {
			t.Errorf("%s does not begin with project_id", s.Name)
		}
		for _, f := range row.In {
			if f.Is > Root && f.Is != Patched && !strings.HasPrefix(f.Name, "relative_") {
				t.Errorf("%s.%s is a path", s.Name, f.Name)
			}
		}
	}
	if m := foreign.FindString(strings.ReplaceAll(Project.Instructions(), "Absolute paths and .. are not taken", "")); m != "" {
		t.Errorf("the instructions speak of %q", m)
	}
	for _, r := range rootbound.Reasons() {
		var e *rootbound.Error
		if errors.As(Advise(&rootbound.Error{Reason: r}, Project), &e); strings.Contains(e.Error(), "list_allowed_directories") || strings.Contains(e.Error(), "argument root") {
			t.Errorf("%s: %s", r, e)
		}
	}
}

// Schemas must be valid ones and need nothing RE2 lacks.
func TestSchemasResolve(t *testing.T) {
	for _, form := range forms() {
		for _, row := range form.Rows() {
			d := row.Describe()
			enum := wire.Object(withEnum(row.In, []rootbound.RootID{"a", "b"}), row.Open())
			for _, raw := range []any{d.InputSchema, d.OutputSchema, enum} {
				var s jsonschema.Schema
				if err := json.Unmarshal(raw.(json.RawMessage), &s); err != nil {
					t.Fatalf("%s: %v", row.Name, err)
				}
				if _, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
					t.Errorf("%s: %v", row.Name, err)
				}
			}
		}
	}
}

func TestRowsAreWhole(t *testing.T) {
	for _, row := range table() {
		if row.Op == "" {
			t.Errorf("%s has no operation", row.Name)
		}
		if row.Op.Mutates() == row.Reads {
			t.Errorf("%s: reads is %v, its operation is %s", row.Name, row.Reads, row.Op)
		}
		if row.Destructive && row.Reads {
			t.Errorf("%s reads and destroys", row.Name)
		}
		if paths := row.Named(Object)+row.Named(Objects)+row.Named(Patched) != ""; paths != (row.Named(Root) != "") || row.Named(Destination) != "" && row.Named(Object) == "" {
			t.Errorf("%s: paths come with the argument root and only then", row.Name)
		}
	}
}

// Each way out of a right that is missing is said by the tool that offers it.
func TestWaysToProposeNameTheTool(t *testing.T) {
	for _, way := range []string{guard.ProposeInstead, guard.ProposeFiles, guard.ProposeWithin, guard.AskFor} {
		for _, op := range []rootbound.Operation{rootbound.OpDelete, rootbound.OpWrite} {
			var e *rootbound.Error
			if errors.As(Advise(&rootbound.Error{Reason: rootbound.RightMissing, Op: op, Next: way}, Project), &e); !strings.Contains(e.Next, "propose_patch") {
				t.Errorf("%s: %s", way, e.Next)
			}
			if edits := strings.Contains(e.Next, "as a diff"); way == guard.ProposeInstead && edits != (op == rootbound.OpDelete) {
				t.Errorf("%s: %s", op, e.Next) // edits remove no file
			}
		}
	}
}
