package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/internal/rig/joined"
)

// What each method of the SDK comes to in the server. An upgrade that adds one must decide about it here: what belongs to
// a capability that is not declared is -32601, in both eras.
func TestEveryMethodIsServedOrNot(t *testing.T) {
	const none = -32601
	uri := `"uri":"rootbound://p/f"`
	cases := map[string]struct {
		params         string
		legacy, modern int // the error's code, 0 for an answer
	}{
		"initialize":  {``, -1, none}, // made before
		"ping":        {``, 0, none},
		"tools/list":  {``, 0, 0},
		"tools/call":  {`"name":"read_text_file","arguments":{"path":"f"}`, 0, 0},
		"prompts/get": {`"name":"x"`, none, none}, "prompts/list": {``, none, none},
		"logging/setLevel": {`"level":"info"`, none, none},
		"resources/list":   {``, 0, 0}, "resources/templates/list": {``, 0, 0}, "resources/read": {uri, 0, 0},
		"resources/subscribe": {uri, 0, none}, "resources/unsubscribe": {uri, 0, none},
		"completion/complete":  {`"ref":{"type":"ref/resource","uri":"rootbound://{project}/{+path}"},"argument":{"name":"project","value":""}`, 0, 0},
		"subscriptions/listen": {`"notifications":{}`, -1, -1}, // goes on until it is cancelled
		"server/discover":      {``, none, 0},
		"acme/own":             {``, none, none},
	}
	for _, m := range rig.Methods(t) {
		if _, ok := cases[m]; !ok && !strings.HasPrefix(m, "notifications/") {
			t.Errorf("the SDK serves %q: decide whether this server does", m)
		}
	}
	for _, era := range []string{"legacy", "modern"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Version: "test", Projects: []rootbound.Project{{ID: "p", Dir: dir, Rights: rootbound.ReadOnly}}})
		if err != nil {
			t.Fatal(err)
		}
		in, client := io.Pipe()
		answers, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- s.Stdio(t.Context(), in, out) }()
		lines := bufio.NewReader(answers)
		ask := func(method, params string) (code int) {
			t.Helper()
			if _, err := fmt.Fprintf(client, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`+"\n", method, params); err != nil {
				t.Fatal(err)
			}
			line, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			var m struct{ Error struct{ Code int } }
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatal(err)
			}
			return m.Error.Code
		}
		meta := ""
		if era == "legacy" {
			if code := ask("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}`); code != 0 {
				t.Fatal(code)
			}
		} else {
			meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		}
		for method, c := range cases {
			want, params := c.legacy, c.params
			if era == "modern" {
				want = c.modern
				if params != "" {
					params += ","
				}
				params += meta
			}
			if want == -1 {
				continue
			}
			if code := ask(method, params); code != want {
				t.Errorf("%s %s: code %d, want %d", era, method, code, want)
			}
		}
		client.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The trap of go-sdk v1.8.0 behind undeclared: a server answers lists of what it does not declare. When an upgrade turns this
// red, the middleware may go. Ours is TestEveryMethodIsServedOrNot.
func TestTrapUndeclaredListsAreAnswered(t *testing.T) {
	srv := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	cs := joined.To(t, mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil), "", srv)
	defer cs.Close()
	if cs.InitializeResult().Capabilities.Prompts != nil {
		t.Fatal("prompts are declared")
	}
	if res, err := cs.ListPrompts(t.Context(), nil); err != nil || len(res.Prompts) != 0 {
		t.Errorf("refused now: %v", err)
	}
}
