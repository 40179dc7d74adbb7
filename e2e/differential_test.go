package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rootbound/rootbound/internal/rawmcp"
	"github.com/rootbound/rootbound/internal/rig"
)

// side is one of the two servers on its own copy of the tree.
type side struct {
	name string
	base string // all its directories lie below; replaced by BASE in what it says
	*rawmcp.Client
}

const official = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"

func argvOf(t *testing.T, name string) []string {
	t.Helper()
	if name == "rootbound" {
		return []string{rig.Binary(t), "serve", "--confine=off", "--no-slow"}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(official)
	if err != nil {
		t.Fatal(err)
	}
	return []string{node, script}
}

// begin starts a server on base/DIR for each of dirs.
func begin(t *testing.T, name, base string, o rawmcp.Options, dirs ...string) *side {
	t.Helper()
	o.Argv = append(argvOf(t, name), o.Argv...)
	for _, d := range dirs {
		o.Argv = append(o.Argv, filepath.Join(base, d))
	}
	o.Dir = base
	o.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base + "/home", "XDG_STATE_HOME=" + base + "/state", "TZ=UTC", "ROOTBOUND_FS_TIMEOUT=1m"}
	c, err := rawmcp.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Kill(); c.Close(time.Second) })
	return &side{name, base, c}
}

// pair makes two equal trees and starts both servers on them.
func pair(t *testing.T, o rawmcp.Options, dirs ...string) [2]*side {
	t.Helper()
	var out [2]*side
	for i, name := range []string{"official", "rootbound"} {
		out[i] = begin(t, name, tree(t), o, dirs...)
		if _, err := out[i].Open(deadline(t)); err != nil {
			t.Fatalf("%s: %v; %s", name, err, out[i].Stderr())
		}
	}
	return out
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

var treeTime = time.Date(2026, 11, 29, 21, 18, 42, 0, time.UTC)

// tree is the common ground: what real trees hold, without what the two servers treat differently on purpose.
func tree(t *testing.T) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"ws/a.txt": "hello\nworld\nthird\n", "ws/empty.txt": "", "ws/bom.txt": "\ufeffx\ny\n", "ws/last.txt": "one\ntwo\nthree",
		"ws/dir/sub/deep.txt": "deep\n", "ws/dir/b.md": "# b\n", "ws/dir/.hidden.txt": "h\n", "ws/Dir2/X.TXT": "upper\n",
		"ws/img.png": "\x89PNG\r\n\x1a\n", "ws/pic.JPG": "\xff\xd8\xff", "ws/snd.mp3": "ID3", "ws/song.wav": "RIFF", "ws/vec.svg": "<svg/>",
		"ws/big.txt": strings.Repeat("0123456789abcde\n", 400), "ws/name with blank.txt": "blank\n", "ws/a%20b.txt": "percent\n",
		"ws/code.go": "package a\n\nfunc A() {\n\treturn\n}\n", "ws/package.json": "{}\n", "ws/node_modules/x/package.json": "{}\n",
		"ws/dir/node_modules/y/package.json": "{}\n", "ws/over.txt": "old\n", "ws/mv.txt": "moved\n", "ws/cafe\u0301.txt": "nfd\n",
		"ws/~$lock.docx": "lock\n", "second/only.txt": "second\n", "out/secret.txt": canary,
	} {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"ws/emptydir", "home", "state"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"ws/links/in": "../a.txt", "ws/links/indir": "../dir", "ws/links/out": "../../out/secret.txt", "ws/links/gone": "nowhere", "alias": "ws",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(base+"/out/secret.txt", base+"/ws/hard.txt"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(base+"/ws/over.txt", 0o600); err != nil {
		t.Fatal(err)
	}
	filepath.WalkDir(base, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type()&os.ModeSymlink == 0 {
			os.Chtimes(p, treeTime, treeTime)
		}
		return nil
	})
	return base
}

// how two answers are compared.
type comparison int

const (
	same    comparison = iota // the whole text
	sorted                    // the lines, in any order (theirs is the directory's own)
	asTree                    // the JSON tree, in any order
	refusal                   // both refuse; the words are ours
	info                      // the text without times that differ by nature
)

// keep is one row of the drop-in contract whose behaviour stays as it is. BASE stands for the server's own directory.
type keep struct {
	row  string
	tool string
	args string // JSON
	how  comparison
}

var keeps = []keep{
	{"4 read_file", "read_file", `{"path":"BASE/ws/a.txt"}`, same},
	{"4 read_text_file", "read_text_file", `{"path":"BASE/ws/a.txt"}`, same},
	{"4 read_text_file empty", "read_text_file", `{"path":"BASE/ws/empty.txt"}`, same},
	{"4 read_text_file no final newline", "read_text_file", `{"path":"BASE/ws/last.txt"}`, same},
	{"4 read_text_file byte-order mark kept", "read_text_file", `{"path":"BASE/ws/bom.txt"}`, same},
	{"4 head joins without a final newline", "read_text_file", `{"path":"BASE/ws/a.txt","head":2}`, same},
	{"4 head and tail at once", "read_text_file", `{"path":"BASE/ws/a.txt","head":1,"tail":1}`, refusal},
	{"4 tail of a file without a final newline", "read_text_file", `{"path":"BASE/ws/last.txt","tail":2}`, same},
	{"4 image", "read_media_file", `{"path":"BASE/ws/img.png"}`, same},
	{"4 image, extension in capitals", "read_media_file", `{"path":"BASE/ws/pic.JPG"}`, same},
	{"4 svg", "read_media_file", `{"path":"BASE/ws/vec.svg"}`, same},
	{"4 audio", "read_media_file", `{"path":"BASE/ws/snd.mp3"}`, same},
	{"4 audio wav", "read_media_file", `{"path":"BASE/ws/song.wav"}`, same},
	{"4 read_multiple_files", "read_multiple_files", `{"paths":["BASE/ws/a.txt","BASE/ws/dir/b.md"]}`, same},
	{"4 read_multiple_files, one", "read_multiple_files", `{"paths":["BASE/ws/a.txt"]}`, same},
	{"4 read_multiple_files, none", "read_multiple_files", `{"paths":[]}`, refusal},
	{"4 write_file, new", "write_file", `{"path":"BASE/ws/new.txt","content":"new\n"}`, same},
	{"4 write_file, over", "write_file", `{"path":"BASE/ws/over.txt","content":"now\n"}`, same},
	{"4 write_file through an inside link", "write_file", `{"path":"BASE/ws/links/in","content":"via\n"}`, same},
	{"5 hard link: the other name keeps its bytes", "write_file", `{"path":"BASE/ws/hard.txt","content":"mine\n"}`, same},
	{"4 edit_file, dry run", "edit_file", `{"path":"BASE/ws/code.go","edits":[{"oldText":"\treturn","newText":"\tpanic(1)"}],"dryRun":true}`, same},
	{"4 edit_file", "edit_file", `{"path":"BASE/ws/code.go","edits":[{"oldText":"\treturn","newText":"\tpanic(1)"}]}`, same},
	{"4 edit_file, nothing to change", "edit_file", `{"path":"BASE/ws/big.txt","edits":[],"dryRun":true}`, same},
	{"4 edit_file, last line without newline", "edit_file", `{"path":"BASE/ws/last.txt","edits":[{"oldText":"three","newText":"3"}],"dryRun":true}`, same},
	{"4 edit_file, back-quotes inside", "edit_file", "{\"path\":\"BASE/ws/dir/b.md\",\"edits\":[{\"oldText\":\"# b\",\"newText\":\"```go\\n```\"}],\"dryRun\":true}", same},
	{"4 edit_file, no match", "edit_file", `{"path":"BASE/ws/a.txt","edits":[{"oldText":"absent","newText":"x"}]}`, refusal},
	{"4 create_directory", "create_directory", `{"path":"BASE/ws/made/deep/er"}`, same},
	{"4 create_directory, existing", "create_directory", `{"path":"BASE/ws/dir"}`, same},
	{"4 list_directory", "list_directory", `{"path":"BASE/ws/dir"}`, sorted},
	{"4 list_directory, empty", "list_directory", `{"path":"BASE/ws/emptydir"}`, same},
	{"4 list_directory_with_sizes", "list_directory_with_sizes", `{"path":"BASE/ws/dir"}`, sorted},
	{"4 list_directory_with_sizes by size", "list_directory_with_sizes", `{"path":"BASE/ws/Dir2","sortBy":"size"}`, same},
	{"4 directory_tree", "directory_tree", `{"path":"BASE/ws/dir"}`, asTree},
	{"4 directory_tree, empty", "directory_tree", `{"path":"BASE/ws/emptydir"}`, same},
	{"4 directory_tree, name excluded at any depth", "directory_tree", `{"path":"BASE/ws","excludePatterns":["node_modules","links"]}`, asTree},
	{"4 directory_tree, glob excluded", "directory_tree", `{"path":"BASE/ws","excludePatterns":["*.txt","links"]}`, asTree},
	{"4 move_file", "move_file", `{"source":"BASE/ws/mv.txt","destination":"BASE/ws/dir/moved.txt"}`, same},
	{"4 move_file onto an existing file", "move_file", `{"source":"BASE/ws/a.txt","destination":"BASE/ws/over.txt"}`, refusal},
	{"4 search, top level only", "search_files", `{"path":"BASE/ws","pattern":"*.txt"}`, sorted},
	{"4 search, everywhere, hidden too", "search_files", `{"path":"BASE/ws","pattern":"**/*.txt"}`, sorted},
	{"4 search, directories match", "search_files", `{"path":"BASE/ws","pattern":"**/sub"}`, sorted},
	{"4 search, braces", "search_files", `{"path":"BASE/ws","pattern":"**/*.{md,go}"}`, sorted},
	{"4 search, class", "search_files", `{"path":"BASE/ws","pattern":"[ab]*.txt"}`, sorted},
	{"4 search, case counts", "search_files", `{"path":"BASE/ws","pattern":"**/x.txt"}`, same},
	{"4 search, exclude without slash is top level", "search_files", `{"path":"BASE/ws","pattern":"**/package.json","excludePatterns":["node_modules"]}`, sorted},
	{"4 search, exclude stops the descent", "search_files", `{"path":"BASE/ws","pattern":"**/package.json","excludePatterns":["**/node_modules"]}`, sorted},
	{"4 search, nothing", "search_files", `{"path":"BASE/ws","pattern":"**/nothing"}`, same},
	{"4 search, links", "search_files", `{"path":"BASE/ws/links","pattern":"**"}`, sorted},
	{"4 get_file_info", "get_file_info", `{"path":"BASE/ws/a.txt"}`, info},
	{"4 get_file_info, directory", "get_file_info", `{"path":"BASE/ws/dir"}`, info},
	{"4 get_file_info, mode", "get_file_info", `{"path":"BASE/ws/over.txt"}`, info},
	{"4 list_allowed_directories", "list_allowed_directories", `{}`, same},
	{"5 doubled slash and dot", "read_text_file", `{"path":"BASE//ws/./a.txt"}`, same},
	{"5 .. that stays inside", "read_text_file", `{"path":"BASE/ws/dir/../a.txt"}`, same},
	{"5 relative", "read_text_file", `{"path":"dir/sub/deep.txt"}`, same},
	{"5 relative write", "write_file", `{"path":"relative.txt","content":"r"}`, same},
	{"5 empty path", "list_directory", `{"path":""}`, sorted},
	{"5 dot", "list_directory", `{"path":"."}`, sorted},
	{"5 drive letter", "read_text_file", `{"path":"C:\\x"}`, refusal},
	{"5 percent is literal", "read_text_file", `{"path":"BASE/ws/a%20b.txt"}`, same},
	{"5 tilde inside a name", "read_text_file", `{"path":"BASE/ws/~$lock.docx"}`, same},
	{"5 blank inside a name", "read_text_file", `{"path":"BASE/ws/name with blank.txt"}`, same},
	{"5 NUL", "read_text_file", `{"path":"BASE/ws/a.txt\u0000"}`, refusal},
	{"5 over-long", "read_text_file", `{"path":"BASE/ws/` + strings.Repeat("n", 300) + `"}`, refusal},
	{"5 NFC request for an NFD name", "read_text_file", `{"path":"BASE/ws/caf\u00e9.txt"}`, same},
	{"5 link inside", "read_text_file", `{"path":"BASE/ws/links/in"}`, same},
	{"5 directory link inside", "read_text_file", `{"path":"BASE/ws/links/indir/b.md"}`, same},
	{"5 link outside", "read_text_file", `{"path":"BASE/ws/links/out"}`, refusal},
	{"5 dangling link, read", "read_text_file", `{"path":"BASE/ws/links/gone"}`, refusal},
	{"5 dangling link, write", "write_file", `{"path":"BASE/ws/links/gone","content":"x"}`, refusal},
	{"5 dangling link, mkdir", "create_directory", `{"path":"BASE/ws/links/gone"}`, refusal},
	{"5 outside", "read_text_file", `{"path":"BASE/out/secret.txt"}`, refusal},
	{"2 missing argument", "read_text_file", `{}`, refusal},
	{"2 wrong type", "read_text_file", `{"path":7}`, refusal},
	{"2 bad enum", "list_directory_with_sizes", `{"path":"BASE/ws","sortBy":"colour"}`, refusal},
	{"2 unknown argument is dropped", "read_text_file", `{"path":"BASE/ws/last.txt","why":"because"}`, same},
	{"2 missing file", "read_text_file", `{"path":"BASE/ws/absent"}`, refusal},
}

func (s *side) call(t *testing.T, tool, args string) *rawmcp.Result {
	t.Helper()
	var a rawmcp.Args
	if err := json.Unmarshal([]byte(strings.ReplaceAll(args, "BASE", s.base)), &a); err != nil {
		t.Fatal(err)
	}
	r, err := s.Call(deadline(t), tool, a)
	if err != nil {
		t.Fatalf("%s: %v; %s", s.name, err, s.Stderr())
	}
	return r
}

func (s *side) token(text string) string { return strings.ReplaceAll(text, s.base, "BASE") }

var times = regexp.MustCompile(`(?m)^(created|accessed): (Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d GMT\+0000 \(Coordinated Universal Time\)$`)

// view is what a caller sees, in the form in which the two must be equal.
func (s *side) view(t *testing.T, r *rawmcp.Result, how comparison) any {
	text := s.token(r.Text)
	switch how {
	case sorted:
		lines := strings.Split(text, "\n")
		slices.Sort(lines)
		return lines
	case asTree:
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Errorf("%s: %v in %.200q", s.name, err, text)
		}
		return order(v)
	case info:
		return times.ReplaceAllString(text, "$1: TIME")
	case refusal:
		return "refused"
	}
	if len(r.Blocks) == 1 && r.Blocks[0].Type != "text" {
		return r.Blocks[0]
	}
	return text
}

// order sorts the entries of a tree by name.
func order(v any) any {
	l, ok := v.([]any)
	if !ok {
		return v
	}
	name := func(e any) string { m, _ := e.(map[string]any); s, _ := m["name"].(string); return s }
	slices.SortFunc(l, func(a, b any) int { return strings.Compare(name(a), name(b)) })
	for _, e := range l {
		if m, ok := e.(map[string]any); ok && m["children"] != nil {
			m["children"] = order(m["children"])
		}
	}
	return l
}

// TestDifferential sends the same calls to both servers on equal trees, one after the other on the same tree, and compares
// what comes back and what is then on disk.
func TestDifferential(t *testing.T) {
	installed(t)
	both := pair(t, rawmcp.Options{}, "ws")
	for _, k := range keeps {
		t.Run(k.row, func(t *testing.T) {
			var seen [2]any
			for i, s := range both {
				if k.how == info { // rows before changed some of them, perhaps not in the same second
					var at struct{ Path string }
					if err := json.Unmarshal([]byte(strings.ReplaceAll(k.args, "BASE", s.base)), &at); err != nil {
						t.Fatal(err)
					}
					if err := os.Chtimes(at.Path, treeTime, treeTime); err != nil {
						t.Fatal(err)
					}
				}
				r := s.call(t, k.tool, k.args)
				if strings.Contains(string(r.Raw), canary) {
					t.Errorf("%s shows what lies outside", s.name)
				}
				if want := k.how != refusal; r.OK() != want {
					t.Errorf("%s: success is %v, want %v: %s", s.name, r.OK(), want, r.Short())
				}
				if k.how != refusal && r.Structured == nil {
					t.Errorf("%s: no structured content", s.name)
				}
				seen[i] = s.view(t, r, k.how)
				if strings.HasPrefix(k.row, "2 ") && k.how == refusal && k.tool == "read_text_file" && k.row != "2 missing file" {
					if !strings.Contains(r.Text, "-32602") || !strings.Contains(r.Text, "read_text_file") || !strings.Contains(r.Text, "path") {
						t.Errorf("%s: the text names no code, tool and field: %q", s.name, r.Text)
					}
				}
				s.twice(t, r, k)
			}
			if d := cmp.Diff(seen[0], seen[1]); d != "" {
				t.Errorf("- official, + rootbound:\n%s", d)
			}
			if d := cmp.Diff(onDisk(t, both[0].base), onDisk(t, both[1].base)); d != "" {
				t.Errorf("on disk, - official, + rootbound:\n%s", d)
			}
		})
	}
}

// twice: a success carries the same text, or block, in both forms.
func (s *side) twice(t *testing.T, r *rawmcp.Result, k keep) {
	if k.how == refusal {
		return
	}
	var text string
	if r.Get("content", &text) {
		if text != r.Text {
			t.Errorf("%s: structured text differs: %.200q and %.200q", s.name, text, r.Text)
		}
		return
	}
	var blocks []rawmcp.Block
	if !r.Get("content", &blocks) || !cmp.Equal(blocks, r.Blocks) {
		t.Errorf("%s: structured content differs: %s", s.name, r.Short())
	}
}

// onDisk is a tree with the bytes of its files.
func onDisk(t *testing.T, base string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, top := range []string{"ws", "second", "out"} {
		err := filepath.WalkDir(filepath.Join(base, top), func(p string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			st, err := os.Lstat(p)
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(base, p)
			line := st.Mode().String()
			switch {
			case st.Mode().IsRegular():
				b, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				line += " " + string(b)
			case st.Mode()&os.ModeSymlink != 0:
				to, _ := os.Readlink(p)
				line += " -> " + to
			}
			out[rel] = line
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
