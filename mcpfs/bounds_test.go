package mcpfs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// wire is the size of a result as it is sent.
func wire(t *testing.T, v any) int {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

// A reply never grows with what lies on the disk. Each tool meets more than its bound, gives the bound and says so.
func TestG25RepliesAreBounded(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.Full)}, Limits: mcpfs.Limits{Tree: 300}}, clientOptions{})
	l.file("lines.txt", strings.Repeat("0123456789abcde\n", 1<<17)) // 2 MiB
	l.file("markup.txt", strings.Repeat("<&>\u0001", 1<<19))        // each of its bytes is six in JSON
	l.file("half.txt", strings.Repeat("0123456789abcde\n", 40_000))
	l.file("big.png", strings.Repeat("x", 5<<20))
	l.file("wide.txt", strings.Repeat(strings.Repeat("\u0001", 900)+"\n"+strings.Repeat("needle\n", 2), 2000))
	l.file("spans.txt", strings.Repeat(strings.Repeat("<", 1000)+"\n", 2000))
	far := strings.Repeat(strings.Repeat("d", 250)+"/", 12)
	l.file(far+"f", strings.Repeat("needle\n", 2000))
	l.mkdir("flat")
	for i := range 1100 {
		l.file(fmt.Sprintf("flat/%04d.dat", i), "")
	}
	sparse := func(name string, size int64) {
		f, err := os.Create(l.path(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(size); err != nil {
			t.Skipf("the file system holds no sparse file of %d bytes: %v", size, err)
		}
	}
	sparse("200m", 200<<20)
	sparse("1t", 1<<40)

	const line = 16 << 20 // what clients of the SDK take
	for _, c := range []struct {
		tool  string
		args  args
		cut   bool
		lines int // at most; 0: not counted
		text  int // bytes at most
	}{
		{"read_text_file", args{"path": "lines.txt"}, true, 0, 1<<20 + 200},
		{"read_text_file", args{"path": "lines.txt", "head": 1 << 30}, true, 0, 1<<20 + 200},
		{"read_text_file", args{"path": "lines.txt", "tail": 1 << 30}, true, 0, 1<<20 + 200},
		{"read_text_file", args{"path": "lines.txt", "line": 2, "lines": 1 << 40}, true, 0, 1<<20 + 200},
		{"read_text_file", args{"path": "markup.txt"}, true, 0, 1<<20 + 200},
		{"read_multiple_files", args{"paths": []string{"half.txt", "half.txt", "half.txt"}}, true, 0, 1<<20 + 1000},
		{"list_directory", args{"path": "flat"}, true, 1001, 1 << 20},
		{"list_directory_with_sizes", args{"path": "flat"}, true, 1004, 1 << 20},
		{"list_directory_with_sizes", args{"path": "flat", "sortBy": "size"}, true, 1004, 1 << 20},
		{"search_files", args{"path": ".", "pattern": "**/*.dat"}, true, 101, 1 << 20},
		{"search_files", args{"path": strings.Repeat("./", 8000) + "flat", "pattern": "*.dat"}, true, 101, 1 << 20},
		{"search_content", args{"path": ".", "pattern": "[0-9]"}, true, 101, 1 << 19},
		{"search_content", args{"path": "wide.txt", "pattern": "needle", "context": 100}, true, 0, 1 << 19},
		{"search_content", args{"path": "spans.txt", "pattern": "."}, true, 0, 1 << 19},
		{"search_content", args{"path": far, "pattern": "needle", "context": 100}, true, 0, 1 << 20},
		{"search_content", args{"path": strings.Repeat("./", 3000), "include": []string{"lines.txt"}, "pattern": "5", "context": 100}, true, 0, 1 << 20},
		{"directory_tree", args{"path": "."}, true, 0, 1 << 20},
		{"edit_file", args{"path": "lines.txt", "edits": []args{{"oldText": "5", "newText": "five", "replaceAll": true}}}, true, 0, 1<<20 + 1000},
	} {
		res := l.call(c.tool, c.args)
		text, what := textOf(res), fmt.Sprintf("%s %.200v", c.tool, c.args)
		if res.IsError {
			t.Errorf("%s: %s", what, text)
			continue
		}
		if n := wire(t, res); n > line {
			t.Errorf("%s: %d bytes on the wire", what, n)
		}
		if len(text) > c.text {
			t.Errorf("%s: %d bytes of text", what, len(text))
		}
		if n := strings.Count(text, "\n") + 1; c.lines > 0 && n > c.lines {
			t.Errorf("%s: %d lines", what, n)
		}
		s := res.StructuredContent.(map[string]any)
		validate(t, c.tool, s)
		if (s["truncated"] == true) != c.cut {
			t.Errorf("%s: truncated is %v", what, s["truncated"])
		}
		if c.tool != "edit_file" && s["next"] == nil {
			t.Errorf("%s: does not say how to go on", what)
		}
		told := text[strings.LastIndexByte(text, '\n')+1:]
		if c.tool == "directory_tree" || c.tool == "edit_file" {
			b, _ := json.Marshal(res.Content[1:])
			told = string(b)
			if !json.Valid([]byte(text)) && c.tool == "directory_tree" {
				t.Error("a cut tree is no JSON")
			}
		}
		if !strings.Contains(told, "cut") {
			t.Errorf("%s: the last line does not tell of the cut: %q", what, told)
		}
	}
	for _, c := range []struct {
		tool   string
		args   args
		reason string
	}{
		{"read_media_file", args{"path": "big.png"}, "too_large"},
		{"read_media_file", args{"path": "1t"}, "too_large"},
		{"read_text_file", args{"path": "200m"}, "not_text"},
		{"read_text_file", args{"path": "1t", "tail": 5}, "not_text"},
		{"edit_file", args{"path": "1t", "edits": []args{{"oldText": "a", "newText": "b"}}}, "too_large"},
	} {
		if _, e := l.no(c.tool, c.args); e["reason"] != c.reason {
			t.Errorf("%s %v: %v", c.tool, c.args, e)
		}
	}
}

// Names as long as they come do not make a tree that no client takes.
func TestTreeTextIsBoundedInBytes(t *testing.T) {
	l := one(t)
	deep := strings.Repeat(strings.Repeat("d", 200)+"/", 15)
	l.mkdir(deep)
	for i := range 2500 {
		l.file(fmt.Sprintf("%s%0200d", deep[:201*8], i), "")
	}
	res := l.call("directory_tree", args{"path": "."})
	if res.IsError || !json.Valid([]byte(textOf(res))) || wire(t, res) > 16<<20 {
		t.Errorf("%d bytes on the wire", wire(t, res))
	}
}
