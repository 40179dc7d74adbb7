package mcpfs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

func TestListDirectory(t *testing.T) {
	l := one(t)
	if text, _ := l.ok("list_directory", args{"path": "."}); text != "" {
		t.Errorf("an empty directory: %q", text)
	}
	l.file("b.txt", "123456789")
	l.mkdir("a")
	l.file("new\nline", "x")
	l.file(".env", "secret")
	l.link("into", "a")
	l.link("out", "/etc")
	want := "[DIR] a\n[FILE] b.txt\n[DIR] into\n[FILE] new\\x0aline\n[FILE] out"
	text, s := l.ok("list_directory", args{"path": "."})
	if text != want || s["content"] != want {
		t.Errorf("%q", text)
	}
	if links, _ := json.Marshal(s["links"]); string(links) != `[{"leads_to":"directory","name":"into"},{"leads_to":"file or nothing inside","name":"out"}]` {
		t.Errorf("%s", links)
	}
	if text, _ := l.ok("read_text_file", args{"path": `new\x0aline`}); text != "x" {
		t.Errorf("a listed name cannot be read: %q", text)
	}
	text, _ = l.ok("list_directory_with_sizes", args{"path": ".", "sortBy": "size"})
	if !strings.Contains(text, "[FILE] b.txt"+strings.Repeat(" ", 25)+" "+strings.Repeat(" ", 7)+"9 B\n") || !strings.Contains(text, "\n\nTotal: 3 files, 2 directories\nCombined size: ") {
		t.Errorf("%q", text)
	}
}

func TestListsGoOnByCursor(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Limits: mcpfs.Limits{List: 10, Hits: 7}}, clientOptions{})
	want := 0
	for i := range 34 {
		l.file(fmt.Sprintf("f%02d.txt", i), strings.Repeat("x", 34-i))
		want++
	}
	for _, c := range []struct {
		tool string
		args args
		line string
	}{
		{"list_directory", args{"path": "."}, "[FILE] f"}, {"list_directory_with_sizes", args{"path": "."}, "[FILE] f"},
		{"list_directory_with_sizes", args{"path": ".", "sortBy": "size"}, "[FILE] f"}, {"search_files", args{"path": ".", "pattern": "*.txt"}, "./f"},
	} {
		seen := map[string]int{}
		cursor := any(nil)
		for page := 0; page < 10; page++ {
			a := args{}
			for k, v := range c.args {
				a[k] = v
			}
			if cursor != nil {
				a["cursor"] = cursor
			}
			text, s := l.ok(c.tool, a)
			for _, line := range strings.Split(text, "\n") {
				if strings.HasPrefix(line, c.line) {
					seen[strings.Fields(line)[len(strings.Fields(c.line))-1]+line[:min(len(line), 20)]]++
				}
			}
			if s["truncated"] != true {
				cursor = nil
				break
			}
			cursor = s["next"].(map[string]any)["cursor"]
			if !strings.HasPrefix(text[strings.LastIndexByte(text, '\n')+1:], "[cut after ") {
				t.Fatalf("%s: the last line does not tell of the cut: %q", c.tool, text)
			}
		}
		if cursor != nil || len(seen) != want {
			t.Errorf("%s %v: %d entries", c.tool, c.args, len(seen))
		}
		for line, n := range seen {
			if n != 1 {
				t.Errorf("%s: %q was listed %d times", c.tool, line, n)
			}
		}
	}
	if _, e := l.no("list_directory", args{"path": ".", "cursor": "%%"}); e["reason"] != "argument_invalid" {
		t.Errorf("%v", e)
	}
}

func TestDirectoryTree(t *testing.T) {
	l := one(t)
	if text, _ := l.ok("directory_tree", args{"path": "."}); text != "[]" {
		t.Errorf("%q", text)
	}
	l.file("a/b/c.txt", "x")
	l.file("a/d.txt", "x")
	l.mkdir("e")
	l.file("z.txt", "x")
	l.file(".env", "secret")
	l.file("node_modules/x/y.js", "x")
	text, _ := l.ok("directory_tree", args{"path": ".", "excludePatterns": []string{"node_modules"}})
	type node struct {
		Name     string  `json:"name"`
		Type     string  `json:"type"`
		Children []*node `json:"children,omitempty"`
	}
	var got []*node
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	want := []*node{
		{"a", "directory", []*node{{"b", "directory", []*node{{"c.txt", "file", nil}}}, {"d.txt", "file", nil}}},
		{"e", "directory", []*node{}}, {"z.txt", "file", nil},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	const head = "[\n  {\n    \"name\": \"a\",\n    \"type\": \"directory\",\n    \"children\": [\n      {\n        \"name\": \"b\",\n        \"type\": \"directory\",\n        \"children\": [\n          {\n            \"name\": \"c.txt\",\n            \"type\": \"file\"\n          }\n        ]\n      },\n"
	if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, "  {\n    \"name\": \"e\",\n    \"type\": \"directory\",\n    \"children\": []\n  },\n  {\n    \"name\": \"z.txt\",\n    \"type\": \"file\"\n  }\n]") {
		t.Errorf("the form changed:\n%s", text)
	}
}

func TestLongTreesAreCut(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Limits: mcpfs.Limits{Tree: 25}}, clientOptions{})
	for d := range 5 {
		for f := range 10 {
			l.file(fmt.Sprintf("d%d/f%d", d, f), "")
		}
	}
	res := l.call("directory_tree", args{"path": "."})
	s := res.StructuredContent.(map[string]any)
	cursor, _ := s["next"].(map[string]any)["cursor"].(string)
	if told, _ := json.Marshal(res.Content[1:]); len(res.Content) != 2 || s["truncated"] != true || cursor == "" || !strings.Contains(string(told), "cursor: "+cursor) {
		t.Errorf("%d blocks, %v: %s", len(res.Content), s["next"], told)
	}
	if !json.Valid([]byte(textOf(res))) || strings.Count(textOf(res), `"name"`) != 25 {
		t.Errorf("%s", textOf(res))
	}
}

func TestDeepTreesAreCut(t *testing.T) {
	l := one(t)
	l.mkdir(strings.Repeat("s/", 450))
	path, levels := ".", 0
	for range 5 {
		res := l.call("directory_tree", args{"path": path})
		s := res.StructuredContent.(map[string]any)
		if !json.Valid([]byte(textOf(res))) {
			t.Fatal("no JSON")
		}
		levels += strings.Count(textOf(res), `"s"`)
		if s["truncated"] != true {
			break
		}
		path = s["next"].(map[string]any)["path"].(string)
	}
	if levels != 450 {
		t.Errorf("%d levels", levels)
	}
}
