package mcpfs_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

func TestToolsListKeepsItsOrder(t *testing.T) {
	l := one(t)
	res, err := l.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range res.Tools {
		got = append(got, tool.Name)
	}
	if d := cmp.Diff(mcpfs.Classic.Names(), got); d != "" {
		t.Error(d)
	}
}

func TestReadTextFile(t *testing.T) {
	l := one(t)
	l.file("a.txt", "one\ntwo\nthree\n")
	l.file("crlf.txt", "one\r\ntwo\r\n")
	l.file("bom.txt", "\ufeffmark\n")
	l.file("empty.txt", "")
	l.file("wide.txt", strings.Repeat("a", 1023)+"あ\nlast\n")
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"whole", args{"path": "a.txt"}, "one\ntwo\nthree\n"},
		{"absolute", args{"path": l.path("a.txt")}, "one\ntwo\nthree\n"},
		{"by root", args{"path": "a.txt", "root": "p"}, "one\ntwo\nthree\n"},
		{"head", args{"path": "a.txt", "head": 2}, "one\ntwo"},
		{"head of all", args{"path": "a.txt", "head": 3}, "one\ntwo\nthree\n"},
		{"head of more", args{"path": "a.txt", "head": 9}, "one\ntwo\nthree\n"},
		{"head of nothing", args{"path": "a.txt", "head": 0}, ""},
		{"head keeps returns", args{"path": "crlf.txt", "head": 1}, "one\r"},
		{"head across a block", args{"path": "wide.txt", "head": 1}, strings.Repeat("a", 1023) + "あ"},
		{"tail", args{"path": "a.txt", "tail": 1}, "three\n"},
		{"tail of more", args{"path": "a.txt", "tail": 9}, "one\ntwo\nthree\n"},
		{"tail of nothing", args{"path": "a.txt", "tail": 0}, ""},
		{"line", args{"path": "a.txt", "line": 2, "lines": 1}, "two\n"},
		{"from a line on", args{"path": "a.txt", "line": 2}, "two\nthree\n"},
		{"lines alone", args{"path": "a.txt", "lines": 2}, "one\ntwo\n"},
		{"offset", args{"path": "a.txt", "offset": 4}, "two\nthree\n"},
		{"offset past every file", args{"path": "a.txt", "offset": int64(math.MaxInt64)}, ""},
		{"line past every file", args{"path": "a.txt", "line": int64(math.MaxInt64), "lines": int64(math.MaxInt64)}, ""},
		{"more lines than there are", args{"path": "a.txt", "tail": int64(math.MaxInt64)}, "one\ntwo\nthree\n"},
		{"mark kept", args{"path": "bom.txt"}, "\ufeffmark\n"},
		{"empty", args{"path": "empty.txt"}, ""},
		{"unknown arguments", args{"path": "a.txt", "whatever": []int{1}}, "one\ntwo\nthree\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, s := l.ok("read_text_file", c.args)
			if text != c.want || s["content"] != c.want {
				t.Errorf("%q, structured %q, want %q", text, s["content"], c.want)
			}
			if s["version"] == nil || s["truncated"] != nil {
				t.Errorf("version %v, truncated %v", s["version"], s["truncated"])
			}
			if old, _ := l.ok("read_file", c.args); old != c.want {
				t.Errorf("read_file gives %q", old)
			}
		})
	}
}

func TestLongReadsAreCutAndGoOn(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadWrite)}, Limits: mcpfs.Limits{Text: 100}}, clientOptions{})
	var whole strings.Builder
	for i := range 60 {
		fmt.Fprintf(&whole, "line %d\n", i+1)
	}
	l.file("long.txt", whole.String())
	l.file("one-line.txt", strings.Repeat("x", 250))
	for _, name := range []string{"long.txt", "one-line.txt"} {
		var got string
		next := args{}
		for range 20 {
			a := args{"path": name}
			for k, v := range next {
				a[k] = v
			}
			text, s := l.ok("read_text_file", a)
			if s["truncated"] != true {
				got += text
				next = nil
				break
			}
			i := strings.LastIndex(text, "[cut ")
			if i < 0 || !strings.Contains(text[i:], "go on with") {
				t.Fatalf("the cut is not told: %q", text)
			}
			part := text[:i]
			if name == "one-line.txt" {
				part = strings.TrimSuffix(part, "\n")
			}
			got += part
			next = s["next"].(map[string]any)
		}
		if next != nil || got != l.read(name) {
			t.Errorf("%s: the parts make %d bytes of %d", name, len(got), len(l.read(name)))
		}
	}
	text, s := l.ok("read_text_file", args{"path": "long.txt", "tail": 50})
	if s["truncated"] != true || !strings.Contains(text, "line 60\n") || !strings.Contains(text, "offset") {
		t.Errorf("a long tail: %q %v", text, s["next"])
	}
	// A version of a cut read does not allow to replace the whole file.
	_, s = l.ok("read_text_file", args{"path": "long.txt"})
	if _, e := l.no("write_file", args{"path": "long.txt", "content": "x", "root": "p", "expected_version": s["version"]}); e["reason"] != "version_partial" {
		t.Errorf("%v", e)
	}
}

func TestReadMediaFile(t *testing.T) {
	l := one(t)
	l.file("A.PNG", "\x89PNG")
	l.file("s.svg", "<svg/>")
	l.file("m.mp3", "ID3")
	l.file("dir x/ü.xlsx", "PK\x03\x04")
	l.file("none.bin", "")
	for _, c := range []struct{ path, kind, mime string }{{"A.PNG", "image", "image/png"}, {"s.svg", "image", "image/svg+xml"}, {"m.mp3", "audio", "audio/mpeg"}} {
		res := l.call("read_media_file", args{"path": c.path})
		b, _ := json.Marshal(res.Content[0])
		var block struct{ Type, Data, MimeType string }
		if err := json.Unmarshal(b, &block); err != nil || block.Type != c.kind || block.MimeType != c.mime || block.Data != base64.StdEncoding.EncodeToString([]byte(l.read(c.path))) {
			t.Errorf("%s: %s", c.path, b)
		}
		first := res.StructuredContent.(map[string]any)["content"].([]any)[0].(map[string]any)
		if first["type"] != c.kind || first["data"] != block.Data {
			t.Errorf("%s structured: %v", c.path, first)
		}
	}
	for path, uri := range map[string]string{"dir x/ü.xlsx": "rootbound://p/dir%20x/%C3%BC.xlsx", "none.bin": "rootbound://p/none.bin"} {
		res := l.call("read_media_file", args{"path": path})
		r, ok := res.Content[0].(*mcp.EmbeddedResource)
		if !ok || r.Resource.URI != uri || r.Resource.MIMEType != "application/octet-stream" || string(r.Resource.Blob) != l.read(path) {
			t.Errorf("%s: %+v", path, res.Content[0])
		}
		block := res.StructuredContent.(map[string]any)["content"].([]any)[0].(map[string]any)
		if _, has := block["resource"].(map[string]any)["blob"]; !has {
			t.Errorf("%s: no blob in %v", path, block)
		}
	}
}

func TestReadMultipleFiles(t *testing.T) {
	l := one(t)
	l.file("a.txt", "A\n")
	l.file("b.txt", "B")
	text, s := l.ok("read_multiple_files", args{"paths": []string{"b.txt", "none.txt", "../out", "a.txt"}})
	parts := strings.Split(text, "\n---\n")
	if len(parts) != 4 || parts[0] != "b.txt:\nB\n" || parts[3] != "a.txt:\nA\n\n" ||
		!strings.HasPrefix(parts[1], "none.txt: Error - ") || !strings.HasPrefix(parts[2], "../out: Error - ") {
		t.Errorf("%q", text)
	}
	if s["content"] != text || len(s["files"].([]any)) != 4 {
		t.Errorf("%v", s)
	}
	var many []string
	for range 40 {
		many = append(many, "a.txt", "none.txt")
	}
	if text, _ := l.ok("read_multiple_files", args{"paths": many}); strings.Count(text, "a.txt:\nA\n") != 40 {
		t.Errorf("%q", text)
	}
}

func TestReadMultipleFilesIsBoundedAsAWhole(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}, Limits: mcpfs.Limits{Text: 1000}}, clientOptions{})
	var paths []any
	for i := range 50 {
		name := fmt.Sprintf("%02d.txt", i)
		l.file(name, strings.Repeat(name, 50))
		paths = append(paths, name)
	}
	seen := map[string]bool{}
	a := args{"paths": paths}
	for range 60 {
		text, s := l.ok("read_multiple_files", a)
		if len(text) > 1400 {
			t.Fatalf("%d bytes", len(text))
		}
		for _, f := range s["files"].([]any) {
			p := f.(map[string]any)["path"].(string)
			if seen[p] {
				t.Errorf("%s is read twice", p)
			}
			seen[p] = true
		}
		if s["truncated"] != true {
			break
		}
		maps.Copy(a, s["next"].(map[string]any))
	}
	if len(seen) != 50 {
		t.Errorf("%d files were read", len(seen))
	}
}

// The text form of a refused authority is a refused call, not a list of failed files.
func TestReadMultipleFilesIsRefusedWithTheAuthority(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadOnly)}}, clientOptions{roots: []string{}, revision: "2025-06-18"})
	if _, e := l.no("read_multiple_files", args{"paths": []string{"a"}}); e["reason"] != "roots_empty" {
		t.Errorf("%v", e)
	}
}

func TestWriteFile(t *testing.T) {
	l := one(t)
	text, s := l.ok("write_file", args{"path": "a.txt", "content": "one"})
	if text != "Successfully wrote to a.txt" || l.read("a.txt") != "one" {
		t.Errorf("%q %q", text, l.read("a.txt"))
	}
	_, s2 := l.ok("write_file", args{"path": l.path("a.txt"), "content": "two", "expected_version": s["version"]})
	if l.read("a.txt") != "two" || s2["version"] == s["version"] {
		t.Errorf("%q %v", l.read("a.txt"), s2)
	}
	if _, e := l.no("write_file", args{"path": "a.txt", "content": "three", "expected_version": s["version"]}); e["reason"] != "version_conflict" {
		t.Errorf("%v", e)
	}
	if _, e := l.no("write_file", args{"path": "a.txt", "content": "three", "expected_version": "absent"}); e["reason"] != "exists" {
		t.Errorf("%v", e)
	}
	if l.read("a.txt") != "two" {
		t.Errorf("%q", l.read("a.txt"))
	}
	if _, e := l.no("write_file", args{"path": "none/a.txt", "content": "x"}); e["reason"] != "parent_missing" || !strings.Contains(e["detail"].(string), "none") {
		t.Errorf("%v", e)
	}
	left, err := os.ReadDir(l.dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestEditFile(t *testing.T) {
	l := one(t)
	l.file("a.txt", "one\r\ntwo\r\nthree\r\n")
	text, s := l.ok("edit_file", args{"path": "a.txt", "edits": []args{{"oldText": "two", "newText": "2"}}, "dryRun": true})
	want := "```diff\nIndex: a.txt\n" + strings.Repeat("=", 67) + "\n--- a.txt\toriginal\n+++ a.txt\tmodified\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n```\n\n"
	if text != want || s["content"] != want {
		t.Errorf("%q\n%q", text, want)
	}
	if l.read("a.txt") != "one\r\ntwo\r\nthree\r\n" {
		t.Error("a dry run wrote")
	}
	if again, _ := l.ok("edit_file", args{"path": "a.txt", "edits": []args{{"oldText": "two", "newText": "2"}}}); again != want {
		t.Errorf("%q", again)
	}
	if l.read("a.txt") != "one\r\n2\r\nthree\r\n" {
		t.Errorf("%q", l.read("a.txt"))
	}
	l.file("d.txt", "x\nx\n")
	if _, e := l.no("edit_file", args{"path": "d.txt", "edits": []args{{"oldText": "x", "newText": "y"}}}); e["reason"] != "edit_ambiguous" {
		t.Errorf("%v", e)
	}
	l.ok("edit_file", args{"path": "d.txt", "edits": []args{{"oldText": "x", "newText": "y", "replaceAll": true}}})
	if l.read("d.txt") != "y\ny\n" {
		t.Errorf("%q", l.read("d.txt"))
	}
	l.file("i.txt", "  a\n  b\n")
	text, s = l.ok("edit_file", args{"path": "i.txt", "edits": []args{{"oldText": "a\nb", "newText": "c\nd"}}})
	if l.read("i.txt") != "  c\n  d\n" || s["note"] == nil || strings.Contains(text, "note") {
		t.Errorf("%q %v", l.read("i.txt"), s["note"])
	}
}

func TestCreateDirectoryAndMove(t *testing.T) {
	l := one(t)
	if text, _ := l.ok("create_directory", args{"path": "./x/y/z"}); text != "Successfully created directory ./x/y/z" {
		t.Error(text)
	}
	l.ok("create_directory", args{"path": "x/y"})
	l.file("a.txt", "A")
	if text, _ := l.ok("move_file", args{"source": "a.txt", "destination": "x/y/b.txt"}); text != "Successfully moved a.txt to x/y/b.txt" || l.read("x/y/b.txt") != "A" {
		t.Error(text)
	}
	l.file("c.txt", "C")
	if _, e := l.no("move_file", args{"source": "c.txt", "destination": "x/y/b.txt"}); e["reason"] != "exists" {
		t.Errorf("%v", e)
	}
	l.ok("move_file", args{"source": "c.txt", "destination": "x/y/b.txt", "overwrite": true})
	if l.read("x/y/b.txt") != "C" {
		t.Error(l.read("x/y/b.txt"))
	}
}

func TestSearchFiles(t *testing.T) {
	l := one(t)
	l.file("a.py", "")
	l.file("sub/m.py", "")
	l.file("sub/.hidden.py", "")
	l.file("skip/x.py", "")
	l.link("gone.py", "nowhere")
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": l.dir, "pattern": "*.py"}, l.path("a.py")},
		{args{"path": ".", "pattern": "**/*.py", "excludePatterns": []string{"skip"}}, "./a.py\n./sub/.hidden.py\n./sub/m.py"},
		{args{"path": "sub", "pattern": "*.py"}, "sub/.hidden.py\nsub/m.py"},
		{args{"path": "sub/", "pattern": "m*"}, "sub/m.py"},
		{args{"path": ".", "pattern": "*.none"}, "No matches found"},
		{args{"path": ".", "pattern": "su?"}, "./sub"},
	} {
		if text, s := l.ok("search_files", c.args); text != c.want || s["content"] != c.want {
			t.Errorf("%v: %q, want %q", c.args, text, c.want)
		}
	}
	if _, e := l.no("search_files", args{"path": ".", "pattern": "!(a)"}); e["reason"] != "argument_invalid" {
		t.Errorf("%v", e)
	}
}

func TestGetFileInfo(t *testing.T) {
	l := one(t)
	l.file("a.txt", "12345")
	if err := os.Chmod(l.path("a.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	text, s := l.ok("get_file_info", args{"path": "a.txt"})
	lines := strings.Split(text, "\n")
	if len(lines) != 7 || lines[0] != "size: 5" || lines[4] != "isDirectory: false" || lines[5] != "isFile: true" || lines[6] != "permissions: 640" ||
		!strings.HasPrefix(lines[1], "created: ") || !strings.HasSuffix(lines[2], " GMT+0000 (Coordinated Universal Time)") {
		t.Errorf("%q", text)
	}
	_, r := l.ok("read_text_file", args{"path": "a.txt"})
	if s["version"] != r["version"] {
		t.Errorf("%v is not %v", s["version"], r["version"])
	}
	if text, _ := l.ok("get_file_info", args{"path": "."}); !strings.Contains(text, "isDirectory: true\nisFile: false") {
		t.Errorf("%q", text)
	}
}

func TestListAllowedDirectories(t *testing.T) {
	a, b := project(t, "a", rootbound.ReadWrite), project(t, "b", rootbound.ReadOnly)
	if err := os.Mkdir(filepath.Join(a.Dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := start(t, serve.Options{Projects: []rootbound.Project{a, b}}, clientOptions{})
	if text, _ := l.ok("list_allowed_directories", nil); text != "Allowed directories:\n"+a.Dir+"\n"+b.Dir {
		t.Errorf("%q", text)
	}
	l = start(t, serve.Options{Projects: []rootbound.Project{a, b}}, clientOptions{roots: []string{uri(a.Dir + "/sub")}, revision: "2025-06-18"})
	text, s := l.ok("list_allowed_directories", nil)
	if text != "Allowed directories:\n"+a.Dir+"/sub" {
		t.Errorf("%q", text)
	}
	if note, _ := s["note"].(string); !strings.Contains(note, "the client's roots") {
		t.Errorf("does not say that the roots narrowed: %v", s)
	}
	if d := s["directories"].([]any)[0].(map[string]any); d["path"] != a.Dir+"/sub" || d["id"] == "a" || d["id"] == "" {
		t.Errorf("%v", d)
	}
}

func TestUnknownToolIsAProtocolError(t *testing.T) {
	l := one(t)
	_, err := l.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"})
	if err == nil || !strings.Contains(err.Error(), "no_such_tool") {
		t.Errorf("%v", err)
	}
}

// A pattern that is broken is served as the classic server did, and the answer says what became of it.
func TestBrokenBracketIsTold(t *testing.T) {
	l := one(t)
	l.file("a.c", "")
	text, s := l.ok("search_files", args{"path": ".", "pattern": "*.[ch"})
	validate(t, "search_files", s)
	if note, _ := s["note"].(string); text != "No matches found" || !strings.Contains(note, `write \[`) {
		t.Errorf("%q %v", text, s)
	}
	l.file("*.[ch", "")
	if text, s := l.ok("search_files", args{"path": ".", "pattern": "*.[ch"}); text != "./*.[ch" || s["note"] != nil {
		t.Errorf("%q %v", text, s)
	}
}
