package serve

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpfs"
)

// A client is told when the ids in the tools change, and then sees the new ones; in the classic form there is nothing to tell.
func TestClientsHearOfOtherProjects(t *testing.T) {
	a, b := rootbound.Project{ID: "a", Dir: t.TempDir(), Rights: rootbound.ReadOnly}, rootbound.Project{ID: "b", Dir: t.TempDir(), Rights: rootbound.ReadOnly}
	for _, form := range []mcpfs.Tools{mcpfs.Project, mcpfs.Classic} {
		s, err := New(Options{Version: "test", Transport: "memory", Projects: []rootbound.Project{a, b}, Tools: form})
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan struct{}, 8)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			Capabilities:           &mcp.ClientCapabilities{},
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
		})
		session := joined.Session(t, client, "2025-06-18", s.Connect)
		ids := func() []any {
			res, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(res.Tools, func(tool *mcp.Tool) bool { return tool.Name == "read_text_file" })
			props, _ := res.Tools[i].InputSchema.(map[string]any)["properties"].(map[string]any)
			id, _ := props["project_id"].(map[string]any)
			enum, _ := id["enum"].([]any)
			return enum
		}
		before := ids()
		if _, err := s.Use([]rootbound.RootID{"b"}); err != nil {
			t.Fatal(err)
		}
		if form == mcpfs.Project {
			select {
			case <-told:
			case <-time.After(time.Minute):
				t.Error("the client was not told")
			}
			if after := ids(); !slices.Equal(before, []any{"a", "b"}) || !slices.Equal(after, []any{"b"}) {
				t.Errorf("ids %v, then %v", before, after)
			}
		} else if before != nil || session.InitializeResult().Capabilities.Tools.ListChanged {
			t.Errorf("the classic form shows %v", before)
		}
		session.Close()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
