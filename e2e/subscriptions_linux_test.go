package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/rig"
)

// TestSubscriptions: what the TypeScript clients hear of files that change, and of a switch with rootbound use: v1 and v2 in
// the legacy era by resources/subscribe, v2 in 2026-07-28 by listen. The Go SDK's client has a test in internal/serve.
func TestSubscriptions(t *testing.T) {
	installed(t)
	bin := rig.Binary(t)
	for _, c := range clients() {
		if !strings.HasPrefix(c.name, "typescript") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"app/f", "app/tree/x", "app/.env", "lib/l"} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte("1"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			file := dir + "/rootbound.yaml"
			if err := os.WriteFile(file, []byte("projects:\n  - {id: app, dir: app, rights: rw}\n  - {id: lib, dir: lib, rights: rw}\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			var steps []step
			add := func(s step) int { steps = append(steps, s); return len(steps) - 1 }
			write := func(id, path string) int {
				return add(step{Do: "call", Tool: "write_file", Args: map[string]any{"project_id": id, "relative_path": path, "content": "2"}})
			}
			heard := func(what string) int { return add(step{Do: "heard", URIs: []string{what}}) }
			const f, tree, l = "rootbound://app/f", "rootbound://app/tree", "rootbound://lib/l"
			first := add(step{Do: "subscribe", URIs: []string{f, tree}})
			denied := add(step{Do: "subscribe", URIs: []string{"rootbound://app/.env"}})
			write("app", "f")
			heard(f)
			write("app", "tree/new")
			heard(tree + "/new")
			add(step{Do: "run", Argv: []string{bin, "use", "lib", "--config", file}})
			heard("list")
			add(step{Do: "run", Argv: []string{bin, "use", "--all", "--config", file}})
			heard("list")
			add(step{Do: "subscribe", URIs: []string{l}})
			quiet := write("app", "f")
			write("app", "tree/x")
			write("lib", "l")
			only := heard(l)
			add(step{Do: "unsubscribe", URIs: []string{l}})
			got := c.run(t, plan{
				Command: bin, Args: []string{"serve", "--confine=off", "--no-slow", "--tools=project", "--config", file},
				Env: environment(dir), Steps: steps,
			})
			for i, s := range got {
				if s.Thrown != "" && i != denied {
					t.Errorf("%+v threw: %s", steps[i], s.Thrown)
				}
			}
			code := -32002
			if c.modern {
				code = -32602
				if want := `{"resourcesListChanged":true,"resourceSubscriptions":["rootbound://app/f","rootbound://app/tree"]}`; !sameJSON(t, string(got[first].Result), want) {
					t.Errorf("granted %s", got[first].Result)
				}
			}
			if got[denied].Code != code || !strings.Contains(got[denied].Thrown, "Resource not found") {
				t.Errorf("a denied resource: %d %q", got[denied].Code, got[denied].Thrown)
			}
			got[quiet].call(t)
			var all []string
			if err := json.Unmarshal(got[only].Result, &all); err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, "rootbound://app/") }) {
				t.Errorf("after the switch and back the client heard %v", all)
			}
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}
