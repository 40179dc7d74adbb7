//go:build linux

package cases

import (
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// spelled is one row of contract §5's table: what becomes of a path.
type spelled struct {
	path  string
	root  string // the argument
	want  string // text that is read, or the reason of the refusal
	write string // reason of a write of the same path; empty: not tried; "ok": it succeeds
	hint  string // the refusal names this way out
}

// speltWorld: two projects p and q in $W/ws, an outside, and names of all kinds.
func speltWorld(t *testing.T, name string) *world {
	w := newWorld(t, base+"/spelt", name)
	for path, text := range map[string]string{
		"ws/p/f": inText, "ws/p/d/g": inText, "ws/p/only-p": inText, "ws/q/f": inText, "ws/q/only-q": inText, "ws/q/sub/x": inText,
		"ws/p/~$x": inText, "ws/p/a%2Fb": inText, "ws/p/a\nb": inText, "ws/p/bad\xff": inText, `ws/p/back\slash`: inText,
		"ws/p/cafe\u0301": inText, "ws/p/100%": inText, "ws/pp/f": secretText,
	} {
		w.put(w.dir+"/"+path, []byte(text))
	}
	if err := os.Symlink("../../out", w.dir+"/ws/p/outlink"); err != nil {
		t.Fatal(err)
	}
	return w
}

// spell puts the rows to a server, then looks whether anything changed and whether it still reads.
func (w *world) spell(p *product, rows []spelled) {
	t := w.t
	t.Helper()
	before := take(w.dir, nil, nil)
	wrote := false
	for _, c := range rows {
		path := w.expand(c.path)
		args := func() rawmcp.Args {
			a := rawmcp.Args{"path": rawmcp.Text(path)}
			if c.root != "" {
				a["root"] = c.root
			}
			return a
		}
		what := strings.ReplaceAll(path, w.dir, "$W")
		if len(what) > 80 {
			what = what[:80] + "…"
		}
		if c.root != "" {
			what += " in " + c.root
		}
		if c.want != "" {
			r := w.ask(p, "read_text_file", args())
			if c.want == inText {
				if !r.OK() || r.Text != inText {
					t.Errorf("read %q: want its text, got %s", what, r.Short())
				}
			} else {
				w.refusedAs("read "+what, r, c.want, path, w.dir+"/ws/p", w.dir+"/ws/q")
				if c.hint != "" && !strings.Contains(r.Text, c.hint) {
					t.Errorf("read %q: the text does not name %q: %s", what, c.hint, r.Short())
				}
			}
		}
		if c.write == "" {
			continue
		}
		a := args()
		a["content"] = inText
		if r := w.ask(p, "write_file", a); c.write == "ok" {
			wrote = true
			if !r.OK() {
				t.Errorf("write %q: %s", what, r.Short())
			}
		} else {
			w.refusedAs("write "+what, r, c.write, path, w.dir+"/ws/p", w.dir+"/ws/q")
		}
	}
	if !wrote {
		w.unchanged(before)
	}
	if p.project != "" {
		w.reads(p, "f", inText)
		return
	}
	w.reads(p, w.dir+"/ws/p/f", inText)
}

func TestBadSpellings(t *testing.T) {
	t.Run("one project", func(t *testing.T) {
		t.Parallel()
		w := speltWorld(t, "one")
		defer w.close()
		p := w.serveBad(start{}, w.dir+"/ws/p")
		w.spell(p, []spelled{
			{path: "f", want: inText}, {path: "./d//./g", want: inText}, {path: "d/../f", want: inText}, {path: "$W/ws/p//d/./g", want: inText},
			{path: "~$x", want: inText}, {path: "a%2Fb", want: inText}, {path: "100%", want: inText}, {path: `back\slash`, want: inText},
			{path: `a\x0ab`, want: inText}, {path: `bad\xff`, want: inText}, {path: "caf\u00e9", want: inText},

			{path: "../q/f", want: "outside_root", write: "outside_root"},
			{path: "d/../../q/f", want: "outside_root", write: "outside_root"},
			{path: "../p/f", want: "outside_root", write: "outside_root"},
			{path: "none/../f", want: "not_found", write: "parent_missing"},
			{path: "none/../../../f", want: "outside_root", write: "outside_root"},
			{path: "outlink/secret", want: "outside_root", write: "outside_root"},
			{path: "outlink/none", want: "outside_root", write: "outside_root"},
			{path: "$W/ws/pp/f", want: "outside_root", write: "outside_root"},
			{path: "$W/ws/p/../pp/f", want: "outside_root", write: "outside_root"},
			{path: "/nothing/here", want: "outside_root", write: "outside_root"},
			{path: "/", want: "outside_root", write: "outside_root"},
			{path: "//f", want: "outside_root", write: "outside_root"},
			{path: "", want: "is_a_directory", write: "path_invalid"}, {path: ".", want: "is_a_directory", write: "path_invalid"},
			{path: "$W/ws/p", want: "is_a_directory", write: "path_invalid"},
			{path: "f/", want: "path_invalid", write: "path_invalid"}, {path: "new/", write: "path_invalid"},
			{path: "f/x", want: "not_a_directory", write: "not_a_directory"},
			{path: "none/new", want: "not_found", write: "parent_missing"},
			{path: "~", want: "path_invalid", write: "path_invalid"}, {path: "~/f", want: "path_invalid", write: "path_invalid"},
			{path: "~nobody/f", want: "path_invalid", write: "path_invalid"},
			{path: "%2e%2e/q/f", want: "path_encoded_traversal", write: "path_encoded_traversal"},
			{path: "d%2F..%2F..%2Fq/f", want: "path_encoded_traversal", write: "path_encoded_traversal"},
			{path: "..%2Fq/f", want: "path_encoded_traversal", write: "path_encoded_traversal"},
			{path: "f%00", want: "path_encoded_traversal", write: "path_encoded_traversal"},
			{path: "%252e%252e/f", want: "not_found", write: "parent_missing"},
			{path: "f\x00", want: "path_invalid", write: "path_invalid"}, {path: "\x00", want: "path_invalid", write: "path_invalid"},
			{path: "$rep{256,n}", want: "path_invalid", write: "path_invalid"},
			{path: "$rep{100000,n/}f", want: "path_invalid", write: "path_invalid"},
			{path: "$rep{3000000,x}", want: "path_invalid", write: "path_invalid"},
			{path: "$rep{30000,../}f", want: "outside_root", write: "outside_root"},
			{path: `C:\f`, want: "path_invalid", write: "path_invalid"}, {path: `c:\`, want: "path_invalid", write: "path_invalid"},
			{path: "file://$W/ws/p/f", want: "path_invalid", write: "path_invalid"},
			{path: "F", want: "not_found"}, {path: "bad\ufffd", want: "not_found"},
			{path: "f", root: "other", want: "project_unknown", write: "project_unknown"},
			{path: "f", root: "../q", want: "project_unknown", write: "project_unknown"},
			{path: "f", root: "$rep{5000,x}", want: "project_unknown", write: "project_unknown"},
			{path: "f", root: "p\x00", want: "project_unknown", write: "project_unknown"},
			{path: "\u202e\u0007\n", want: "not_found"},
		})
		// A mutation takes an escaped or a differently composed form as a name of its own.
		w.spell(p, []spelled{{path: `a\x0ab2`, write: "ok"}, {path: "caf\u00e9-new", write: "ok"}, {path: "~$y", write: "ok"}, {path: "x%2Fy", write: "ok"}})
		for _, name := range []string{`a\x0ab2`, "caf\u00e9-new", "~$y", "x%2Fy"} {
			if b, err := os.ReadFile(w.dir + "/ws/p/" + name); err != nil || string(b) != inText {
				t.Errorf("%q: %q %v", name, b, err)
			}
		}
	})
	projects := func(w *world, relative string) string {
		return w.writeConfig(map[string]any{"relative": relative, "projects": []map[string]any{
			{"id": "p", "dir": w.dir + "/ws/p", "rights": "rw"}, {"id": "q", "dir": w.dir + "/ws/q", "rights": "rw"}}})
	}
	for relative, rows := range map[string][]spelled{
		"unique": {
			{path: "only-p", want: inText, write: "root_required"}, {path: "only-q", want: inText, write: "root_required"},
			{path: "f", want: "path_ambiguous", write: "root_required", hint: "q"},
			{path: "none", want: "not_found", write: "root_required"},
			{path: ".", want: "is_a_directory", write: "root_required"}, {path: "", want: "is_a_directory", write: "root_required"},
			{path: "f", root: "p", want: inText}, {path: "f", root: "q", want: inText}, {path: "$W/ws/q/f", want: inText},
			{path: "only-q", root: "p", want: "not_found"}, {path: "../q/f", root: "p", want: "outside_root", write: "outside_root"},
			{path: "f", root: "P", want: "project_unknown", write: "project_unknown"},
			{path: "$W/ws/q/f", root: "p", want: "outside_root", write: "outside_root"},
		},
		"first": {
			{path: "f", want: inText, write: "root_required"}, {path: "only-p", want: inText}, {path: "only-q", want: inText, write: "root_required"},
		},
		"explicit": {
			{path: "only-p", want: "path_ambiguous", write: "root_required", hint: "p"}, {path: "f", root: "q", want: inText},
		},
	} {
		t.Run("two projects, "+relative, func(t *testing.T) {
			t.Parallel()
			w := speltWorld(t, relative)
			defer w.close()
			w.spell(w.serveBad(start{}, "--tools=classic", "--config", projects(w, relative)), rows)
		})
	}
	t.Run("project form", func(t *testing.T) {
		t.Parallel()
		w := speltWorld(t, "project")
		defer w.close()
		p := w.serveBad(start{roots: func(int) rawmcp.Answer {
			return rawmcp.Answer{Roots: []string{fileURI(w.dir + "/ws/q/sub"), fileURI(w.dir + "/ws/p")}}
		}}, "--config", projects(w, "unique"))
		p.project = "p"
		w.spell(p, []spelled{
			{path: "f", want: inText}, {path: "./d/./g", want: inText}, {path: "~$x", want: inText}, {path: "a%2Fb", want: inText}, {path: "100%", want: inText},
			{path: `a\x0ab`, want: inText}, {path: `bad\xff`, want: inText}, {path: "caf\u00e9", want: inText}, {path: `back\slash`, want: inText},
			{path: "", want: "path_invalid", write: "path_invalid"}, {path: ".", want: "is_a_directory", write: "path_invalid"},
			{path: "/", want: "path_invalid", write: "path_invalid"}, {path: "/f", want: "path_invalid", write: "path_invalid"},
			{path: "$W/ws/p/f", want: "path_invalid", write: "path_invalid"}, {path: "/nothing/here", want: "path_invalid", write: "path_invalid"},
			{path: "d//g", want: "path_invalid", write: "path_invalid"}, {path: "d/../f", want: "path_invalid", write: "path_invalid"},
			{path: "../q/f", want: "path_invalid", write: "path_invalid"}, {path: "..", want: "path_invalid", write: "path_invalid"},
			{path: "$rep{30000,../}f", want: "path_invalid", write: "path_invalid"}, {path: "$rep{3000000,x}", want: "path_invalid", write: "path_invalid"},
			{path: "%2e%2e/q/f", want: "path_encoded_traversal", write: "path_encoded_traversal"}, {path: "f\x00", want: "path_invalid", write: "path_invalid"},
			{path: "outlink/secret", want: "outside_root", write: "outside_root"}, {path: "outlink", want: "outside_root", write: "outside_root"},
			{path: "f/", want: "path_invalid", write: "path_invalid"}, {path: "none", want: "not_found"}, {path: "~/f", want: "path_invalid", write: "path_invalid"},
			{path: "sub/x", root: "q", want: inText}, {path: "only-q", root: "q", want: "outside_root", write: "outside_root"},
			{path: "x", root: "q", want: "outside_root", write: "outside_root", hint: "sub/x"},
			{path: "f", root: "P", want: "project_unknown", write: "project_unknown"}, {path: "f", root: "ws", want: "project_unknown", write: "project_unknown"},
			{path: "f", root: "$rep{5000,x}", want: "project_unknown", write: "project_unknown"}, {path: "f", root: "sub", want: "project_unknown", write: "project_unknown"},
		})
	})
	t.Run("a root narrows", func(t *testing.T) { // it does not move where relative paths start
		t.Parallel()
		w := speltWorld(t, "narrow")
		defer w.close()
		p := w.serveBad(start{roots: func(int) rawmcp.Answer {
			return rawmcp.Answer{Roots: []string{fileURI(w.dir + "/ws/q/sub"), fileURI(w.dir + "/ws/p")}}
		}}, "--tools=classic", "--config", projects(w, "unique"))
		w.spell(p, []spelled{
			{path: "sub/x", root: "q", want: inText}, {path: "$W/ws/q/sub/x", want: inText},
			{path: "x", root: "q", want: "outside_root", write: "outside_root", hint: "sub/x"},
			{path: "only-q", root: "q", want: "outside_root", write: "outside_root"},
			{path: "$W/ws/q/f", want: "outside_root", write: "outside_root"},
		})
	})
	t.Run("roots of the client", func(t *testing.T) {
		t.Parallel()
		w := speltWorld(t, "client")
		defer w.close()
		p := w.serveBad(start{roots: func(int) rawmcp.Answer {
			return rawmcp.Answer{Roots: []string{fileURI(w.dir + "/ws/p"), fileURI(w.dir + "/ws/q")}}
		}})
		w.spell(p, []spelled{
			{path: "only-q", want: inText, write: "root_required"}, {path: "f", want: "path_ambiguous", write: "root_required"},
			{path: "../pp/f", want: "outside_root"}, {path: "$W/ws/pp/f", want: "outside_root", write: "outside_root"},
			{path: "f", root: "ws", want: "project_unknown", write: "project_unknown"},
		})
	})
}
