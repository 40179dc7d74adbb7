package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/rig"
)

// TestProjectJob is the project form with real clients: each tool once served and once refused. The TypeScript clients check
// every structuredContent, that of a refusal too, against the output schema they were shown, and throw what does not fit.
func TestProjectJob(t *testing.T) {
	bin := rig.Binary(t)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"repo/a.txt": "one\ntwo\n", "repo/sub/b.go": "package b\n", "repo/pic.png": "\x89PNG", "other/o.txt": canary} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(dir+"/other/o.txt", dir+"/repo/leak"); err != nil {
				t.Fatal(err)
			}
			config := "projects:\n  - {id: repo, dir: repo, rights: full, description: the code}\n  - {id: zz-other, dir: other, rights: full}\n"
			if err := os.WriteFile(dir+"/rootbound.yaml", []byte(config), 0o644); err != nil {
				t.Fatal(err)
			}
			steps, checks := projectSteps()
			got := c.run(t, plan{
				Command: bin, Args: []string{"serve", "--confine=off", "--no-slow", "--config", dir + "/rootbound.yaml"},
				Env: environment(dir), Roots: []string{"file://" + dir + "/repo"},
				Steps: steps,
			})
			for i, check := range checks {
				if strings.Contains(string(got[i].Result)+got[i].Thrown, dir) || strings.Contains(string(got[i].Result), canary) {
					t.Errorf("%s shows what it must not: %.400s", steps[i].Tool, got[i].Result)
				}
				check(t, steps[i], got[i])
			}
			if b, err := os.ReadFile(dir + "/repo/sub/moved.txt"); err != nil || string(b) != "1\n" {
				t.Errorf("the changes are not on disk: %q %v", b, err)
			}
		})
	}
}

func projectSteps() (steps []step, checks []func(*testing.T, step, seen)) {
	add := func(s step, check func(*testing.T, step, seen)) {
		steps, checks = append(steps, s), append(checks, check)
	}
	call := func(tool string, args map[string]any, has string) {
		add(step{Do: "call", Tool: tool, Args: args}, func(t *testing.T, s step, got seen) {
			t.Helper()
			if r := got.call(t); r.IsError || !strings.Contains(r.text(), has) {
				t.Errorf("%s: want %q, got %.300s", s.Tool, has, got.Result)
			}
		})
	}
	deny := func(tool string, args map[string]any, reason string) {
		add(step{Do: "call", Tool: tool, Args: args}, func(t *testing.T, s step, got seen) {
			t.Helper()
			r := got.call(t)
			told := strings.Contains(r.text(), "zz-other") && args["project_id"] != "zz-other" // what was sent may come back
			if !r.IsError || r.Structured.Error.Reason != reason || r.text() == "" || len(r.Structured.Content) == 0 || told {
				t.Errorf("%s: want a refusal %s, got %.400s", s.Tool, reason, got.Result)
			}
		})
	}
	in := func(id, path string, more ...any) map[string]any {
		a := map[string]any{"project_id": id, "relative_path": path}
		for i := 0; i < len(more); i += 2 {
			a[more[i].(string)] = more[i+1]
		}
		return a
	}
	edits := []map[string]string{{"oldText": "n", "newText": "1"}}
	add(step{Do: "tools"}, func(t *testing.T, _ step, got seen) {
		var list struct {
			Tools []struct {
				Name        string          `json:"name"`
				InputSchema json.RawMessage `json:"inputSchema"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(got.Result, &list); err != nil || len(list.Tools) < 18 {
			t.Fatalf("%v: %.300s", err, got.Result)
		}
		for _, tool := range list.Tools {
			if tool.Name == "list_allowed_directories" || strings.Contains(string(tool.InputSchema), `"path"`) {
				t.Errorf("%s: %s", tool.Name, tool.InputSchema)
			}
		}
	})
	call("list_projects", nil, "repo (full): all of it – the code")
	call("scope_status", nil, "In force: the client's roots.")
	call("list_directory", in("repo", "."), "[DIR] sub")
	call("list_directory_with_sizes", in("repo", "sub"), "b.go")
	call("directory_tree", in("repo", "."), `"a.txt"`)
	call("search_files", in("repo", ".", "pattern", "**/*.go"), "sub/b.go")
	call("search_content", in("repo", ".", "pattern", "PACK.GE", "ignore_case", true, "include", []string{"**/*.go"}), "./sub/b.go:1:package b")
	call("search_content", in("repo", "a.txt", "pattern", "o", "context", 1, "max_results", 1), "a.txt:1:one")
	call("search_content", in("repo", ".", "pattern", "nowhere", "literal", true), "No matches found")
	call("get_file_info", in("repo", "a.txt"), "size: 8")
	call("read_file", in("repo", "a.txt"), "one\ntwo\n")
	call("read_text_file", in("repo", "a.txt", "head", 1), "one")
	add(step{Do: "call", Tool: "read_media_file", Args: in("repo", "pic.png")}, func(t *testing.T, _ step, got seen) {
		if r := got.call(t); r.IsError || len(r.Content) != 1 || r.Content[0].Type != "image" {
			t.Errorf("read_media_file: %.300s", got.Result)
		}
	})
	call("read_multiple_files", map[string]any{"project_id": "repo", "relative_paths": []string{"a.txt", "none"}}, "none: Error - ")
	call("create_directory", in("repo", "x/y"), "x/y")
	call("write_file", in("repo", "x/y/new.txt", "content", "n"), "Successfully wrote to x/y/new.txt")
	call("edit_file", in("repo", "x/y/new.txt", "edits", edits), "+1")
	call("append_file", in("repo", "x/y/new.txt", "content", "\n"), "Successfully appended to x/y/new.txt")
	call("copy_file", in("repo", "x/y/new.txt", "relative_destination", "x/copy.txt"), "Successfully copied")
	call("move_file", in("repo", "x/y/new.txt", "relative_destination", "sub/moved.txt"), "Successfully moved")
	call("delete_file", in("repo", "x/copy.txt"), "Successfully deleted")

	for _, tool := range []string{"read_file", "read_text_file", "read_media_file", "list_directory", "list_directory_with_sizes", "directory_tree", "get_file_info",
		"create_directory", "delete_file"} {
		deny(tool, in("zz-other", "o.txt"), "project_unknown")
		deny(tool, in("nobody", "o.txt"), "project_unknown")
	}
	deny("search_content", in("zz-other", ".", "pattern", "x"), "project_unknown")
	deny("search_content", in("repo", "leak", "pattern", "x"), "outside_root")
	deny("search_content", in("repo", ".", "pattern", "("), "argument_invalid")
	deny("search_content", in("repo", ".", "pattern", "x", "include", []string{"@(a)"}), "argument_invalid")
	deny("write_file", in("repo", "leak", "content", "x"), "outside_root")
	deny("read_text_file", in("repo", "leak"), "outside_root")
	deny("read_text_file", in("repo", "/etc/passwd"), "path_invalid")
	deny("read_media_file", in("repo", "../other/o.txt"), "path_invalid")
	deny("read_text_file", map[string]any{"path": "a.txt"}, "argument_invalid")
	deny("read_media_file", map[string]any{"project_id": 7, "relative_path": "a.txt"}, "argument_invalid")
	deny("search_files", in("repo", ".", "pattern", "*", "more", true), "argument_invalid")
	deny("read_multiple_files", map[string]any{"project_id": "zz-other", "relative_paths": []string{"o.txt"}}, "project_unknown")
	deny("move_file", in("repo", "a.txt", "relative_destination", "sub"), "exists")
	deny("edit_file", in("repo", "a.txt", "edits", "x"), "argument_invalid")
	deny("list_projects", map[string]any{"cursor": "!"}, "argument_invalid")
	deny("scope_status", map[string]any{"why": "x"}, "argument_invalid")
	return steps, checks
}
