//go:build unix

package mcpfs_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// plot is a tree by paths: "/" a directory, "|" a pipe, "=TEXT" a file, ">TEXT" a link, BASE standing for the directory of
// its world.
type plot map[string]string

// worlds are two plots that differ in what is hidden and in nothing else.
type worlds struct {
	projects []rootbound.Project // Dir below the base
	own      []string
	roots    []string
	plots    [2]plot
	hidden   func(p string) bool // whether the path below the base is hidden
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

var (
	openNames   = []string{"a", "b", "f", "g.txt", "h.go"}
	hiddenNames = []string{".env", "secret", ".ssh", "k.pem", "SECRET"}
	linkNames   = []string{"l", "m", "n", "o.go"}
)

// linkText is a text that leads somewhere near.
func linkText(r *rand.Rand, w *worlds, at string) string {
	var names []string
	for range 1 + r.IntN(4) {
		names = append(names, pick(r, pick(r, openNames...), pick(r, hiddenNames...), pick(r, linkNames...), "..", ".."))
	}
	text := strings.Join(names, "/")
	switch r.IntN(8) {
	case 0:
		return "BASE/" + pick(r, "p", "p", "q", "out") + "/" + text
	case 1:
		return "BASE/p/" + pick(r, "a", "inner", "closed", "state") + "/" + text
	case 2:
		return strings.Repeat("../", strings.Count(at, "/")-1) + pick(r, "inner", "closed", "state", "a", "secret", "l", "m") + "/" + text
	case 3:
		return strings.Repeat("../", strings.Count(at, "/")-1) + pick(r, "inner", "closed", "state", "a", ".env", "secret", "l", "m")
	case 4:
		return pick(r, "/etc/hosts", "/nowhere", "BASE/p", "BASE/q", "BASE", ".", "..", path.Base(at))
	}
	return text
}

// strange is what may be in a hidden place.
func strange(r *rand.Rand, w *worlds, p plot, at string, depth int) {
	switch r.IntN(6) {
	case 0:
	case 1:
		p[at] = "=" + strings.Repeat("x", r.IntN(50)) + "needle\n"
	case 2, 3:
		p[at] = "/"
		if depth < 3 {
			for _, n := range []string{pick(r, openNames...), pick(r, hiddenNames...), pick(r, linkNames...)} {
				strange(r, w, p, at+"/"+n, depth+1)
			}
		}
	case 4:
		p[at] = ">" + linkText(r, w, at)
	case 5:
		p[at] = "|"
	}
}

// newWorlds draws two worlds.
func newWorlds(r *rand.Rand) *worlds {
	w := &worlds{own: []string{"p/state", "p/b/f"}}
	p := rootbound.Project{ID: "p", Dir: "p", Rights: rootbound.Full, Deny: []string{"**/secret/**", "a/b/**"}}
	if r.IntN(4) == 0 {
		p.Deny = append(p.Deny, "**/l", "b/?")
	}
	inner := rootbound.Project{ID: "inner", Dir: "p/inner", Rights: rootbound.ReadOnly, Deny: []string{"**/b/**", "f"}}
	closed := rootbound.Project{ID: "closed", Dir: "p/closed", Rights: rootbound.Propose}
	q := rootbound.Project{ID: "q", Dir: "q", Rights: rootbound.Full, Deny: []string{"**/m"}}
	if r.IntN(3) == 0 {
		p.AllowExtensions = []string{".txt", ".go"}
	}
	if r.IntN(4) == 0 {
		inner.AllowExtensions = []string{".txt"}
	}
	w.projects = []rootbound.Project{p, inner, closed}
	if r.IntN(2) == 0 {
		w.projects = append(w.projects, q)
	}
	if r.IntN(5) == 0 {
		w.roots = []string{"p/a", "p/inner", "q"}[:1+r.IntN(3)]
	}
	common := plot{"p": "/", "p/inner": "/", "p/closed": "/", "q": "/", "out": "/", "out/f": "=outside\n", "p/a": "/"}
	dirs := []string{"p", "p/a", "p/inner", "q"}
	for range 3 {
		d := pick(r, dirs...) + "/" + pick(r, openNames[:2]...)
		if !slices.Contains(dirs, d) {
			common[d] = "/"
			dirs = append(dirs, d)
		}
	}
	for _, d := range dirs {
		for _, n := range openNames[2:] {
			if r.IntN(3) > 0 {
				common[d+"/"+n] = "=text of " + d + "\nneedle\n"
			}
		}
		for _, n := range linkNames {
			if r.IntN(2) == 0 {
				common[d+"/"+n] = ">" + linkText(r, w, d+"/"+n)
			}
		}
	}
	spots := []string{"p/state", "p/closed/a", "p/closed/f", "p/closed/l", "p/a/b", "p/b/f", "p/inner/f", "p/inner/b"}
	for _, d := range dirs {
		for _, n := range slices.Concat(hiddenNames, linkNames, openNames) {
			spots = append(spots, d+"/"+n)
		}
	}
	for i := range w.plots {
		w.plots[i] = plot{}
		for _, d := range dirs {
			if !w.hides(d, true) {
				w.plots[i][d] = "/"
			}
		}
		for at, what := range common {
			if !w.hides(at, what == "/") {
				w.plots[i][at] = what
			}
		}
		for _, at := range spots {
			if w.hides(at, false) && w.hides(at, true) {
				strange(r, w, w.plots[i], at, 0)
			}
		}
	}
	for i := range w.plots { // what lies where its directory is not
		for changed := true; changed; {
			changed = false
			for at := range w.plots[i] {
				if up := path.Dir(at); up != "." && w.plots[i][up] != "/" {
					delete(w.plots[i], at)
					changed = true
				}
			}
		}
	}
	return w
}

// hides is a model of the rules above, written without them.
func (w *worlds) hides(at string, dir bool) bool {
	for _, o := range w.own {
		if at == o || strings.HasPrefix(at, o+"/") {
			return true
		}
	}
	p := w.projects[0]
	for _, c := range w.projects {
		if (at == c.Dir || strings.HasPrefix(at, c.Dir+"/")) && (len(c.Dir) > len(p.Dir) || c.ID == "q") {
			p = c
		}
	}
	if at == p.Dir || !strings.HasPrefix(at, p.Dir+"/") {
		return false
	}
	if p.ID == "closed" {
		return true
	}
	rel := at[len(p.Dir)+1:]
	names := strings.Split(rel, "/")
	for i, n := range names {
		up := strings.Join(names[:i+1], "/")
		low := strings.ToLower(n)
		switch {
		case low == ".env", low == ".ssh", strings.HasSuffix(low, ".pem"):
			return true
		case p.ID == "p" && (low == "secret" || up == "a/b"):
			return true
		case p.ID == "p" && len(p.Deny) > 2 && (n == "l" || i == 1 && names[0] == "b" && len(n) == 1):
			return true
		case p.ID == "inner" && (n == "b" || up == "f"):
			return true
		case p.ID == "q" && n == "m":
			return true
		}
	}
	if len(p.AllowExtensions) > 0 && !dir {
		return !slices.Contains(p.AllowExtensions, path.Ext(rel))
	}
	return false
}

func (p plot) build(t *testing.T, base string) {
	t.Helper()
	for _, at := range slices.Sorted(func(yield func(string) bool) {
		for k := range p {
			if !yield(k) {
				return
			}
		}
	}) {
		full := filepath.Join(base, at)
		switch what := p[at]; what[0] {
		case '/':
			must(t, os.MkdirAll(full, 0o755))
		case '=':
			must(t, os.WriteFile(full, []byte(what[1:]), 0o644))
		case '>':
			must(t, os.Symlink(strings.ReplaceAll(what[1:], "BASE", base), full))
		case '|':
			must(t, syscall.Mkfifo(full, 0o644))
		}
	}
}

var past = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (w *worlds) open(t *testing.T, i int, form mcpfs.Tools, c clientOptions) (*live, string) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w.plots[i].build(t, base)
	must(t, filepath.WalkDir(base, func(p string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			err = os.Chtimes(p, past, past)
		}
		return err
	}))
	projects := slices.Clone(w.projects)
	for i := range projects {
		projects[i].Dir = filepath.Join(base, projects[i].Dir)
	}
	var own []guard.Own
	for _, o := range w.own {
		own = append(own, guard.Own{Path: filepath.Join(base, o)})
	}
	for _, d := range w.roots {
		c.roots = append(c.roots, uri(filepath.Join(base, d)))
	}
	l := start(t, serve.Options{Projects: projects, Tools: form, Own: func() []guard.Own { return own }, Limits: mcpfs.Limits{List: 3, Hits: 2}}, c)
	return l, base
}

var masks = regexp.MustCompile(`"(version|rootbound/version|decision_id|undo|plan|token|expires|cursor)":"[^"]*"|cursor: [^]]*|(created|modified|accessed): [^\\]*|"id":"r-[^"]*"|Plan [a-z0-9]{10}`)

func mask(base string, v any, err error) string {
	if err != nil {
		return "error " + strings.ReplaceAll(err.Error(), base, "BASE")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return masks.ReplaceAllString(strings.ReplaceAll(string(b), base, "BASE"), "$1$2 MASKED")
}

var said = regexp.MustCompile(`"reason":"[^"]*"|"detail":"[^"]*"|"root":"[^"]*"`)

// short is what tells two answers apart in most cases.
func short(got string) string {
	if !strings.Contains(got, `"error":`) {
		return got
	}
	return strings.Join(said.FindAllString(got, -1), " ")
}

func drawPath(r *rand.Rand, form mcpfs.Tools) string {
	var names []string
	for range 1 + r.IntN(4) {
		names = append(names, pick(r, pick(r, openNames...), pick(r, hiddenNames...), pick(r, linkNames...), pick(r, linkNames...), pick(r, "inner", "closed", "state", "none", "..", "..", ".", ".ENV", "secret.", "L")))
	}
	p := strings.Join(names, "/")
	switch r.IntN(12) {
	case 0:
		p += "/"
	case 1:
		if form == mcpfs.Classic {
			p = "BASE/" + pick(r, "p", "p", "q", "out", "p/inner") + "/" + p
		}
	case 2:
		p = "."
	case 3:
		p = pick(r, `\x66`, `sec\x72et`, "a/./b", "inner/../a")
	}
	return p
}

// drawCall is a call of a tool with random arguments. changes: whether tools that change something may be drawn.
func drawCall(r *rand.Rand, form mcpfs.Tools, tools []*mcp.Tool, changes bool) (string, args) {
	for {
		tool := tools[r.IntN(len(tools))]
		if !changes && !tool.Annotations.ReadOnlyHint {
			continue
		}
		a := args{}
		for name := range tool.InputSchema.(map[string]any)["properties"].(map[string]any) {
			switch name {
			case "path", "relative_path", "source", "destination", "relative_destination":
				a[name] = drawPath(r, form)
			case "paths", "relative_paths":
				a[name] = []string{drawPath(r, form), drawPath(r, form), drawPath(r, form)}
			case "root", "project_id":
				a[name] = pick(r, "p", "p", "p", "p", "inner", "closed", "q", "none")
				if form == mcpfs.Classic && r.IntN(8) == 0 {
					delete(a, name)
				}
			case "pattern":
				a[name] = pick(r, "**", "*", "needle", "x", "**/.env", "**/secret/**", "**/*.pem", "*/*", "l/**")
			case "content":
				a[name] = "needle new\n"
			case "edits":
				if tool.Name == "propose_patch" {
					a[name] = []args{{"path": drawPath(r, mcpfs.Project), "oldText": pick(r, "needle", ""), "newText": "n"}}
				} else {
					a[name] = []args{{"oldText": "needle", "newText": "n"}}
				}
			case "diff":
			case "cursor":
			case "plan":
				a[name] = "none"
			case "excludePatterns", "include", "exclude":
				if r.IntN(4) == 0 {
					a[name] = []string{pick(r, "**/a", ".env", "**/secret/**", "{a,b}", "*", "**/[a-k]*")}
				}
			case "context", "depth", "max_nodes", "max_results":
				if r.IntN(3) == 0 {
					a[name] = 1 + r.IntN(4)
				}
			case "gitignore", "include_ignored", "literal", "ignore_case", "overwrite", "create_parents", "dryRun":
				if r.IntN(2) == 0 {
					a[name] = true
				}
			case "sortBy":
				a[name] = pick(r, "name", "size")
			case "expected_version":
				if r.IntN(8) == 0 {
					a[name] = "absent"
				}
			}
		}
		return tool.Name, a
	}
}

// cursorOf is where an answer that was cut goes on: it differs where absolute paths were sent.
func cursorOf(res *mcp.CallToolResult) string {
	if res == nil {
		return ""
	}
	s, _ := res.StructuredContent.(map[string]any)
	next, _ := s["next"].(map[string]any)
	c, _ := next["cursor"].(string)
	return c
}

func based(a args, base string) args {
	b, _ := json.Marshal(a)
	var out args
	_ = json.Unmarshal([]byte(strings.ReplaceAll(string(b), "BASE", base)), &out)
	return out
}

// Two worlds that differ only in what rights, rules and own files hide give the same answers to every tool.
func TestWorldsThatDifferInWhatIsHiddenAnswerAlike(t *testing.T) {
	seed, n, each := uint64(1), 8, 60
	if os.Getenv("RB_LONG") != "" {
		seed, n, each = uint64(time.Now().UnixNano()), 200, 300
	}
	if s := os.Getenv("RB_SEED"); s != "" { // "SEED WORLDS CALLS", to see one again
		fmt.Sscan(s, &seed, &n, &each)
	}
	calls, allowed := 0, 0
	for i := range n {
		form, revision := pick2(i)
		t.Run(fmt.Sprint(seed+uint64(i)), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed+uint64(i), 7))
			w := newWorlds(r)
			var l [2]*live
			var base [2]string
			for k := range l {
				l[k], base[k] = w.open(t, k, form, clientOptions{revision: revision})
			}
			list, err := l[0].session.ListTools(t.Context(), nil)
			must(t, err)
			bad := 0
			ask := func(tool string, a args, cursors [2]string) (res [2]*mcp.CallToolResult, same bool) {
				var got [2]string
				for k := range l {
					var err error
					sent := based(a, base[k])
					if cursors[k] != "" {
						sent["cursor"] = cursors[k]
					}
					res[k], err = l[k].session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: sent})
					got[k] = mask(base[k], res[k], err)
				}
				calls++
				if got[0] != got[1] {
					x, y := short(got[0]), short(got[1])
					if x == y {
						x, y = got[0], got[1]
					}
					t.Errorf("%s %v\n0: %s\n1: %s", tool, a, x, y)
					return res, false
				}
				return res, true
			}
			for k := range 2 * each {
				tool, a := drawCall(r, form, list.Tools, k >= each)
				if k >= each && w.tells(base, tool, a) {
					continue
				}
				cursors := [2]string{}
				for range 6 {
					res, same := ask(tool, a, cursors)
					if !same {
						bad++
						break
					}
					if res[0] != nil && !res[0].IsError {
						allowed++
					}
					for k := range res {
						cursors[k] = cursorOf(res[k])
					}
					if cursors[0] == "" {
						break
					}
				}
				if bad > 2 {
					break
				}
			}
			if x, y := w.visible(t, base[0]), w.visible(t, base[1]); x != y {
				bad++
				t.Errorf("on disk\n0: %s\n1: %s", x, y)
			}
			if bad > 0 {
				t.Logf("%+v roots %v", w.projects, w.roots)
				for _, at := range sortedKeys(w.plots[0], w.plots[1]) {
					x, y := w.plots[0][at], w.plots[1][at]
					if x == y {
						y = "same"
					}
					t.Logf("%-20s %-30q %q", at, x, y)
				}
			}
		})
	}
	t.Logf("%d calls, %d allowed", calls, allowed)
}

// tells reports a change that is known to tell of what is hidden, since nothing else could come of it (docs/rules.md): of a
// directory that goes, moves or is copied each entry is judged, and no directory is made where a file is.
func (w *worlds) tells(base [2]string, tool string, a args) bool {
	if w.projects[0].AllowExtensions != nil && (tool == "create_directory" || a["create_parents"] != nil) {
		return true
	}
	if tool != "move_file" && tool != "copy_file" && tool != "delete_file" {
		return false
	}
	from, _ := a["source"].(string)
	for _, name := range []string{"relative_path", "path"} {
		if s, ok := a[name].(string); ok {
			from = s
		}
	}
	for _, b := range base {
		for _, p := range w.projects {
			at := strings.ReplaceAll(from, "BASE", b)
			if !filepath.IsAbs(at) {
				at = filepath.Join(b, p.Dir) + "/" + at
			}
			if i, err := os.Stat(at); err == nil && i.IsDir() {
				return true
			}
		}
	}
	return false
}

// visible is what is not hidden below base.
func (w *worlds) visible(t *testing.T, base string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(base, func(p string, e os.DirEntry, err error) error {
		if err != nil || p == base {
			return err
		}
		rel := p[len(base)+1:]
		if w.hides(rel, e.IsDir()) {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		text := ""
		switch {
		case e.Type().IsRegular():
			raw, err := os.ReadFile(p)
			must(t, err)
			text = string(raw)
		case e.Type()&os.ModeSymlink != 0:
			text, err = os.Readlink(p)
			must(t, err)
			text = strings.ReplaceAll(text, base, "BASE")
		}
		fmt.Fprintf(&b, "%s %s %q\n", rel, e.Type(), text)
		return nil
	}))
	return b.String()
}

func pick2(i int) (mcpfs.Tools, string) {
	return []mcpfs.Tools{mcpfs.Classic, mcpfs.Project}[i%2], []string{"", legacy}[i/2%2]
}

func sortedKeys(plots ...plot) (all []string) {
	for _, p := range plots {
		for k := range p {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	slices.Sort(all)
	return all
}
