package resource_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/mcpfs/resource"
)

// Every revision and both forms of the tools, with and without roots: a client finds its projects and reads what is in them.
func TestProjectsAreResources(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modern} {
		for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
			for _, declared := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/roots=%t", revision, form, declared), func(t *testing.T) {
					p, q := project(t, "p", rootbound.ReadOnly), project(t, "q r", rootbound.ReadOnly)
					p.Description = "the first"
					file(t, p.Dir, "a b/ä.txt", "text\n")
					file(t, p.Dir, "empty", "")
					file(t, p.Dir, "pic.PNG", "\x89PNG\x00")
					file(t, p.Dir, "x.md", "# x")
					file(t, p.Dir, "page.html", "<script>")
					file(t, q.Dir, "f", "q")
					var roots []string
					if declared {
						roots = []string{p.Dir, strings.ReplaceAll(q.Dir, " ", "%20")}
					}
					l := start(t, serve.Options{Projects: []rootbound.Project{p, q}, Tools: form}, revision, roots)

					if revision != modern {
						caps := l.session.InitializeResult().Capabilities
						if caps.Resources == nil || caps.Completions == nil || caps.Prompts != nil || caps.Logging != nil {
							t.Errorf("capabilities: %+v", caps)
						}
					}
					for uri, want := range map[string]mcp.ResourceContents{
						"rootbound://p/a%20b/%C3%A4.txt": {MIMEType: "text/plain", Text: "text\n"},
						"rootbound://p/empty":            {MIMEType: "text/plain"},
						"rootbound://p/pic.PNG":          {MIMEType: "image/png", Blob: []byte("\x89PNG\x00")},
						"rootbound://p/x.md":             {MIMEType: "text/markdown", Text: "# x"},
						"rootbound://p/page.html":        {MIMEType: "text/plain", Text: "<script>"},
						"rootbound://q%20r/f":            {MIMEType: "text/plain", Text: "q"},
					} {
						c := l.read(uri)
						if c.MIMEType != want.MIMEType || c.Text != want.Text || string(c.Blob) != string(want.Blob) || c.Meta[resource.VersionKey] == "" {
							t.Errorf("%s: %+v", uri, c)
						}
					}
					top := l.directory("rootbound://p/")
					var names []string
					for _, e := range top.Entries {
						names = append(names, e.Name+" "+e.Type+" "+e.URI)
					}
					want := []string{"a b directory rootbound://p/a%20b", "empty file rootbound://p/empty", "page.html file rootbound://p/page.html",
						"pic.PNG file rootbound://p/pic.PNG", "x.md file rootbound://p/x.md"}
					if top.Project != "p" || top.Path != "." || top.Truncated || !slices.Equal(names, want) {
						t.Errorf("%+v", top)
					}
					if sub := l.directory("rootbound://p/a%20b"); len(sub.Entries) != 1 || sub.Entries[0].URI != "rootbound://p/a%20b/%C3%A4.txt" || *sub.Entries[0].Size != 5 || sub.Path != "a b" {
						t.Errorf("%+v", sub)
					}

					all := []string{"rootbound://p/", "rootbound://q%20r/"}
					if revision == modern && declared {
						all = nil // the roots of such a request are only known inside a call that may ask
					}
					if got := l.list(); !slices.Equal(got, all) {
						t.Errorf("resources/list: %q", got)
					}
					templates, err := l.session.ListResourceTemplates(t.Context(), nil)
					if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != resource.Template {
						t.Errorf("%+v, %v", templates, err)
					}
					for line := range strings.Lines(l.wire.sent()) {
						if typed := strings.Contains(line, `"resultType":"complete"`); strings.Contains(line, `"contents":[`) && typed != (revision == modern) {
							t.Errorf("resultType %t: %.200s", typed, line)
						}
					}
					if !strings.Contains(l.wire.sent(), `"text":""`) {
						t.Error("an empty text is left out")
					}
					if sent := l.wire.sent(); strings.Contains(sent, p.Dir) && form == mcpfs.Project || strings.Contains(sent, `"cacheScope":"public"`) || strings.Count(sent, `"ttlMs"`) != strings.Count(sent, `"ttlMs":0,`) {
						t.Error("a host path, or an answer that may be kept")
					}
				})
			}
		}
	}
}

// What is denied, unknown, missing or misspelled is one error with one text, whatever the reason was, and each has a record.
func TestRefusedReadsLookAlike(t *testing.T) {
	for revision, code := range map[string]int64{"2025-06-18": -32002, modern: -32602} {
		for _, roots := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/roots=%t", revision, roots), func(t *testing.T) {
				p, hidden, silent := project(t, "p", rootbound.ReadOnly), project(t, "hidden", rootbound.ReadOnly), project(t, "silent", rootbound.List)
				p.Deny = []string{"secret/**"}
				file(t, p.Dir, "a.txt", "a")
				file(t, p.Dir, "secret/x", "x")
				file(t, p.Dir, ".env", "x")
				file(t, hidden.Dir, "x", "x")
				file(t, silent.Dir, "x", "x")
				if err := os.Symlink(hidden.Dir, filepath.Join(p.Dir, "out")); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink("/etc/passwd", filepath.Join(p.Dir, "passwd")); err != nil {
					t.Fatal(err)
				}
				declared := []string(nil)
				if roots {
					declared = []string{p.Dir, silent.Dir}
				}
				o := serve.Options{Projects: []rootbound.Project{p, silent}}
				if roots {
					o.Projects = append(o.Projects, hidden)
				}
				l := start(t, o, revision, declared)
				l.read("rootbound://p/a.txt")
				for _, c := range []struct {
					uri string
					why rootbound.Reason
				}{
					{"rootbound://p/none", rootbound.NotFound},
					{"rootbound://p/none/x", rootbound.NotFound},
					{"rootbound://p/a.txt/x", rootbound.NotADirectory},
					{"rootbound://p/.env", rootbound.RuleDenied},
					{"rootbound://p/secret/x", rootbound.RuleDenied},
					{"rootbound://p/secret/none", rootbound.RuleDenied},
					{"rootbound://p/out/x", rootbound.OutsideRoot},
					{"rootbound://p/passwd", rootbound.OutsideRoot},
					{"rootbound://silent/x", rootbound.RightMissing},
					{"rootbound://hidden/x", rootbound.ProjectUnknown},
					{"rootbound://nobody/x", rootbound.ProjectUnknown},
					{"rootbound://p/%2e%2e/x", rootbound.PathInvalid},
					{"rootbound://p/..%2fx", rootbound.PathInvalid},
					{"rootbound://p/a.txt%00", rootbound.PathInvalid},
					{"rootbound://p//etc/passwd", rootbound.PathInvalid},
					{"rootbound://p/a.txt?x", rootbound.PathInvalid},
					{"rootbound://p/a.txt#x", rootbound.PathInvalid},
					{"rootbound://p", rootbound.PathInvalid},
					{"rootbound:a.txt", rootbound.PathInvalid},
					{"Rootbound://p/a.txt", rootbound.PathInvalid},
					{"rootbound://p/" + strings.Repeat("n", 300), rootbound.PathInvalid},
				} {
					n := len(l.records.Records())
					e := l.no(c.uri)
					if e.Code != code || e.Message != "Resource not found" || e.Data != nil {
						t.Errorf("%.60s: %+v", c.uri, e)
					}
					told := l.decided(n)
					if len(told) != 1 || told[0].Reason != c.why || told[0].Method != "resources/read" || told[0].Tool == "" {
						t.Errorf("%.60s: recorded as %+v", c.uri, told)
					}
				}
				if e := l.no("file:///etc/passwd"); e.Code != code || e.Message != "Resource not found" || e.Data != nil {
					t.Errorf("another scheme: %+v", e)
				}
			})
		}
	}
}

// A read leaves the records that a tool's call leaves: one decision and its outcome.
func TestReadsAreRecorded(t *testing.T) {
	p := project(t, "p", rootbound.ReadOnly)
	file(t, p.Dir, "d/a.txt", "four")
	l := start(t, serve.Options{Projects: []rootbound.Project{p}}, modern, nil)
	for uri, op := range map[string]rootbound.Operation{"rootbound://p/d/a.txt": rootbound.OpRead, "rootbound://p/d": rootbound.OpList} {
		n := len(l.records.Records())
		l.read(uri)
		all := l.records.Records()[n:]
		all = slices.DeleteFunc(all, func(r decision.Record) bool { return r.Phase != decision.Decided && r.Phase != decision.Completed })
		if len(all) != 2 || all[0].Operation != op || all[0].Project != "p" || all[0].Decision != decision.Allow || all[1].Outcome == nil || !all[1].Outcome.OK {
			t.Errorf("%s: %+v", uri, all)
		}
		if op == rootbound.OpRead && all[1].Outcome.Bytes < 4 || op == rootbound.OpList && all[1].Outcome.Counts["entries"] != 1 {
			t.Errorf("%s: %+v", uri, all[1].Outcome)
		}
	}
	n := len(l.records.Records())
	l.complete("path", "d/", "p")
	if told := l.decided(n); len(told) != 1 || told[0].Operation != rootbound.OpList || told[0].Path != "d" {
		t.Errorf("a completion is recorded as %+v", told)
	}
}

// What is too long to be sent is refused with the way out, and cut where it is a list.
func TestLongResources(t *testing.T) {
	p := project(t, "p", rootbound.ReadOnly)
	file(t, p.Dir, "long.txt", strings.Repeat("line\n", 300))
	file(t, p.Dir, "longer.txt", strings.Repeat("ä\n", 2000))
	file(t, p.Dir, "fits.txt", strings.Repeat("x", 1000))
	file(t, p.Dir, "fits.bin", strings.Repeat("\x00", 3000))
	file(t, p.Dir, "long.bin", strings.Repeat("\x00", 3001))
	for i := range 25 {
		file(t, p.Dir, fmt.Sprintf("d/%02d", i), "")
	}
	for i := range 9 {
		file(t, p.Dir, fmt.Sprintf("wide/%d%s", i, strings.Repeat("\x01", 200)), "")
	}
	l := start(t, serve.Options{Projects: []rootbound.Project{p}, Limits: mcpfs.Limits{Text: 1000, Media: 3000, List: 10}}, modern, nil)
	for uri, way := range map[string]string{
		"rootbound://p/long.txt":   "1500 bytes, the limit of a text resource is 1000",
		"rootbound://p/longer.txt": "read_text_file",
		"rootbound://p/long.bin":   "3001 bytes, the limit of a resource is 3000",
	} {
		if e := l.no(uri); e.Code != 413 || !strings.Contains(e.Message, way) || !strings.Contains(string(e.Data), `"reason":"too_large"`) || strings.Contains(e.Message, p.Dir) {
			t.Errorf("%s: %+v %s", uri, e, e.Data)
		}
	}
	if c := l.read("rootbound://p/fits.txt"); len(c.Text) != 1000 {
		t.Error(len(c.Text))
	}
	if c := l.read("rootbound://p/fits.bin"); len(c.Blob) != 3000 {
		t.Error(len(c.Blob))
	}
	var names []string
	d := l.directory("rootbound://p/d")
	for _, e := range d.Entries {
		names = append(names, e.Name)
	}
	for d.Truncated {
		if d.Next == nil || d.Next.Tool != "list_directory" {
			t.Fatalf("%+v", d)
		}
		res, err := l.session.CallTool(t.Context(), &mcp.CallToolParams{Name: d.Next.Tool, Arguments: d.Next.Arguments})
		if err != nil || res.IsError {
			t.Fatal(err, res)
		}
		s := res.StructuredContent.(map[string]any)
		for line := range strings.Lines(s["content"].(string)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "[FILE] "); ok {
				names = append(names, name)
			}
		}
		if d.Truncated, _ = s["truncated"].(bool); d.Truncated {
			d.Next.Arguments["cursor"] = s["next"].(map[string]any)["cursor"]
		}
	}
	if len(names) != 25 || !slices.IsSorted(names) {
		t.Errorf("%d names: %q", len(names), names)
	}
	wide := l.directory("rootbound://p/wide")
	if !wide.Truncated || len(wide.Entries) == 0 || len(wide.Entries) > 2 {
		t.Errorf("a page of %d long names", len(wide.Entries))
	}
}

// Whatever a name holds, the URI that its directory shows leads to it and to nothing else.
func TestEveryNameCanBeRead(t *testing.T) {
	p := project(t, "p", rootbound.ReadOnly)
	content := map[string]string{}
	add := func(name string) {
		content[name] = fmt.Sprintf("%d %x", len(content), name)
		file(t, p.Dir, "d/"+name, content[name])
	}
	for c := 1; c < 256; c++ {
		if c != '/' {
			add(string([]byte{'x', byte(c), 'y'}))
		}
	}
	for _, name := range []string{"%2e%2e", "%2F", "%00", "%252e", "...", ". .", " ", "a?b#c", "~x", "rootbound:", "file:", `..\..\x`, "C:", "\xff\xfe", "ä", "a\u0308", "\u202e", "[x]", "{+path}"} {
		add(name)
	}
	l := start(t, serve.Options{Projects: []rootbound.Project{p}}, "2025-11-25", nil)
	d := l.directory("rootbound://p/d")
	if len(d.Entries) != len(content) {
		t.Fatalf("%d of %d names", len(d.Entries), len(content))
	}
	for _, e := range d.Entries {
		_, path, err := resource.Parse(e.URI)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(path, "d/")
		if c := l.read(e.URI); content[name] == "" || c.Text != content[name] {
			t.Errorf("%s gives %q, want %q", e.URI, c.Text, content[name])
		}
		delete(content, name)
	}
}

// The client's roots narrow: what they leave is listed by its path inside the project, and nothing else can be read.
func TestRootsNarrowResources(t *testing.T) {
	p, q := project(t, "p", rootbound.ReadOnly), project(t, "q", rootbound.ReadOnly)
	file(t, p.Dir, "src/a b/f", "f")
	file(t, p.Dir, "doc/f", "f")
	file(t, p.Dir, "f", "f")
	file(t, q.Dir, "f", "f")
	roots := []string{filepath.Join(p.Dir, "src", "a%20b"), filepath.Join(p.Dir, "doc")}
	for _, revision := range []string{"2025-06-18", modern} {
		l := start(t, serve.Options{Projects: []rootbound.Project{p, q}}, revision, roots)
		if got := l.list(); got != nil {
			t.Errorf("%s: listed before any roots: %q", revision, got)
		}
		if !l.told() {
			t.Errorf("%s: the list is empty without a word", revision)
		}
		l.read("rootbound://p/src/a%20b/f")
		l.read("rootbound://p/doc/f")
		for _, uri := range []string{"rootbound://p/f", "rootbound://p/", "rootbound://p/src", "rootbound://q/f", "rootbound://q/"} {
			l.no(uri)
		}
		want := []string{"rootbound://p/doc", "rootbound://p/src/a%20b"}
		if revision == modern {
			want = nil
		}
		if got := l.list(); !slices.Equal(got, want) {
			t.Errorf("%s: %q", revision, got)
		}
		if l.told() != (revision == modern) {
			t.Errorf("%s: what the list says of the scope does not fit it", revision)
		}
		if revision == modern {
			continue
		}
		for value, want := range map[string][]string{"": {"doc", "src"}, "s": {"src"}, "src/": {"src/a b"}, "src/a b/": {"src/a b/f"}, "doc/": {"doc/f"}, "f": {}, "x/": {}, "../": {}, "/": {}} {
			if got := l.complete("path", value, "p"); !slices.Equal(got.Values, want) || got.HasMore || got.Total != len(want) {
				t.Errorf("path %q: %+v, want %q", value, got, want)
			}
		}
		if got := l.complete("project", "", ""); !slices.Equal(got.Values, []string{"p"}) {
			t.Errorf("projects: %+v", got)
		}
		if got := l.complete("path", "", "q"); len(got.Values) != 0 {
			t.Errorf("another project: %+v", got)
		}
		l.client.RemoveRoots("file://" + roots[1]) // stale from here on
		l.await(func() bool { return l.list() == nil })
		if got := l.complete("path", "src/a b/", "p"); len(got.Values) != 0 || got.Total != 0 {
			t.Errorf("stale: %+v", got)
		}
		l.scope()
		if got := l.list(); !slices.Equal(got, want[1:]) {
			t.Errorf("after the change: %q", got)
		}
	}
}

// resources/list goes page by page, in the operator's order; a cursor that leads nowhere is an error of the caller.
func TestListPages(t *testing.T) {
	var all []rootbound.Project
	var want []string
	for i := range 7 {
		p := project(t, fmt.Sprintf("p%d", 9-i), rootbound.ReadOnly)
		all = append(all, p)
		want = append(want, resource.URI(p.ID, "."))
	}
	for _, size := range []int{1, 3, 7, 8} {
		l := start(t, serve.Options{Projects: all, Limits: mcpfs.Limits{List: size}}, modern, nil)
		if got := l.list(); !slices.Equal(got, want) {
			t.Errorf("pages of %d: %q", size, got)
		}
		res, err := l.session.ListResources(t.Context(), nil)
		if err != nil || len(res.Resources) != min(size, 7) || (res.NextCursor == "") != (size >= 7) {
			t.Errorf("pages of %d: %+v, %v", size, res, err)
		}
		for _, cursor := range []string{"rb.", "rb.x", "rb.!!", "x", "rb." + "cm9vdGJvdW5kOi8vbm9ib2R5Lw"} {
			if cursor == "rb." {
				continue // an empty place is the beginning
			}
			if res, err := l.session.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: cursor}); err == nil {
				t.Errorf("cursor %q: %+v", cursor, res)
			}
		}
	}
}

// Completion shows what a listing shows, by the same right and the same rules, and counts nothing else.
func TestCompletion(t *testing.T) {
	p, blind := project(t, "p", rootbound.ReadOnly), project(t, "blind", rootbound.Read)
	p.Deny = []string{"**/secret*"}
	for _, name := range []string{"a", "ab/x", "ab/y", "abc", "b", "secret1", "secret2", ".env", ".envy", "100%", "what?", "c#", "x\xff", "é", "line\nend", "ab/[x]"} {
		file(t, p.Dir, name, "")
	}
	file(t, blind.Dir, "f", "")
	for i := range 150 {
		file(t, p.Dir, fmt.Sprintf("many/n%03d", i), "")
		file(t, p.Dir, fmt.Sprintf("hidden/secret%03d", i), "")
	}
	for _, revision := range []string{"2025-11-25", modern} {
		l := start(t, serve.Options{Projects: []rootbound.Project{p, blind}}, revision, nil)
		for _, c := range []struct {
			variable, value, project string
			want                     []string
		}{
			{"project", "", "", []string{"p", "blind"}}, {"project", "b", "", []string{"blind"}}, {"project", "P", "", nil},
			{"path", "", "p", []string{"a", "ab", "abc", "b", "hidden", "many", "é"}},
			{"path", "a", "p", []string{"a", "ab", "abc"}}, {"path", "ab", "p", []string{"ab", "abc"}}, {"path", "ab/", "p", []string{"ab/x", "ab/y"}}, {"path", "ab/y", "p", []string{"ab/y"}},
			{"path", "é", "p", []string{"é"}},
			{"path", "secret", "p", nil}, {"path", ".e", "p", nil}, {"path", "hidden/", "p", nil}, {"path", "hidden/secret0", "p", nil},
			{"path", "", "", nil}, {"path", "", "blind", nil}, {"path", "", "nobody", nil}, {"path", "../", "p", nil}, {"path", "/etc/", "p", nil}, {"path", "%2e%2e/", "p", nil},
			{"path", "a/", "p", nil}, {"path", "none/", "p", nil}, {"path", "ab//", "p", nil}, {"path", "ab/./", "p", nil}, {"path", "./", "p", nil}, {"path", "//", "p", nil}, {"path", "ab/../", "p", nil}, {"path", "\x00", "p", nil}, {"other", "", "p", nil},
		} {
			got := l.complete(c.variable, c.value, c.project)
			if !slices.Equal(got.Values, c.want) || got.HasMore || got.Total != len(c.want) {
				t.Errorf("%s %s %q of %q: %+v, want %q", revision, c.variable, c.value, c.project, got, c.want)
			}
		}
		got := l.complete("path", "many/", "p")
		if len(got.Values) != 100 || !got.HasMore || got.Total != 0 || got.Values[99] != "many/n099" {
			t.Errorf("%s: %d values, more %t, total %d", revision, len(got.Values), got.HasMore, got.Total)
		}
		for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: "x"}, {Type: "ref/resource", URI: "file:///{path}"}} {
			if res, err := l.session.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "path"}}); err == nil {
				t.Errorf("%+v: %+v", ref, res)
			}
		}
		if sent := l.wire.sent(); strings.Contains(sent, "secret") || strings.Contains(sent, p.Dir) {
			t.Error("a denied name, or a path of the host")
		}
	}
	alone := start(t, serve.Options{Projects: []rootbound.Project{p}}, modern, nil)
	if got := alone.complete("path", "b", ""); !slices.Equal(got.Values, []string{"b"}) {
		t.Errorf("one project, none named: %+v", got)
	}
	declared := start(t, serve.Options{Projects: []rootbound.Project{p}}, modern, []string{p.Dir})
	declared.read("rootbound://p/a")
	if got := declared.complete("path", "", "p"); len(got.Values) != 0 {
		t.Errorf("roots declared: %+v", got)
	}
}

// Where the client's roots are the only grant, they are projects by their ids.
func TestClientRootsAreResources(t *testing.T) {
	p := project(t, "unused", rootbound.ReadOnly)
	file(t, p.Dir, "f", "text")
	l := start(t, serve.Options{Mode: "client", ClientProject: rootbound.Project{Rights: rootbound.ReadOnly}}, "2025-06-18", []string{p.Dir})
	l.scope()
	all := l.list()
	if len(all) != 1 {
		t.Fatalf("%q", all)
	}
	if c := l.read(all[0] + "f"); c.Text != "text" {
		t.Errorf("%+v", c)
	}
	if strings.Contains(all[0], strings.Trim(p.Dir, "/")) {
		t.Errorf("%s names the host's directory", all[0])
	}
}
