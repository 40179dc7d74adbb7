package mcpfs_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

func TestProposeAndApply(t *testing.T) {
	l := full(t)
	l.file("a.txt", "one\ntwo\n")
	text, s := l.ok("propose_patch", args{"root": "p", "edits": []any{
		args{"path": "a.txt", "oldText": "one", "newText": "1"},
		args{"path": "new/b.txt", "oldText": "", "newText": "b\n"},
		args{"path": "a.txt", "oldText": "two", "newText": "2"},
	}})
	for _, want := range []string{"```diff\ndiff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n-two\n+1\n+2\n", "new file mode 100644\n--- /dev/null\n+++ b/new/b.txt", "2 files. Nothing was changed yet. Apply it with apply_patch"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if files, _ := s["files"].([]any); len(files) != 2 || s["waits_for_person"] != false || s["token"] == nil || s["expires"] == nil {
		t.Errorf("%v", s)
	}
	if l.read("a.txt") != "one\ntwo\n" {
		t.Error("changed by a plan")
	}
	l.lacks("new")
	text, s = l.ok("apply_patch", args{"root": "p", "plan": s["plan"]})
	if !strings.HasPrefix(text, "Successfully applied plan ") || !strings.HasSuffix(text, " to 2 files\nwrite a.txt\ncreate new/b.txt") || len(s["files"].([]any)) != 2 {
		t.Errorf("%q %v", text, s)
	}
	if l.read("a.txt") != "1\n2\n" || l.read("new/b.txt") != "b\n" {
		t.Errorf("%q", l.read("a.txt"))
	}
	_, s = l.ok("propose_patch", args{"root": "p", "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n"})
	l.ok("apply_patch", args{"plan": s["token"]})
	if l.read("a.txt") != "one\n2\n" {
		t.Errorf("%q", l.read("a.txt"))
	}
	if _, e := l.no("apply_patch", args{"plan": s["token"]}); e["reason"] != "argument_invalid" || e["decision_id"] == nil || e["operation"] != "apply" {
		t.Errorf("%v", e)
	}
	for name, a := range map[string]args{
		"neither":     {"root": "p"},
		"both":        {"root": "p", "diff": "x", "edits": []any{args{"path": "a", "oldText": "", "newText": ""}}},
		"no root":     {"diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+2\n"},
		"bad diff":    {"root": "p", "diff": "x\n"},
		"outside":     {"root": "p", "diff": "--- a/../a.txt\n+++ b/../a.txt\n@@ -1 +1 @@\n-1\n+2\n"},
		"bad edits":   {"root": "p", "edits": []any{args{"path": "a.txt"}}},
		"unknown key": {"root": "p", "diff": "x\n", "patch": "x"},
	} {
		if _, e := l.no("propose_patch", a); e["decision_id"] == nil && name != "x" {
			t.Errorf("%s: %v has no record", name, e)
		}
	}
}

// In the project form the paths are as plain, and those of a diff are inside the project.
func TestProposeAndApplyInTheProjectForm(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.Full), project(t, "q", rootbound.Full)}, Tools: mcpfs.Project}, clientOptions{})
	l.file("a.txt", "one\n")
	_, s := l.ok("propose_patch", args{"project_id": "p", "edits": []any{args{"relative_path": "a.txt", "oldText": "one", "newText": "1"}}})
	if _, e := l.no("apply_patch", args{"project_id": "q", "plan": s["plan"]}); e["reason"] != "argument_invalid" {
		t.Errorf("%v", e)
	}
	if _, e := l.no("apply_patch", args{"plan": s["plan"]}); e["reason"] != "argument_invalid" {
		t.Errorf("%v", e)
	}
	l.ok("apply_patch", args{"project_id": "p", "plan": s["plan"]})
	if l.read("a.txt") != "1\n" {
		t.Error(l.read("a.txt"))
	}
	for _, path := range []string{l.path("a.txt"), "../a.txt", ""} {
		if _, e := l.no("propose_patch", args{"project_id": "p", "edits": []any{args{"relative_path": path, "oldText": "1", "newText": "2"}}}); e["reason"] != "path_invalid" {
			t.Errorf("%s: %v", path, e)
		}
	}
	if _, e := l.no("propose_patch", args{"project_id": "nowhere", "edits": []any{args{"relative_path": "a.txt", "oldText": "1", "newText": "2"}}}); e["reason"] != "project_unknown" {
		t.Errorf("%v", e)
	}
}

// asks is a client whose user answers.
func asks(t *testing.T, revision string, answer func(*mcp.ElicitParams) *mcp.ElicitResult) *live {
	t.Helper()
	p := project(t, "p", rootbound.Full)
	p.ProposeWrites = true
	l := &live{t: t, records: decision.NewMemory(10_000), dir: p.Dir}
	service, err := serve.New(serve.Options{Projects: []rootbound.Project{p}, Sink: l.records, Version: "test", Transport: "memory", NoSlow: true})
	if err != nil {
		t.Fatal(err)
	}
	o := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if answer != nil {
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return answer(r.Params), nil }
	}
	l.client = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	l.session = joined.Session(t, l.client, revision, service.Connect)
	t.Cleanup(func() {
		l.session.Close()
		service.Close(context.Background())
	})
	l.file("a.txt", "one\n")
	return l
}

func (l *live) planned() string {
	l.t.Helper()
	text, s := l.ok("propose_patch", args{"root": "p", "edits": []any{args{"path": "a.txt", "oldText": "one", "newText": "1"}}})
	if s["waits_for_person"] != true || !strings.Contains(text, "A person has to agree") {
		l.t.Errorf("%q %v", text, s)
	}
	return s["plan"].(string)
}

// Where changes are proposed, nothing is written directly, and the client's user is asked in both eras.
func TestAPersonAgreesByElicitation(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			var shown []string
			reply := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"agree": true}}
			during := func() {}
			l := asks(t, revision, func(p *mcp.ElicitParams) *mcp.ElicitResult {
				shown = append(shown, p.Message)
				during()
				return reply
			})
			for tool, a := range map[string]args{
				"write_file": {"path": "a.txt", "content": "x"}, "edit_file": {"path": "a.txt", "edits": []any{args{"oldText": "one", "newText": "x"}}},
				"create_directory": {"path": "d"}, "move_file": {"source": "a.txt", "destination": "b.txt"}, "copy_file": {"source": "a.txt", "destination": "b.txt"},
				"delete_file": {"path": "a.txt"}, "append_file": {"path": "a.txt", "content": "x"},
			} {
				a["root"] = "p"
				if text, e := l.no(tool, a); e["reason"] != "right_missing" || e["detail"] != "writes: propose" || !strings.Contains(text, "propose_patch") {
					t.Errorf("%s: %q %v", tool, text, e)
				}
			}

			l.ok("apply_patch", args{"root": "p", "plan": l.planned()})
			if l.read("a.txt") != "1\n" {
				t.Errorf("%q", l.read("a.txt"))
			}
			if len(shown) != 1 || !strings.Contains(shown[0], "Change 1 file in project p?\nwrite a.txt\n") || !strings.Contains(shown[0], "-one\n+1\n") {
				t.Errorf("%q", shown)
			}
			agreed := false
			for _, r := range l.records.Records() {
				agreed = agreed || r.Operation == rootbound.OpWrite && r.Phase == decision.Completed && r.Outcome.OK && r.Agreed == "elicitation"
				if r.Agreed == "terminal" {
					t.Error("recorded as a terminal")
				}
			}
			if !agreed {
				t.Error("the record does not tell who agreed")
			}
			if _, e := l.no("write_file", args{"root": "p", "path": "a.txt", "content": "x"}); e["reason"] != "right_missing" {
				t.Error("agreeing once agreed to more")
			}

			// Answers that do not agree use the plan up, so that nobody asks again and again.
			l.file("a.txt", "one\n")
			for name, r := range map[string]*mcp.ElicitResult{
				"decline": {Action: "decline"}, "cancel": {Action: "cancel"}, "unticked": {Action: "accept", Content: map[string]any{"agree": false}},
			} {
				reply = r
				plan := l.planned()
				if _, e := l.no("apply_patch", args{"root": "p", "plan": plan}); e["reason"] != "right_missing" || e["detail"] != "the person did not agree" {
					t.Errorf("%s: %v", name, e)
				}
				before := len(shown)
				if _, e := l.no("apply_patch", args{"root": "p", "plan": plan}); e["reason"] != "argument_invalid" || len(shown) != before {
					t.Errorf("%s: asked again: %v", name, e)
				}
			}

			// What changed while the person looked counts.
			reply = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"agree": true}}
			plan := l.planned()
			during = func() { l.file("a.txt", "one, and more\n") }
			if _, e := l.no("apply_patch", args{"root": "p", "plan": plan}); e["reason"] != "version_conflict" || e["path"] != "a.txt" {
				t.Errorf("%v", e)
			}
			if l.read("a.txt") != "one, and more\n" {
				t.Errorf("%q", l.read("a.txt"))
			}
		})
	}
}

// A client that cannot ask is told what a person can do.
func TestNobodyToAsk(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		l := asks(t, revision, nil)
		plan := l.planned()
		for range 2 {
			if text, e := l.no("apply_patch", args{"root": "p", "plan": plan}); e["reason"] != "right_missing" || !strings.Contains(text, "rootbound patch apply "+plan) {
				t.Errorf("%s: %q %v", revision, text, e)
			}
		}
		if l.read("a.txt") != "one\n" {
			t.Error("applied")
		}
	}
}

// Answers of patches are what their schemas say, also when they are cut.
func TestLongPlansAreCut(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.Full)}, Limits: mcpfs.Limits{Text: 1000}}, clientOptions{})
	text, s := l.ok("propose_patch", args{"root": "p", "edits": []any{args{"path": "a", "oldText": "", "newText": strings.Repeat("a line\n", 1000)}}})
	if s["truncated"] != true || len(text) > 1500 || !strings.Contains(s["note"].(string), "the plan is complete") {
		t.Errorf("%d %v", len(text), s)
	}
	validate(t, "propose_patch", s)
	_, s = l.ok("apply_patch", args{"root": "p", "plan": s["plan"]})
	validate(t, "apply_patch", s)
	if st, err := os.Stat(l.path("a")); err != nil || st.Size() != 7000 {
		t.Error(st, err)
	}
	if b, err := json.Marshal(s); err != nil || strings.Contains(string(b), l.dir) {
		t.Errorf("%s", b)
	}
}

// A plan is bound to the roots of the call that made it, in both eras: with others it is stale, even if it fits them too.
func TestPlansEndWithTheRoots(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		p := project(t, "p", rootbound.Full)
		if err := os.MkdirAll(p.Dir+"/sub/in", 0o755); err != nil {
			t.Fatal(err)
		}
		l := start(t, serve.Options{Projects: []rootbound.Project{p}}, clientOptions{roots: []string{uri(p.Dir + "/sub")}, revision: revision})
		edits := args{"root": "p", "edits": []any{args{"path": "sub/in/a", "oldText": "", "newText": "a"}}}
		_, s := l.ok("propose_patch", edits)
		l.ok("apply_patch", args{"root": "p", "plan": s["plan"]})
		if l.read("sub/in/a") != "a" {
			t.Error("not applied")
		}
		edits = args{"root": "p", "edits": []any{args{"path": "sub/in/b", "oldText": "", "newText": "b"}}}
		_, s = l.ok("propose_patch", edits)
		l.client.RemoveRoots(uri(p.Dir + "/sub"))
		l.client.AddRoots(&mcp.Root{URI: uri(p.Dir + "/sub/in")})
		l.ok("list_allowed_directories", args{}) // what was announced has arrived
		if _, e := l.no("apply_patch", args{"root": "p", "plan": s["plan"]}); e["reason"] != "generation_stale" {
			t.Errorf("%s: %v", revision, e)
		}
		l.lacks("sub/in/b")
		if _, e := l.no("propose_patch", args{"root": "p", "edits": []any{args{"path": "sub/c", "oldText": "", "newText": "c"}}}); e["reason"] != "outside_root" {
			t.Errorf("%s: %v", revision, e)
		}
	}
}
