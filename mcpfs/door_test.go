package mcpfs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// other is a project that the client's roots leave out: no text may hold its id.
const other = "zz-secret-plans"

// doors starts a server in a form, over project p and a second one that the client's roots leave out.
func doors(t *testing.T, form mcpfs.Tools, revision string) (*live, *byID) {
	t.Helper()
	log := &byID{}
	p, q := project(t, "p", rootbound.Full), project(t, other, rootbound.Full)
	l := start(t, serve.Options{Projects: []rootbound.Project{p, q}, Tools: form, Sink: log}, clientOptions{roots: []string{uri(p.Dir)}, revision: revision})
	l.file("a.txt", "x\n")
	l.mkdir("d")
	return l, log
}

// valid gives each argument a value that its schema takes.
func valid(tool, name string) any {
	switch name {
	case "path", "relative_path", "source":
		if strings.Contains(tool, "director") || tool == "search_files" {
			return "d"
		}
		return "a.txt"
	case "paths", "relative_paths":
		return []string{"a.txt"}
	case "destination", "relative_destination":
		return "d/b.txt"
	case "project_id", "root":
		return "p"
	case "edits":
		return []args{{"oldText": "x", "newText": "y"}}
	case "pattern":
		if tool == "search_content" {
			return "x"
		}
		return "*"
	}
	return "text"
}

// minimal are arguments that a call cannot do without.
func minimal(tool string, required []any) args {
	a := args{}
	for _, r := range required {
		a[r.(string)] = valid(tool, r.(string))
	}
	if tool == "propose_patch" {
		a["diff"] = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n"
	}
	return a
}

// violations are the ways in which the value of one argument can be wrong.
func violations(schema map[string]any) map[string]any {
	huge := strings.Repeat("x", 70_000)
	out := map[string]any{"null": nil, "an object": args{"x": args{}}}
	for kind, v := range map[string]any{"string": "7", "number": 7.5, "boolean": true, "array": []any{1, nil, []any{}}} {
		if kind != schema["type"] && (kind != "number" || schema["type"] != "integer") {
			out["a "+kind] = v
		}
	}
	switch schema["type"] {
	case "string":
		out["half a character"] = json.RawMessage(`"\ud800"`)
		if schema["enum"] != nil {
			out["not in the enum"], out["huge"] = "nobody", huge
		}
	case "number", "integer":
		out["out of range"], out["a fraction"] = -1, 1.5
	case "array":
		out["wrong items"] = []any{huge, 7}
	}
	return out
}

// Every tool of both forms: whatever is wrong with a call's arguments, it goes through the one door. It is refused with a
// reason, a decision and a record, in the shape that the tool declares, and nothing in it names a project that the caller
// may not use.
func TestOneDoorForEveryTool(t *testing.T) {
	t.Run("classic", func(t *testing.T) { oneDoor(t, mcpfs.Classic, legacy, nil) })
	t.Run("project", func(t *testing.T) { oneDoor(t, mcpfs.Project, legacy, nil) })
	t.Run("project in the modern era", func(t *testing.T) { // each call asks for roots there: a few tools are enough
		oneDoor(t, mcpfs.Project, "", []string{"read_text_file", "read_media_file", "move_file", "list_projects"})
	})
}

func oneDoor(t *testing.T, form mcpfs.Tools, revision string, only []string) {
	l, log := doors(t, form, revision)
	tools, err := l.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, tool := range tools.Tools {
		if only != nil && !slices.Contains(only, tool.Name) {
			continue
		}
		schema := tool.InputSchema.(map[string]any)
		props, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		base := minimal(tool.Name, required)
		patches := strings.HasSuffix(tool.Name, "_patch") // they look at the plan first
		try := func(what string, arguments any, reasons ...rootbound.Reason) {
			t.Helper()
			n++
			l.refusedOnRecord(log, tool.Name, what, arguments, reasons...)
		}
		with := func(name string, v any) args {
			a := args{name: v}
			for k, old := range base {
				if k != name {
					a[k] = old
				}
			}
			return a
		}
		for _, r := range required {
			a := with(r.(string), nil)
			delete(a, r.(string))
			try(r.(string)+" missing", a, rootbound.ArgumentInvalid)
		}
		for name, p := range props {
			for what, v := range violations(p.(map[string]any)) {
				reasons := []rootbound.Reason{rootbound.ArgumentInvalid}
				if name == "project_id" {
					reasons = append(reasons, rootbound.ProjectUnknown)
				}
				try(name+" is "+what, with(name, v), reasons...)
			}
		}
		for _, name := range []string{"path", "source", "destination", "relative_path", "relative_destination", "project_id"} {
			if _, known := props[name]; !known || patches {
				continue
			}
			try(name+" is huge", with(name, strings.Repeat("n/", 66_000)), rootbound.PathInvalid, rootbound.ProjectUnknown)
			if form == mcpfs.Project { // in the classic form it stands for the project
				try(name+" is empty", with(name, ""), rootbound.PathInvalid, rootbound.ProjectUnknown)
			}
		}
		if len(props) > 0 {
			for _, v := range []any{[]any{}, "x", 7, true} {
				try(fmt.Sprintf("arguments are %v", v), v, rootbound.ArgumentInvalid)
			}
		}
		if schema["additionalProperties"] == false {
			try("an argument nobody knows", with(other[:2], 1), rootbound.ArgumentInvalid)
			try("one more argument", with(strings.Repeat("k", 100_000), "x"), rootbound.ArgumentInvalid)
			try("one in another case", with("Path", "x"), rootbound.ArgumentInvalid)
		}
	}
	if n < 200 && only == nil || n < 50 {
		t.Errorf("%d violating calls", n)
	}
	if got := l.read("a.txt"); got != "x\n" {
		t.Errorf("a call that was refused changed a file: %q", got)
	}
}

// refusedOnRecord makes a call that must be refused, in the tool's own shape, with the reason, the decision and the record
// that every refusal has.
func (l *live) refusedOnRecord(log *byID, tool, what string, arguments any, reasons ...rootbound.Reason) {
	l.t.Helper()
	res, err := l.session.CallTool(l.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		l.t.Errorf("%s, %s: no answer of a tool: %.300v", tool, what, err)
		return
	}
	text := textOf(res)
	if !res.IsError {
		l.t.Errorf("%s, %s: allowed: %.300s", tool, what, text)
		return
	}
	validate(l.t, tool, res.StructuredContent)
	s, _ := res.StructuredContent.(map[string]any)
	e, _ := s["error"].(map[string]any)
	id, _ := e["decision_id"].(string)
	reason, _ := e["reason"].(string)
	if id == "" || !slices.Contains(reasons, rootbound.Reason(reason)) {
		l.t.Errorf("%s, %s: %v, want one of %v with a decision", tool, what, e, reasons)
	}
	if r := log.of(id); r == nil || string(r.Reason) != reason || r.Decision != decision.Deny && r.Phase != decision.Refused {
		l.t.Errorf("%s, %s: the record is %+v", tool, what, r)
	}
	whole, _ := json.Marshal(res)
	if strings.Contains(string(whole), other) || strings.Contains(string(whole), l.dir) || len(whole) > 4096 {
		l.t.Errorf("%s, %s: %d bytes: %.600s", tool, what, len(whole), whole)
	}
}

// byID keeps the records that tell a decision or a refusal.
type byID struct {
	decision.Discard
	records sync.Map
}

func (s *byID) Decided(r *decision.Record, _ bool) error { s.records.Store(r.ID, *r); return nil }
func (s *byID) Event(r *decision.Record)                 { s.records.Store(r.ID, *r) }

func (s *byID) of(id string) *decision.Record {
	if v, ok := s.records.Load(id); ok {
		r := v.(decision.Record)
		return &r
	}
	return nil
}
