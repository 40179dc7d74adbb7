package mcpscope

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Pipe is a newline-delimited JSON-RPC transport like mcp.IOTransport that a bad line does not end (it is answered with
// -32700 or -32600), whose error texts never repeat what was sent, and which tells the Scope's middleware request ids.
type Pipe struct {
	Reader  io.ReadCloser
	Writer  io.WriteCloser
	MaxLine int // bytes; default 16 MiB; a longer line is answered with an error and skipped
}

// Connect implements mcp.Transport.
func (p *Pipe) Connect(ctx context.Context) (mcp.Connection, error) { panic("stub") }
