package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/rig"
)

// runResource does a step about resources with the Go SDK's client; its functions are named as in the TypeScript SDK.
func runResource(ctx context.Context, s *mcp.ClientSession, st step) (any, error) {
	params, err := json.Marshal(st.Params)
	if err != nil {
		return nil, err
	}
	switch st.Name {
	case "readResource":
		p := &mcp.ReadResourceParams{}
		if err := json.Unmarshal(params, p); err != nil {
			return nil, err
		}
		return s.ReadResource(ctx, p)
	case "listResources":
		return s.ListResources(ctx, nil)
	case "listResourceTemplates":
		return s.ListResourceTemplates(ctx, nil)
	case "complete":
		p := &mcp.CompleteParams{}
		if err := json.Unmarshal(params, p); err != nil {
			return nil, err
		}
		return s.Complete(ctx, p)
	}
	return nil, fmt.Errorf("no function %s", st.Name)
}

// TestResources: each client finds, reads and completes resources, in its era, and strict ones take every answer.
func TestResources(t *testing.T) {
	bin := rig.Binary(t)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"repo/a b.txt": "one\ntwo\n", "repo/empty": "", "repo/sub/b.go": "package b\n", "repo/sub/c.go": "package c\n",
				"repo/.env": canary, "repo/pic.png": "\x89PNG\x00", "repo/100%.md": "# all", "other/o.txt": canary} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			config := "projects:\n  - {id: repo, dir: repo, rights: ro}\n  - {id: zz-other, dir: other, rights: ro}\n"
			if err := os.WriteFile(dir+"/rootbound.yaml", []byte(config), 0o644); err != nil {
				t.Fatal(err)
			}
			var steps []step
			var checks []func(seen)
			do := func(name string, params map[string]any, check func(seen)) {
				steps, checks = append(steps, step{Do: "resource", Name: name, Params: params}), append(checks, check)
			}
			read := func(uri, mime, field, want string) {
				do("readResource", map[string]any{"uri": uri}, func(s seen) {
					var r struct {
						Contents []map[string]any
					}
					if err := json.Unmarshal(s.Result, &r); err != nil || len(r.Contents) != 1 {
						t.Errorf("%s: %v %s %s", uri, err, s.Result, s.Thrown)
						return
					}
					got, has := r.Contents[0][field]
					if !has && field == "text" && strings.HasPrefix(c.name, "go-") {
						got = "" // the Go client leaves an empty text out when it writes down what it got
					}
					if got != want || r.Contents[0]["mimeType"] != mime || r.Contents[0]["uri"] != uri {
						t.Errorf("%s: %+v", uri, r.Contents[0])
					}
				})
			}
			no := func(uri string) {
				do("readResource", map[string]any{"uri": uri}, func(s seen) {
					code := -32002
					if c.modern {
						code = -32602
					}
					if s.Thrown == "" || !strings.Contains(s.Thrown, "Resource not found") || s.Code != code {
						t.Errorf("%s: code %d %q %s", uri, s.Code, s.Thrown, s.Result)
					}
				})
			}
			complete := func(argument, value string, want ...string) {
				params := map[string]any{"ref": map[string]any{"type": "ref/resource", "uri": "rootbound://{project}/{+path}"}, "argument": map[string]any{"name": argument, "value": value},
					"context": map[string]any{"arguments": map[string]any{"project": "repo"}}}
				do("complete", params, func(s seen) {
					var r struct {
						Completion struct{ Values []string }
					}
					if c.modern {
						want = nil // roots are declared, and only asked inside calls
					}
					if err := json.Unmarshal(s.Result, &r); err != nil || !slices.Equal(r.Completion.Values, want) {
						t.Errorf("%s %q: %v %s %s", argument, value, err, s.Result, s.Thrown)
					}
				})
			}
			read("rootbound://repo/a%20b.txt", "text/plain", "text", "one\ntwo\n")
			read("rootbound://repo/empty", "text/plain", "text", "")
			read("rootbound://repo/100%25.md", "text/markdown", "text", "# all")
			read("rootbound://repo/pic.png", "image/png", "blob", "iVBORwA=")
			read("rootbound://repo/sub", "application/json", "text", `{"project":"repo","path":"sub","entries":[
{"name":"b.go","type":"file","size":10,"uri":"rootbound://repo/sub/b.go"},
{"name":"c.go","type":"file","size":10,"uri":"rootbound://repo/sub/c.go"}]}
`)
			for _, uri := range []string{"rootbound://repo/none", "rootbound://repo/.env", "rootbound://zz-other/o.txt", "rootbound://nobody/x", "rootbound://repo/..%2fother/o.txt", "file:///etc/passwd"} {
				no(uri)
			}
			do("listResourceTemplates", nil, func(s seen) {
				if !strings.Contains(string(s.Result), `"rootbound://{project}/{+path}"`) {
					t.Errorf("%s %s", s.Result, s.Thrown)
				}
			})
			do("listResources", nil, func(s seen) {
				if listed := strings.Contains(string(s.Result), `"rootbound://repo/"`); s.Thrown != "" || listed == c.modern || strings.Contains(string(s.Result), "zz-other") {
					t.Errorf("%s %s", s.Result, s.Thrown)
				}
			})
			complete("project", "", "repo")
			complete("path", "sub/", "sub/b.go", "sub/c.go")
			complete("path", "a", "a b.txt")
			complete("path", ".e")
			got := c.run(t, plan{
				Command: bin, Args: []string{"serve", "--confine=off", "--no-slow", "--config", dir + "/rootbound.yaml"},
				Env: environment(dir), Roots: []string{"file://" + dir + "/repo"},
				Steps: steps,
			})
			for i, check := range checks {
				check(got[i])
				if told := string(got[i].Result) + got[i].Thrown; strings.Contains(told, dir) || strings.Contains(told, canary) {
					t.Errorf("shows what it must not: %.400s", told)
				}
			}
		})
	}
}
