package mcpfs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// in completes arguments of the project form.
func in(id, path string, more ...any) args {
	a := args{"project_id": id, "relative_path": path}
	for i := 0; i < len(more); i += 2 {
		a[more[i].(string)] = more[i+1]
	}
	return a
}

// projects starts a server in the project form over p and q.
func projects(t *testing.T, c clientOptions) (*live, string) {
	t.Helper()
	p, q := project(t, "p", rootbound.Full), project(t, "q", rootbound.Full)
	p.Description = "the shop\u202e"
	l := start(t, serve.Options{Projects: []rootbound.Project{p, q}, Tools: mcpfs.Project}, c)
	return l, q.Dir
}

// A session with every tool: what each says is the same as in the classic form, and no path of the host is in any answer.
func TestProjectFormServes(t *testing.T) {
	l, q := projects(t, clientOptions{})
	l.file("a.txt", "one\ntwo\n")
	l.file("sub/b.bin", "\x00\x01")
	for _, c := range []struct {
		tool string
		args args
		want string // of the text
	}{
		{"read_file", in("p", "a.txt"), "^one\ntwo\n$"},
		{"read_text_file", in("p", "./a.txt", "head", 1), "^one$"},
		{"read_media_file", in("p", "sub/b.bin"), "^$"},
		{"read_multiple_files", args{"project_id": "p", "relative_paths": []string{"a.txt", "none"}}, "^a.txt:\none\ntwo\n\n\n---\nnone: Error - read \"none\": nothing exists"},
		{"write_file", in("p", "new.txt", "content", "n"), "^Successfully wrote to new.txt$"},
		{"edit_file", in("p", "new.txt", "edits", []args{{"oldText": "n", "newText": "m"}}), "(?s)^```diff\nIndex: new.txt\n"},
		{"create_directory", in("p", "x/y"), "^Successfully created directory x/y$"},
		{"list_directory", in("p", "."), "(?s)\\[FILE\\] a.txt\n"},
		{"list_directory_with_sizes", in("p", "sub/"), "b.bin +2 B"},
		{"directory_tree", in("p", "sub"), `"name": "b.bin"`},
		{"search_files", in("p", "sub", "pattern", "*"), "^sub/b.bin$"},
		{"get_file_info", in("q", "."), "isDirectory: true"},
		{"move_file", in("p", "new.txt", "relative_destination", "x/moved"), "^Successfully moved new.txt to x/moved$"},
		{"copy_file", in("p", "x/moved", "relative_destination", "x/copy"), "^Successfully copied x/moved to x/copy"},
		{"append_file", in("p", "x/copy", "content", "+"), "^Successfully appended to x/copy$"},
		{"delete_file", in("p", "x/copy"), "^Successfully deleted x/copy$"},
		{"list_projects", nil, "^Projects:\np \\(full\\): all of it – the shop.*\nq \\(full\\): all of it$"},
		{"scope_status", nil, "(?s)^Mode narrow, state current, generation 1. In force: what the operator granted.\np \\(full\\): all of it; changes: direct; rules: own, credentials, execution\n"},
	} {
		res := l.call(c.tool, c.args)
		if res.IsError || !regexp.MustCompile(c.want).MatchString(textOf(res)) {
			t.Errorf("%s %v: %v %q", c.tool, c.args, res.IsError, textOf(res))
		}
		validate(t, c.tool, res.StructuredContent)
		l.noHostPath(c.tool, res, q)
	}
	if got := l.read("x/moved"); got != "m" {
		t.Errorf("moved: %q", got)
	}
}

func (l *live) noHostPath(tool string, v any, more ...string) {
	l.t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, dir := range append(more, l.dir, filepath.Dir(l.dir)) {
		if strings.Contains(string(b), dir) {
			l.t.Errorf("%s shows a path of the host: %.600s", tool, b)
		}
	}
}

// Spellings that the project form does not take, and ways out of the named project, are refused, and nothing they say tells
// where anything lies.
func TestProjectFormStaysInTheProject(t *testing.T) {
	l, q := projects(t, clientOptions{})
	l.file("a.txt", "a")
	if err := os.WriteFile(filepath.Join(q, "f"), []byte("q"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.link("to-q", q)
	l.link("to-f", filepath.Join(q, "f"))
	l.link("out", "/etc")
	for path, want := range map[string]rootbound.Reason{
		"": "path_invalid", "/": "path_invalid", l.path("a.txt"): "path_invalid", "..": "path_invalid", "x/../a.txt": "path_invalid", "a//b": "path_invalid",
		"./../a.txt": "path_invalid", "~/a": "path_invalid", "a\x00": "path_invalid", "%2e%2e/a": "path_encoded_traversal", "file:///etc/passwd": "path_invalid",
		"to-q/f": "outside_root", "to-f": "outside_root", "to-q": "outside_root", "out/passwd": "outside_root", "to-q/none": "outside_root",
	} {
		for _, tool := range []string{"read_text_file", "write_file", "get_file_info", "delete_file", "move_file", "copy_file"} {
			a := in("p", path)
			switch tool {
			case "write_file":
				a["content"] = "x"
			case "move_file", "copy_file":
				a["relative_path"], a["relative_destination"] = "a.txt", path
			}
			res := l.call(tool, a)
			_, e := textOf(res), errorOf(res)
			link := tool == "delete_file" && strings.HasPrefix(path, "to-") && !strings.Contains(path, "/") // the link itself is in the project
			if tool == "move_file" || tool == "copy_file" || link {
				link = strings.HasPrefix(path, "to-") && !strings.Contains(path, "/")
			}
			if !link && (e == nil || e["reason"] != string(want)) {
				t.Errorf("%s %q: %v, want %s", tool, path, e, want)
			}
			if path != l.path("a.txt") {
				l.noHostPath(tool, res, q)
			}
			if link && e == nil {
				l.link(path, q) // it was deleted
			}
		}
	}
	if got, err := os.ReadFile(filepath.Join(q, "f")); err != nil || string(got) != "q" {
		t.Errorf("the other project was changed: %q %v", got, err)
	}
}

func errorOf(res *mcp.CallToolResult) map[string]any {
	s, _ := res.StructuredContent.(map[string]any)
	e, _ := s["error"].(map[string]any)
	return e
}

// The ids that tools/list shows are those that are configured; beyond what an enum may hold there is none.
func TestProjectIDsAreListed(t *testing.T) {
	enum := func(n int) any {
		var all []rootbound.Project
		for i := range n {
			all = append(all, project(t, fmt.Sprintf("p%03d", i), rootbound.ReadOnly))
		}
		l := start(t, serve.Options{Projects: all, Tools: mcpfs.Project, Limits: mcpfs.Limits{List: 40}}, clientOptions{})
		res, err := l.session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []any
		for _, tool := range res.Tools {
			props, _ := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
			if p, ok := props["project_id"].(map[string]any); ok {
				got = append(got, p["enum"])
			}
		}
		if len(got) < 15 {
			t.Fatalf("%d tools name a project", len(got))
		}
		for _, e := range got {
			if d := cmp.Diff(got[0], e); d != "" {
				t.Error(d)
			}
		}
		if n > 40 { // and list_projects pages through them
			l.pagesThrough(n)
		}
		return got[0]
	}
	if d := cmp.Diff([]any{"p000", "p001"}, enum(2)); d != "" {
		t.Error(d)
	}
	if got := enum(101); got != nil {
		t.Errorf("an enum of 101 projects: %v", got)
	}
}

func (l *live) pagesThrough(n int) {
	l.t.Helper()
	var ids []string
	a := args{}
	for range n {
		_, s := l.ok("list_projects", a)
		validate(l.t, "list_projects", s)
		for _, p := range s["projects"].([]any) {
			ids = append(ids, p.(map[string]any)["id"].(string))
		}
		next, _ := s["next"].(map[string]any)
		if next == nil {
			break
		}
		a = next
	}
	if len(ids) != n || !slices.IsSorted(ids) {
		l.t.Errorf("pages of list_projects hold %d ids: %v", len(ids), ids)
	}
	if _, e := l.no("list_projects", args{"cursor": "bm9uZQ"}); e["reason"] != "argument_invalid" {
		l.t.Errorf("a cursor that names nothing: %v", e)
	}
	text, s := l.ok("scope_status", nil)
	if s["truncated"] != true || len(s["projects"].([]any)) != 40 || len(text) > 16<<10 {
		l.t.Errorf("scope_status of %d projects: %d bytes, %v", n, len(text), s["truncated"])
	}
}

// scope_status says why not more: roots that were dropped, a scope that refuses; both forms say the same, without URIs.
func TestScopeStatusSaysWhyNotMore(t *testing.T) {
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		p, q := project(t, "p", rootbound.ReadWrite), project(t, "q", rootbound.ReadOnly)
		p.Deny, p.AllowExtensions, p.ProposeWrites = []string{"**/zz-secret/**"}, []string{".go"}, true
		if err := os.MkdirAll(filepath.Join(p.Dir, "src"), 0o755); err != nil {
			t.Fatal(err)
		}
		outside := project(t, "o", rootbound.ReadOnly).Dir
		l := start(t, serve.Options{Projects: []rootbound.Project{p, q}, Tools: form},
			clientOptions{roots: []string{uri(p.Dir) + "/src", "https://example.com/x", uri(outside)}, revision: legacy})
		text, s := l.ok("scope_status", nil)
		validate(t, "scope_status", s)
		l.noHostPath("scope_status", s, outside, q.Dir)
		if strings.Contains(text, "zz-secret") || strings.Contains(text, "\nq (") {
			t.Errorf("%s: %s", form, text)
		}
		for _, want := range []string{"In force: the client's roots.", "p (rw): only src; changes: propose; rules: own, credentials, execution, 1 deny pattern, only .go",
			" of the client's roots is not approved: the root is not a file URI [scheme] (root_not_file).", "have nothing in common (no_overlap)."} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", form, want, text)
			}
		}
		list, s := l.ok("list_projects", nil)
		if want := "Projects:\np (rw): only src; changes: propose"; list != want {
			t.Errorf("%s: %q", form, list)
		}
		roots := s["projects"].([]any)[0].(map[string]any)["roots"].([]any)[0].(map[string]any)
		if roots["prefix"] != "src" || roots["id"] == "p" {
			t.Errorf("%s: %v", form, roots)
		}
		_ = os.RemoveAll(p.Dir) // they are answered from what is held
		if again, _ := l.ok("scope_status", nil); again != text {
			t.Errorf("%s: without the directory it says %s", form, again)
		}
		l.ok("list_projects", nil)

		l = start(t, serve.Options{Projects: []rootbound.Project{q}, Tools: form}, clientOptions{roots: []string{uri(outside)}})
		text, s = l.ok("scope_status", nil)
		validate(t, "scope_status", s)
		if refused, _ := s["refused"].(map[string]any); refused["reason"] != "no_overlap" || !strings.Contains(text, "Nothing may be touched: ") || s["projects"] != nil {
			t.Errorf("%s: %s %v", form, text, s)
		}
		if _, e := l.no("list_projects", nil); e["reason"] != "no_overlap" || e["decision_id"] == nil {
			t.Errorf("%s: %v", form, e)
		}
	}
}

// Unknown and forbidden projects look alike through every tool that names one, in both forms.
func TestEveryToolKeepsProjectsSecret(t *testing.T) {
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		l, _ := doors(t, form, legacy)
		tools, err := l.session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		named := "root"
		if form == mcpfs.Project {
			named = "project_id"
		}
		id := regexp.MustCompile(`[0-9a-f-]{16,}`)
		n := 0
		for _, tool := range tools.Tools {
			schema := tool.InputSchema.(map[string]any)
			if props, _ := schema["properties"].(map[string]any); props[named] == nil {
				continue
			}
			n++
			say := func(project string) string {
				required, _ := schema["required"].([]any)
				a := minimal(tool.Name, required)
				a[named] = project
				res := l.call(tool.Name, a)
				if !strings.Contains(textOf(res), "project_unknown") && tool.Name != "apply_patch" { // which looks for the plan first
					t.Errorf("%s %s %s: %s", form, tool.Name, project, textOf(res))
				}
				s, _ := res.StructuredContent.(map[string]any)
				if e, _ := s["error"].(map[string]any); e != nil {
					delete(e, "decision_id")
				} else if files, _ := s["files"].([]any); files != nil {
					delete(files[0].(map[string]any)["error"].(map[string]any), "decision_id")
				}
				if strings.Contains(textOf(res), "project_unknown") && (form == mcpfs.Project || tool.Name != "read_multiple_files") && !strings.Contains(textOf(res), `["`+project+`"]`) {
					t.Errorf("%s %s does not say which project: %s", form, tool.Name, textOf(res))
				}
				b, _ := json.Marshal([]any{textOf(res), s})
				return id.ReplaceAllString(strings.ReplaceAll(string(b), project, "NAME"), "")
			}
			unknown := say("nobody")
			if forbidden := say(other); forbidden != unknown {
				t.Errorf("%s %s: a forbidden project answers\n%s\nan unknown one\n%s", form, tool.Name, forbidden, unknown)
			}
		}
		if n < 15 {
			t.Errorf("%s: %d tools name a project", form, n)
		}
	}
}

// Own files are out of reach through every tool of both forms: read, listed, written, moved, copied, deleted, or as the place
// where something appears.
func TestEveryToolKeepsOwnFilesOut(t *testing.T) {
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		p := project(t, "p", rootbound.Full)
		for name, text := range map[string]string{"state/key": "K", "a.txt": "a", "rootbound.yaml": "c", "d/x": ""} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(p.Dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		own := func() []guard.Own {
			return []guard.Own{{Path: filepath.Join(p.Dir, "state")}, {Path: filepath.Join(p.Dir, "state/key")}, {Path: filepath.Join(p.Dir, "rootbound.yaml")}}
		}
		l := start(t, serve.Options{Projects: []rootbound.Project{p}, Tools: form, Own: own}, clientOptions{})
		tools, err := l.session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, tool := range tools.Tools {
			schema := tool.InputSchema.(map[string]any)
			required, _ := schema["required"].([]any)
			for _, r := range required {
				name := r.(string)
				if !strings.Contains(name, "path") && name != "source" && !strings.Contains(name, "destination") {
					continue
				}
				for _, path := range []string{"state/key", "rootbound.yaml", "state"} {
					a := args{"root": "p"}
					if form == mcpfs.Project {
						a = args{"project_id": "p"}
					}
					for _, r := range required {
						if a[r.(string)] == nil {
							a[r.(string)] = valid(tool.Name, r.(string))
						}
					}
					a[name] = path
					if strings.HasSuffix(name, "paths") {
						a[name] = []string{path}
					}
					if tool.Name == "delete_file" {
						a["recursive"] = true
					}
					res := l.call(tool.Name, a)
					n++
					if text := textOf(res); !strings.Contains(text, "rule_denied") || strings.Contains(text, "K\n") {
						t.Errorf("%s %s %s=%s: %s", form, tool.Name, name, path, text)
					}
				}
			}
		}
		if n < 40 {
			t.Errorf("%s: %d calls", form, n)
		}
		for _, path := range []string{"state/key", "rootbound.yaml", "state/new"} {
			a := args{"root": "p", "diff": "--- /dev/null\n+++ b/" + path + "\n@@ -0,0 +1 @@\n+x\n"}
			if form == mcpfs.Project {
				a["project_id"] = "p"
				delete(a, "root")
			}
			if text, e := l.no("propose_patch", a); e["reason"] != "rule_denied" {
				t.Errorf("%s propose_patch %s: %s", form, path, text)
			}
		}
		for tool, a := range map[string]args{"list_directory": {"path": "."}, "directory_tree": {"path": "."}, "search_files": {"path": ".", "pattern": "**"}} {
			if form == mcpfs.Project {
				a["project_id"], a["relative_path"] = "p", a["path"]
				delete(a, "path")
			}
			if text, _ := l.ok(tool, a); strings.Contains(text, "state") || strings.Contains(text, "rootbound.yaml") {
				t.Errorf("%s %s: %s", form, tool, text)
			}
		}
		for name, text := range map[string]string{"state/key": "K", "a.txt": "a", "rootbound.yaml": "c"} {
			if got := l.read(name); got != text {
				t.Errorf("%s holds %q", name, got)
			}
		}
	}
}
