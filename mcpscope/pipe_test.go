package mcpscope

import (
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// what a Pipe answers by itself, and that the session is alive after each.
func TestPipeSurvivesBadLines(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"not JSON", `{"jsonrpc":"2.0",`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON"}}`},
		{"words", `hello`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON"}}`},
		{"two values", `{} {}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON"}}`},
		{"a number", `7`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a JSON-RPC 2.0 message"}}`},
		{"no version", `{"id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"not a JSON-RPC 2.0 message"}}`},
		{"id of a bad kind", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a JSON-RPC 2.0 message"}}`},
		{"method of a bad kind", `{"jsonrpc":"2.0","id":"x","method":5}`, `{"jsonrpc":"2.0","id":"x","error":{"code":-32600,"message":"not a JSON-RPC 2.0 message"}}`},
		{"neither method nor id", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a JSON-RPC 2.0 message"}}`},
		{"batch outside its revisions", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not part of this protocol revision"}}`},
		{"too long", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("a", 5000) + `"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"message longer than 4096 bytes"}}`},
		{"before initialize", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"method \"tools/list\" is invalid during session initialization"}}`},
		{"blank", "  \r", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := dial(t, newServer(), func(r io.ReadCloser, w io.WriteCloser) mcp.Transport {
				return &pipe.Pipe{Reader: r, Writer: w, MaxLine: 4096}
			})
			p.Send("%s", c.line)
			if c.want != "" {
				if got := p.Recv().Line; got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			}
			p.Send(`{"jsonrpc":"2.0","id":"alive","method":"ping"}`)
			if m := p.Recv(); string(m.ID) != `"alive"` || m.Error != nil {
				t.Errorf("after it: %s", m.Line)
			}
		})
	}
}

// A batch is answered in one line once all its calls are, in the two revisions that have batches.
func TestPipeBatches(t *testing.T) {
	p := dial(t, newServer(), joined.Pipe)
	p.Initialize("2025-03-26", `{}`)
	p.Send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}},{"jsonrpc":"2.0","id":2,"method":"ping"}]`)
	var line string
	select {
	case line = <-p.Lines:
	case <-t.Context().Done():
	}
	if !strings.HasPrefix(line, "[{") || strings.Count(line, `"result":{}`) != 2 {
		t.Errorf("got %s", line)
	}
	p.Send(`[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
	if m := p.Recv(); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("one id twice: %s", m.Line)
	}
	q := dial(t, newServer(), joined.Pipe)
	q.Initialize("2025-06-18", `{}`)
	q.Send(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)
	if m := q.Recv(); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("2025-06-18 has no batches: %s", m.Line)
	}
}

// The end of the input ends the session without an error, and Close unblocks a reader that still waits.
func TestPipeEnds(t *testing.T) {
	p := dial(t, newServer(), joined.Pipe)
	p.In.Close()
	if err := p.Session.Wait(); err != nil {
		t.Errorf("end of input: %v", err)
	}
	q := dial(t, newServer(), joined.Pipe)
	if err := q.Session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	q.Ended()
}
