package mcpfs_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// While what a link leads to, and a directory on the way, are exchanged between what is approved and what rules, own files,
// lacking rights or the root's bounds hide, no answer of any tool holds a byte or a name from there, and nothing there changes.
func TestSwapsOnTheWayShowAndChangeNothingHidden(t *testing.T) {
	calls := 150
	if os.Getenv("RB_LONG") != "" {
		calls = 3000
	}
	for _, form := range []mcpfs.Tools{mcpfs.Classic, mcpfs.Project} {
		t.Run(fmt.Sprint(form), func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			at := func(p string) string { return filepath.Join(base, p) }
			hidden := []string{at("p/secret"), at("p/.ssh"), at("p/state"), at("p/closed"), at("out")}
			for _, d := range append([]string{at("p/open"), at("p/d")}, hidden...) {
				must(t, os.MkdirAll(d+"/sub/deep", 0o755))
				mark := "MARK"
				if strings.HasSuffix(d, "/open") || strings.HasSuffix(d, "/d") {
					mark = "inside"
				}
				for _, f := range []string{"f", "g.txt", "sub/f", "sub/deep/f", mark + "-name", "sub/" + mark + "-name"} {
					must(t, os.WriteFile(filepath.Join(d, f), []byte(mark+" needle\n"), 0o644))
				}
				must(t, os.WriteFile(filepath.Join(d, "sub/.gitignore"), []byte("*.o\n"), 0o644))
			}
			for name, to := range map[string]string{
				"via": "open", "e1": "secret", "e2": "../out", "e3": base + "/p/state", "e4": "closed", "e5": ".ssh", "e6": "secret", "e7": base + "/out", "e8": "state/sub", "o1": "open", "o2": base + "/p/open",
				"lf": "open/f", "x1": "secret/f", "x2": "../out/f", "x3": "state/f", "x4": "secret/../open/f",
			} {
				must(t, os.Symlink(to, at("p/"+name)))
			}
			var refills []*os.Root
			for _, d := range []string{"p/open", "p/d"} {
				r, err := os.OpenRoot(at(d))
				must(t, err)
				defer r.Close()
				refills = append(refills, r)
			}
			l := start(t, serve.Options{
				Projects: []rootbound.Project{
					{ID: "p", Dir: at("p"), Rights: rootbound.Full, Deny: []string{"secret/**"}},
					{ID: "closed", Dir: at("p/closed"), Rights: rootbound.Propose},
				},
				Tools: form, Own: func() []guard.Own { return []guard.Own{{Path: at("p/state")}} }, Limits: mcpfs.Limits{List: 10, Hits: 10},
			}, clientOptions{})
			before := rig.Inventory(t, hidden...)
			swaps := rig.Swap(t, at("p"), []string{"via", "e1", "e2", "e3", "e4", "e5", "o1", "o2"}, []string{"d", "e6", "e7", "e8"}, []string{"lf", "x1", "x2", "x3", "x4"})
			seed := uint64(1)
			if os.Getenv("RB_LONG") != "" {
				seed = uint64(time.Now().UnixNano())
			}
			r := rand.New(rand.NewPCG(seed, 1))
			draw := func(changes bool) string {
				p := pick(r, "via", "via", "via", "d", "d", "d", "open", "open", "e1") + "/" + pick(r, "f", "f", "g.txt", "sub", "sub/f", "sub/deep/f", "sub/deep", "new", "sub/new", "../via/f", "../d/sub/f", "sub/../../open/f", "sub/../../lf")
				if r.IntN(8) == 0 {
					p = "lf"
				}
				if !changes && r.IntN(4) == 0 {
					p = pick(r, "via", "d", ".", "lf", "open")
				}
				return p
			}
			told := map[string]int{}
			n, ok := 0, map[string]int{}
			lot := lot{r: r, tools: toolsOf(t, l), path: draw, root: func() string { return "p" }, patterns: []string{"**", "*", "needle", "**/f"}}
			for ; n < calls || len(ok) < 10 || told["outside_root"] == 0 || told["rule_denied"] == 0; n++ { // what is met depends on the machine
				for _, root := range refills {
					_ = root.MkdirAll("sub/deep", 0o755)
					for _, f := range []string{"f", "g.txt", "sub/f", "sub/deep/f"} {
						if _, err := root.Lstat(f); err != nil {
							_ = root.WriteFile(f, []byte("inside needle\n"), 0o644)
						}
					}
				}
				tool, a := lot.call(true)
				swaps.Await()
				res, err := l.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
				if err != nil {
					t.Fatalf("%s %v: %v", tool, a, err)
				}
				b, err := json.Marshal(res)
				must(t, err)
				if s := string(b); strings.Contains(s, "MARK") || strings.Contains(s, base) && form == mcpfs.Project {
					t.Errorf("%s %v: %s", tool, a, s)
				}
				if res.IsError {
					told[reasonIn(res)]++
				} else {
					ok[tool]++
				}
			}
			swaps.Stop()
			if now := rig.Inventory(t, hidden...); now != before {
				t.Errorf("what is hidden became\n%s\nfrom\n%s", now, before)
			}
			must(t, filepath.WalkDir(at("p"), func(p string, e fs.DirEntry, err error) error {
				must(t, err)
				for _, h := range hidden {
					if p == h {
						return filepath.SkipDir
					}
				}
				if e.Type().IsRegular() {
					if raw, err := os.ReadFile(p); err == nil && strings.Contains(string(raw), "MARK") {
						t.Errorf("%s holds what is hidden", p)
					}
				}
				return nil
			}))
			t.Logf("%d calls, %d swaps, allowed %v, refused %v", n, swaps.Count(), ok, told)
		})
	}
}

func reasonIn(res *mcp.CallToolResult) string {
	s, _ := res.StructuredContent.(map[string]any)
	e, _ := s["error"].(map[string]any)
	reason, _ := e["reason"].(string)
	return reason
}
