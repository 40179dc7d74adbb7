package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/rig"
)

func TestMain(m *testing.M) {
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

// step is one thing a client does.
type step struct {
	Do    string         `json:"do"` // server, tools, call, roots, subscribe, unsubscribe, heard, run
	Tool  string         `json:"tool,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
	Roots []string       `json:"roots"`
	URIs  []string       `json:"uris,omitempty"`
	Argv  []string       `json:"argv,omitempty"`

	Name   string         `json:"name,omitempty"` // resource: the client's function
	Params map[string]any `json:"params,omitempty"`
}

// seen is what a client saw of it.
type seen struct {
	Result json.RawMessage `json:"result"`
	Thrown string          `json:"thrown"`
	Code   int             `json:"code"`
	Asks   int             `json:"asks"`
}

// result is a tool's result as a client's program gets it.
type result struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	IsError    bool `json:"isError"`
	Structured struct {
		Content json.RawMessage `json:"content"`
		Version string          `json:"version"`
		Error   struct {
			Reason string `json:"reason"`
		} `json:"error"`
	} `json:"structuredContent"`
}

// plan is a run of one client.
type plan struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Roots   []string          `json:"roots"`
	Mode    any               `json:"mode,omitempty"`
	Steps   []step            `json:"steps"`
}

// runs is how long a client may take for all of its steps, on any machine.
const runs = 3 * time.Minute

// environment is that of a server whose files lie in dir. The disk of a busy machine may be slow.
func environment(dir string) map[string]string {
	return map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "XDG_STATE_HOME": dir + "/state", "ROOTBOUND_FS_TIMEOUT": "1m"}
}

// client is one client program in one era.
type client struct {
	name   string
	modern bool
	run    func(*testing.T, plan) []seen
}

func clients() []client {
	node := func(script string, mode any) func(*testing.T, plan) []seen {
		return func(t *testing.T, p plan) []seen {
			p.Mode = mode
			return runNode(t, script, p)
		}
	}
	goSDK := func(version string) func(*testing.T, plan) []seen {
		return func(t *testing.T, p plan) []seen { return runGo(t, version, p) }
	}
	return []client{
		{"typescript-v1", false, node("driver-v1.mjs", nil)},
		{"typescript-v2-legacy", false, node("driver-v2.mjs", "legacy")},
		{"typescript-v2-auto", true, node("driver-v2.mjs", "auto")},
		{"typescript-v2-modern", true, node("driver-v2.mjs", map[string]string{"pin": "2026-07-28"})},
		{"go-legacy", false, goSDK("2025-11-25")},
		{"go-modern", true, goSDK("")},
	}
}

// installed skips a test that needs what make e2e installs; there, RB_E2E=require makes its absence a failure.
func installed(t *testing.T) {
	t.Helper()
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "node is not installed"
	} else if _, err := os.Stat("node_modules/@modelcontextprotocol/server-filesystem"); err != nil {
		missing = "the npm packages are not installed (make e2e)"
	}
	switch {
	case missing == "":
	case os.Getenv("RB_E2E") == "require":
		t.Fatal(missing)
	default:
		t.Skip(missing)
	}
}

func runNode(t *testing.T, script string, p plan) []seen {
	t.Helper()
	installed(t)
	in, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runs)
	defer cancel()
	c := exec.CommandContext(ctx, "node", script)
	c.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr is not silent: %s", stderr.String())
	}
	var all []seen
	for line := range bytes.Lines(out) {
		var s seen
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, s)
	}
	if len(all) != len(p.Steps) {
		t.Fatalf("%d of %d steps were done: %s", len(all), len(p.Steps), out)
	}
	return all
}

// runGo does the steps with the Go SDK's client. version pins a revision; empty negotiates.
func runGo(t *testing.T, version string, p plan) []seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runs)
	defer cancel()
	c := mcp.NewClient(&mcp.Implementation{Name: "e2e-go", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: true}},
	})
	roots := func(uris []string) []*mcp.Root {
		var out []*mcp.Root
		for _, u := range uris {
			out = append(out, &mcp.Root{URI: u})
		}
		return out
	}
	c.AddRoots(roots(p.Roots)...)
	cmd := exec.Command(p.Command, p.Args...)
	for k, v := range p.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	s, err := c.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := p.Roots
	var all []seen
	for _, st := range p.Steps {
		var got any
		var err error
		switch st.Do {
		case "server":
			got = s.InitializeResult()
		case "tools":
			got, err = s.ListTools(ctx, nil)
		case "call":
			got, err = s.CallTool(ctx, &mcp.CallToolParams{Name: st.Tool, Arguments: st.Args})
		case "resource":
			got, err = runResource(ctx, s, st)
		case "roots":
			var gone []string
			for _, u := range now {
				if !slices.Contains(st.Roots, u) {
					gone = append(gone, u)
				}
			}
			if len(gone) > 0 {
				c.RemoveRoots(gone...)
			}
			c.AddRoots(roots(st.Roots)...)
			now = st.Roots
		}
		line := seen{}
		if err != nil {
			line.Thrown = err.Error()
			var we *jsonrpc.Error
			if errors.As(err, &we) {
				line.Code = int(we.Code)
			}
		} else if line.Result, err = json.Marshal(got); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}

// call reads a step's tool result.
func (s seen) call(t *testing.T) result {
	t.Helper()
	if s.Thrown != "" {
		t.Fatalf("the client threw: %s", s.Thrown)
	}
	var r result
	if err := json.Unmarshal(s.Result, &r); err != nil {
		t.Fatalf("%v: %s", err, s.Result)
	}
	return r
}

func (r result) text() string {
	var b []string
	for _, c := range r.Content {
		b = append(b, c.Text)
	}
	return strings.Join(b, "\n")
}

// repository copies this repository's tracked files: real input of some size.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			continue
		}
		to := filepath.Join(dir, "repo", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "outside.txt"), []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside.txt", filepath.Join(dir, "repo", "leak")); err != nil {
		t.Fatal(err)
	}
	return dir
}

const canary = "E2E-CANARY-never-comes-back"

// TestMainJob is what the server is for: a real client lists, reads, searches and edits a real repository, is refused what
// lies outside, sees the roots change under it, be empty and come back.
func TestMainJob(t *testing.T) {
	bin := rig.Binary(t)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			repo, uri := dir+"/repo", "file://"+dir+"/repo"
			p := plan{
				Command: bin, Args: []string{"serve", "--confine=off", "--no-slow", repo},
				Env: environment(dir), Roots: []string{uri},
				Steps: []step{
					{Do: "server"},
					{Do: "tools"},
					{Do: "call", Tool: "list_directory", Args: map[string]any{"path": "."}},
					{Do: "call", Tool: "read_text_file", Args: map[string]any{"path": "go.mod"}},
					{Do: "call", Tool: "search_files", Args: map[string]any{"path": repo, "pattern": "**/clients_test.go"}},
					{Do: "call", Tool: "edit_file", Args: map[string]any{"path": repo + "/go.mod", "edits": []map[string]string{{"oldText": "module github.com/rootbound/rootbound", "newText": "module example.com/changed"}}}},
					{Do: "call", Tool: "write_file", Args: map[string]any{"path": repo + "/new.txt", "content": "made by a client\n"}},
					{Do: "call", Tool: "read_text_file", Args: map[string]any{"path": "leak"}},
					{Do: "call", Tool: "read_text_file", Args: map[string]any{"path": "../outside.txt"}},
					{Do: "call", Tool: "write_file", Args: map[string]any{"path": repo + "/leak", "content": "x"}},
					{Do: "roots", Roots: []string{uri + "/e2e"}},
					{Do: "call", Tool: "read_text_file", Args: map[string]any{"path": repo + "/go.mod"}},
					{Do: "call", Tool: "read_text_file", Args: map[string]any{"path": repo + "/e2e/doc.go"}},
					{Do: "roots", Roots: []string{}},
					{Do: "call", Tool: "read_text_file", Args: map[string]any{"path": repo + "/e2e/doc.go"}},
					{Do: "call", Tool: "write_file", Args: map[string]any{"path": repo + "/e2e/never.txt", "content": "x"}},
					{Do: "roots", Roots: []string{uri}},
					{Do: "call", Tool: "read_text_file", Args: map[string]any{"path": "new.txt"}},
					{Do: "call", Tool: "search_content", Args: map[string]any{"path": ".", "pattern": `^module\s+example`, "include": []string{"**/go.mod"}, "context": 1}},
					{Do: "call", Tool: "search_content", Args: map[string]any{"path": "..", "pattern": "x"}},
				},
			}
			job(t, repo, c.run(t, p))
		})
	}
}

// classic are the tools of the official server, in its order.
var classic = []string{
	"read_file", "read_text_file", "read_media_file", "read_multiple_files", "write_file", "edit_file", "create_directory",
	"list_directory", "list_directory_with_sizes", "directory_tree", "move_file", "search_files", "get_file_info", "list_allowed_directories",
}

func job(t *testing.T, repo string, got []seen) {
	for i, s := range got {
		if strings.Contains(string(s.Result)+s.Thrown, canary) {
			t.Errorf("step %d shows what lies outside: %s", i, s.Result)
		}
	}
	want := func(i int, has string) {
		t.Helper()
		if r := got[i].call(t); r.IsError || !strings.Contains(r.text(), has) {
			t.Errorf("step %d: want %q, got %.300q (error: %v)", i, has, r.text(), r.IsError)
		}
	}
	deny := func(i int, reason string) {
		t.Helper()
		r := got[i].call(t)
		if !r.IsError || r.Structured.Error.Reason != reason || r.text() == "" || len(r.Structured.Content) == 0 {
			t.Errorf("step %d: want a refusal %s with text and structured content, got %s", i, reason, got[i].Result)
		}
	}
	var tools struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(got[1].Result, &tools); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range tools.Tools {
		names = append(names, x.Name)
	}
	if len(names) < len(classic) || !slices.Equal(names[:len(classic)], classic) {
		t.Errorf("tools are %v", names)
	}
	want(2, "[DIR] e2e")
	want(3, "module github.com/rootbound/rootbound")
	want(4, repo+"/e2e/clients_test.go")
	want(5, "+module example.com/changed")
	want(6, "Successfully wrote to "+repo+"/new.txt")
	deny(7, "outside_root")
	deny(8, "outside_root")
	deny(9, "outside_root")
	deny(11, "outside_root")
	want(12, "package e2e")
	deny(14, "roots_empty")
	deny(15, "roots_empty")
	want(17, "made by a client")
	want(18, "./go.mod:1:module example.com/changed\n./go.mod-2-")
	deny(19, "outside_root")
	b, err := os.ReadFile(repo + "/go.mod")
	if err != nil || !strings.HasPrefix(string(b), "module example.com/changed\n") {
		t.Errorf("the edit is not on disk: %.60q %v", b, err)
	}
	if _, err := os.Lstat(repo + "/e2e/never.txt"); err == nil {
		t.Error("a refused write was done")
	}
}

// TestWithoutRoots: a client that does not declare the capability is served what the operator gave.
func TestWithoutRoots(t *testing.T) {
	for _, c := range clients() {
		if strings.HasPrefix(c.name, "go-") {
			continue // the Go SDK's client always answers for the capability it declares; the raw client covers it
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			got := c.run(t, plan{
				Command: rig.Binary(t), Args: []string{"serve", "--confine=off", dir + "/repo"},
				Env: environment(dir),
				Steps: []step{
					{Do: "call", Tool: "read_text_file", Args: map[string]any{"path": "go.mod"}},
					{Do: "call", Tool: "list_allowed_directories"},
				},
			})
			if r := got[0].call(t); r.IsError || !strings.Contains(r.text(), "module ") {
				t.Errorf("got %s", got[0].Result)
			}
			if want := fmt.Sprintf("Allowed directories:\n%s/repo", dir); got[1].call(t).text() != want {
				t.Errorf("got %q, want %q", got[1].call(t).text(), want)
			}
		})
	}
}
