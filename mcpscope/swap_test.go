package mcpscope

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig/joined"
)

// What a client's roots callback does to the tree is seen by the call that asked: nothing resolved before the question is
// used after the answer. The client swaps a link, or a directory for a link, while it is asked; in both eras.
func TestG11SymlinkSwappedDuringRootsCallback(t *testing.T) {
	const canary = "outside bytes"
	relink := func(t *testing.T, at, to string) {
		t.Helper()
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, path string
		before     func(t *testing.T, dir string)
		swap       func(t *testing.T, dir string)
		want       string // text, or the reason of a refusal
	}{
		{"a link turns outward", "link/f",
			func(t *testing.T, dir string) { relink(t, dir+"/app/link", "sub") },
			func(t *testing.T, dir string) { relink(t, dir+"/app/link", "../elsewhere") }, string(rootbound.OutsideRoot)},
		{"a link turns inward", "link/f",
			func(t *testing.T, dir string) { relink(t, dir+"/app/link", "../elsewhere") },
			func(t *testing.T, dir string) { relink(t, dir+"/app/link", "sub") }, "inside bytes"},
		{"a directory turns into a link", "sub/f",
			func(*testing.T, string) {},
			func(t *testing.T, dir string) { relink(t, dir+"/app/sub", dir+"/elsewhere") }, string(rootbound.OutsideRoot)},
		{"the file turns into a link", "sub/f",
			func(*testing.T, string) {},
			func(t *testing.T, dir string) { relink(t, dir+"/app/sub/f", dir+"/elsewhere/f") }, string(rootbound.OutsideRoot)},
	} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(c.name+" "+era, func(t *testing.T) {
				w := open(t, Options{}, "app")
				for name, text := range map[string]string{"app/sub/f": "inside bytes", "elsewhere/f": canary} {
					if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				door := guard.New(guard.Options{})
				addTool(w.srv, "read", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					var in struct{ Path string }
					if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
						return nil, err
					}
					var text []byte
					err := door.Do(ctx, guard.Read(in.Path), func(_ context.Context, f *guard.Target) (err error) {
						text, err = io.ReadAll(f)
						return err
					})
					return say(string(text)), err
				})
				c.before(t, w.dir)
				call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"path":"` + c.path + `"}%s}}`
				var m joined.Message
				if era == "legacy" {
					p := w.legacy(true)
					p.Send(call, 1, "")
					ask := p.expectAsk()
					c.swap(t, w.dir)
					p.answer(ask, w.roots("app"))
					m = p.Recv()
				} else {
					p := w.dial()
					p.Send(call, 1, ","+joined.MetaRoots)
					state := p.asked(1)
					c.swap(t, w.dir)
					p.Send(call, 2, retry(state, w.roots("app"))+","+joined.MetaRoots)
					m = p.Recv()
				}
				if strings.Contains(m.Line, canary) {
					t.Errorf("bytes from outside: %s", m.Line)
				}
				if r := replyOf(t, m); !strings.Contains(r.text(), c.want) {
					t.Errorf("want %s, got %s", c.want, m.Line)
				}
			})
		}
	}
}
