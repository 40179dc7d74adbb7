package mcpfs_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/rig/joined"
)

// The trap of go-sdk v1.8.0 that is countered here: typed tools are checked against their schema before the handler, so a
// refusal of ours would be neither seen nor recorded, and the error lists every value of an enum. Ours is
// TestG22UnknownAndForbiddenProjectsLookAlike: tools are added by the low-level Server.AddTool, which checks nothing.
func TestTrapTypedToolsRefuseBeforeTheHandler(t *testing.T) {
	srv := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	schema := map[string]any{"type": "object", "properties": map[string]any{"project_id": map[string]any{"enum": []string{"mine", "other"}}}}
	mcp.AddTool(srv, &mcp.Tool{Name: "typed", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		t.Error("the handler sees it now")
		return nil, nil, nil
	})
	seen := false
	srv.AddTool(&mcp.Tool{Name: "low", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		seen = true
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	cs := joined.To(t, mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil), "", srv)
	defer cs.Close()
	wrong := map[string]any{"project_id": "wrong"}
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "typed", Arguments: wrong})
	text := ""
	if err != nil {
		text = err.Error()
	} else if res.IsError {
		text = res.Content[0].(*mcp.TextContent).Text
	}
	if !strings.Contains(text, "other") {
		t.Errorf("the values are not listed any more: %v %q", err, text)
	}
	if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "low", Arguments: wrong}); err != nil || !seen {
		t.Errorf("the low-level tool is checked too: %v", err)
	}
}
