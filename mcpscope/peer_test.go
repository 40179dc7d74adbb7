package mcpscope

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/rig/joined"
)

// peer is a client that speaks lines.
type peer struct {
	*joined.Peer
	t *testing.T
}

// dial connects a peer to srv.
func dial(t *testing.T, srv *mcp.Server, over joined.Over) *peer {
	t.Helper()
	return &peer{joined.Dial(t, joined.Bare(srv), over), t}
}

// toolReply is a tools/call result.
type toolReply struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	IsError           bool                       `json:"isError"`
	ResultType        string                     `json:"resultType"`
	RequestState      string                     `json:"requestState"`
	InputRequests     map[string]json.RawMessage `json:"inputRequests"`
	StructuredContent struct {
		Content any   `json:"content"`
		Error   Facts `json:"error"`
	} `json:"structuredContent"`
}

func replyOf(t *testing.T, m joined.Message) toolReply {
	t.Helper()
	var r toolReply
	if m.Error != nil || json.Unmarshal(m.Result, &r) != nil {
		t.Fatalf("not a tool result: %s", m.Line)
	}
	return r
}

func (r toolReply) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
}

// addTool registers a tool without schema checks.
func addTool(srv *mcp.Server, name string, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	srv.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
