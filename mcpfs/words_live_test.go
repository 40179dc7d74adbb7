package mcpfs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// named puts the argument that names a path in the words of a form.
func named(form mcpfs.Tools, a args) args {
	if form == mcpfs.Project {
		a["project_id"] = "p"
		for classic, own := range map[string]string{"path": "relative_path", "paths": "relative_paths"} {
			if v, ok := a[classic]; ok {
				a[own] = v
				delete(a, classic)
			}
		}
	}
	return a
}

// noted is an answer whose text stays what it was, with a note in a block behind it and in structured data. want is part of
// the note; empty: there is none.
func (l *live) noted(tool string, a args, text, want string) {
	l.t.Helper()
	res := l.call(tool, a)
	s, _ := res.StructuredContent.(map[string]any)
	validate(l.t, tool, s)
	note, _ := s["note"].(string)
	if res.IsError || textOf(res) != text || s["content"] != text || (want == "") != (note == "") || !strings.Contains(note, want) {
		l.t.Errorf("%s %v: %v %q, note %q, want %q with %q", tool, a, res.IsError, textOf(res), note, text, want)
	}
	blocks := ""
	for _, c := range res.Content[1:] {
		blocks += c.(*mcp.TextContent).Text
	}
	if blocks != "" != (want != "") || !strings.Contains(blocks, want) {
		l.t.Errorf("%s %v: blocks %q, want %q", tool, a, blocks, want)
	}
	if strings.Contains(note, l.dir) {
		l.t.Errorf("%s %v: a path of the host: %s", tool, a, note)
	}
}

// A search that cannot find anything as it is written says why; its text stays that of the classic server.
func TestPatternsThatMatchNothingAreTold(t *testing.T) {
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Tools: form}, clientOptions{})
		l.file("src/main.go", "needle\n")
		const tree = "[\n  {\n    \"name\": \"main.go\",\n    \"type\": \"file\"\n  }\n]"
		const none = "No matches found"
		for pattern, want := range map[string]string{
			"": "it is empty", "/etc/*": "begins with /", "../*": "the name ..", "./*": "the name .", "src/": "ends with /", "#x": "a comment", "[z-a]": "in brackets",
			"{x,/etc/*}": "one of the patterns that the braces stand for", "*.[ch": "nothing closes a bracket", `src\*.go`: "separated by /", "main.go": `"**/main.go" finds it at every depth`,
			"**/nothing": "", "!**": "",
		} {
			l.noted("search_files", named(form, args{"path": ".", "pattern": pattern}), none, want)
		}
		l.noted("search_files", named(form, args{"path": "src", "pattern": "*.go"}), "src/main.go", "")
		l.noted("search_files", named(form, args{"path": "src", "pattern": "*.go", "excludePatterns": []string{"/x"}}), "src/main.go", "an exclude pattern can match nothing: it begins with /")
		l.noted("search_files", named(form, args{"path": "src", "pattern": "*.go", "excludePatterns": []string{""}}), "src/main.go", "")
		l.noted("directory_tree", named(form, args{"path": "src", "excludePatterns": []string{"../x"}}), tree, "an exclude pattern can match nothing: no path")
		l.noted("directory_tree", named(form, args{"path": "src", "excludePatterns": []string{"/x", "x/"}}), tree, "")
		l.noted("search_content", named(form, args{"path": ".", "pattern": "needle", "include": []string{"./src/*.go"}}), none, "an include pattern can match nothing: no path")
		l.noted("search_content", named(form, args{"path": ".", "pattern": "needle", "include": []string{"*.c"}}), none, "no file was searched")
		l.noted("search_content", named(form, args{"path": ".", "pattern": "nothing", "include": []string{"/src/*.go"}}), none, "")
		l.noted("search_content", named(form, args{"path": ".", "pattern": "needle", "exclude": []string{"../x"}}), "./src/main.go:1:needle", "an exclude pattern can match nothing: no path")
		l.file(".gitignore", "src\n.gitignore\n")
		l.noted("search_content", named(form, args{"path": ".", "pattern": "needle"}), none, "include_ignored takes in")
	}
}

// A read that begins behind the end of a file says so, and how long the file is.
func TestReadsPastTheEndAreTold(t *testing.T) {
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Tools: form}, clientOptions{})
		l.file("a.txt", "one\ntwo\nthree\n")
		l.file("last.txt", "one\ntwo")
		l.file("empty.txt", "")
		for _, c := range []struct {
			a          args
			text, want string
		}{
			{args{"path": "a.txt", "line": 100}, "", "nothing is left to read from line 100 on: the file has 3 lines and 14 bytes"},
			{args{"path": "a.txt", "line": 4}, "", "from line 4 on: the file has 3 lines"},
			{args{"path": "a.txt", "line": 4, "lines": 2}, "", "from line 4 on: the file has 3 lines"},
			{args{"path": "a.txt", "line": 9, "head": 2}, "", "from line 9 on: the file has 3 lines"},
			{args{"path": "last.txt", "line": 3}, "", "the file has 2 lines and 7 bytes"},
			{args{"path": "last.txt", "line": 7}, "", "the file has 2 lines and 7 bytes"},
			{args{"path": "a.txt", "offset": 14}, "", "from byte 14 on: the file has 14 bytes"},
			{args{"path": "a.txt", "offset": 1000, "lines": 2}, "", "from byte 1000 on: the file has 14 bytes"},
			{args{"path": "a.txt", "offset": 0, "tail": 2}, "", "no line stands before byte 0"},
			{args{"path": "empty.txt", "line": 2}, "", "the file has 0 lines and 0 bytes"},
			{args{"path": "empty.txt"}, "", ""},
			{args{"path": "empty.txt", "head": 3}, "", ""},
			{args{"path": "empty.txt", "tail": 3}, "", ""},
			{args{"path": "a.txt", "line": 100, "lines": 0}, "", ""},
			{args{"path": "a.txt", "head": 0}, "", ""},
			{args{"path": "a.txt", "line": 3}, "three\n", ""},
			{args{"path": "a.txt", "offset": 8}, "three\n", ""},
			{args{"path": "a.txt", "offset": 1000, "tail": 1}, "three\n", ""},
		} {
			l.noted("read_text_file", named(form, c.a), c.text, c.want)
		}
		l.noted("read_multiple_files", named(form, args{"paths": []string{"a.txt", "empty.txt"}, "offset": 99}), "a.txt:\n\n\n---\nempty.txt:\n\n", "from byte 99 on: the file has 14 bytes")
		l.noted("read_multiple_files", named(form, args{"paths": []string{"empty.txt"}}), "empty.txt:\n\n", "")
	}
}

// What the SDK says of a tool that is not there, and of a cursor of a list, is completed with what to do.
func TestProtocolErrorsSayWhatToDo(t *testing.T) {
	for _, revision := range []string{"", legacy} {
		for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
			l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Tools: form}, clientOptions{revision: revision})
			ctx := t.Context()
			unknown := map[string]string{
				"no_such_tool": `unknown tool "no_such_tool"; tools/list shows the tools there are`, "": `unknown tool ""; tools/list`,
				"Read-Text-File": "; read_text_file is the name here; tools/list", "writeFile": "; write_file is the name here",
			}
			if form == mcpfs.Project {
				unknown["list_allowed_directories"] = "; list_projects is the name here"
			}
			for name, want := range unknown {
				if _, err := l.session.CallTool(ctx, &mcp.CallToolParams{Name: name}); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%q %s: %v, want %q", revision, name, err, want)
				}
			}
			lists := map[string]func() error{
				"tools": func() error { _, err := l.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: "xx"}); return err },
				"resources": func() error {
					_, err := l.session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: "xx"})
					return err
				},
				"ours": func() error {
					_, err := l.session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: "rb.xx"})
					return err
				},
				"templates": func() error {
					_, err := l.session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: "xx"})
					return err
				},
			}
			for name, list := range lists {
				if err := list(); err == nil || !strings.Contains(err.Error(), "leave it out to begin with the first page") {
					t.Errorf("%q %s: %v", revision, name, err)
				}
			}
		}
	}
}

// scope_status tells of a project that is uncommonly wide, as far as all of it is approved, and what the client declared in
// place of a directory.
func TestScopeStatusTellsOfWideProjectsAndFiles(t *testing.T) {
	p := project(t, "p", rootbound.ReadOnly)
	if err := os.WriteFile(p.Dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	whole := rootbound.Project{ID: "whole", Dir: "/", Rights: rootbound.ReadOnly}
	o := serve.Options{Projects: []rootbound.Project{p, whole}}
	l := start(t, o, clientOptions{})
	text, s := l.ok("scope_status", nil)
	validate(t, "scope_status", s)
	const wide = "; this is the whole file system: the operator should name"
	if n := strings.Count(text, "; this is "); n != 1 || !strings.Contains(text, wide) {
		t.Errorf("%s", text)
	}
	for _, v := range s["projects"].([]any) {
		if m := v.(map[string]any); (m["wide"] == "the whole file system") != (m["id"] == "whole") {
			t.Errorf("%v", m)
		}
	}
	l = start(t, o, clientOptions{roots: []string{uri(p.Dir), uri(p.Dir) + "/file"}, revision: legacy})
	text, s = l.ok("scope_status", nil)
	validate(t, "scope_status", s)
	if strings.Contains(text, "; this is ") || !strings.Contains(text, "[not_a_directory] (root_unusable). A root must be a directory") {
		t.Errorf("%s", text)
	}
	if d := s["dropped_roots"].([]any)[0].(map[string]any); d["detail"] != "not_a_directory" || !strings.Contains(d["next"].(string), "must be a directory") {
		t.Errorf("%v", d)
	}
	l = start(t, serve.Options{Mode: "client", AllowWide: true, ClientProject: rootbound.Project{Rights: rootbound.ReadOnly}}, clientOptions{roots: []string{"file:///"}, revision: legacy})
	if text, _ := l.ok("scope_status", nil); !strings.Contains(text, wide) {
		t.Errorf("%s", text)
	}
}

// The text of a content search is that of grep, so a colon in a name makes it ambiguous; structured data is exact.
func TestNamesWithColonsAreExactInStructuredContent(t *testing.T) {
	l := one(t)
	l.file("a", "1:needle\n")
	l.file("a:1", "needle\n")
	text, s := l.ok("search_content", args{"path": ".", "pattern": "needle"})
	if text != "./a:1:1:needle\n./a:1:1:needle" {
		t.Errorf("%q", text)
	}
	for i, want := range []map[string]any{{"path": "./a", "text": "1:needle"}, {"path": "./a:1", "text": "needle"}} {
		if m := s["matches"].([]any)[i].(map[string]any); m["path"] != want["path"] || m["text"] != want["text"] || m["line"] != 1.0 {
			t.Errorf("%v, want %v", m, want)
		}
	}
}
