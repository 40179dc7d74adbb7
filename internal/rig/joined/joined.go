// Package joined puts a client to a server in one process: the SDK's, or one that speaks lines. It is apart from package rig, since
// few of its users need the SDK.
package joined

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Connect connects a server over a transport.
type Connect = func(context.Context, mcp.Transport) (*mcp.ServerSession, error)

// Bare is the Connect of a server.
func Bare(srv *mcp.Server) Connect {
	return func(ctx context.Context, over mcp.Transport) (*mcp.ServerSession, error) {
		return srv.Connect(ctx, over, nil)
	}
}

// Session joins a client to the server that connect connects, over memory, and speaks that protocol version, "" for the SDK's
// own choice. The caller closes it.
func Session(tb testing.TB, c *mcp.Client, version string, connect Connect) *mcp.ClientSession {
	tb.Helper()
	here, there := mcp.NewInMemoryTransports()
	if _, err := connect(context.Background(), there); err != nil {
		tb.Fatal(err)
	}
	cs, err := c.Connect(context.Background(), here, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		tb.Fatal(err)
	}
	return cs
}

// To is Session for a bare server.
func To(tb testing.TB, c *mcp.Client, version string, srv *mcp.Server) *mcp.ClientSession {
	tb.Helper()
	return Session(tb, c, version, Bare(srv))
}
