package mcpscope

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/internal/rig/joined"
)

// What the middleware and the Pipe cost beside the bare SDK: one echo over io.Pipe. Compare within one run only.
func BenchmarkEcho(b *testing.B) {
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	for _, c := range []struct {
		name   string
		over   joined.Over
		scoped bool
		first  string
		meta   string
	}{
		{"bare", joined.SDK, false, initialize, ""},
		{"bare modern", joined.SDK, false, "", "," + joined.Meta},
		{"pipe", joined.Pipe, false, initialize, ""},
		{"scoped", joined.SDK, true, initialize, ""},
		{"scoped pipe", joined.Pipe, true, initialize, ""},
		{"scoped pipe modern", joined.Pipe, true, "", "," + joined.Meta},
	} {
		b.Run(c.name, func(b *testing.B) {
			srv := newServer()
			addTool(srv, "echo", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return say(string(req.Params.Arguments)), nil
			})
			if c.scoped {
				ceiling, err := authority.Open([]rootbound.Project{{ID: "app", Dir: b.TempDir(), Rights: rootbound.ReadOnly}}, authority.CeilingOptions{})
				if err != nil {
					b.Fatal(err)
				}
				scope := New(ceiling, Options{})
				srv.AddReceivingMiddleware(scope.Middleware())
				b.Cleanup(func() { scope.Close(context.Background()); ceiling.Close() })
			}
			in, out, _ := joined.Ends(b, joined.Bare(srv), c.over)
			r := bufio.NewReaderSize(out, 1<<16)
			ask := func(line string) {
				if _, err := io.WriteString(in, line+"\n"); err != nil {
					b.Fatal(err)
				}
				if _, err := r.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
			if c.first != "" {
				ask(c.first)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"a":"b"}%s}}`, n, c.meta))
			}
		})
	}
}
