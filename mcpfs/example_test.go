package mcpfs_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/mcpscope"
)

// Add all file tools to a server that has tools of its own.
func Example() {
	dir, err := os.MkdirTemp("", "app")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("hello\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	ceiling, err := authority.Open([]rootbound.Project{{ID: "app", Dir: dir, Rights: rootbound.ReadWrite}}, authority.CeilingOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer ceiling.Close()
	g := guard.New(guard.Options{})
	scope := mcpscope.New(ceiling, mcpscope.Options{
		Transport: "memory",
		Mutates:   mcpfs.Classic.Mutates, // reads may use roots of 2 s ago
		Need:      mcpfs.Classic.Need,
		Form:      mcpfs.Classic.Form,
	})
	defer scope.Close(context.Background())
	server := mcp.NewServer(&mcp.Implementation{Name: "mine", Version: "1"}, &mcp.ServerOptions{Instructions: mcpfs.Classic.Instructions()})
	mcpfs.Add(server, mcpfs.Options{Guard: g, Scope: scope})
	server.AddReceivingMiddleware(scope.Middleware()) // last, so that it is outermost

	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), there, nil); err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(context.Background(), here, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for _, call := range []*mcp.CallToolParams{
		{Name: "edit_file", Arguments: map[string]any{"root": "app", "path": "note.txt", "edits": []any{map[string]any{"oldText": "hello", "newText": "goodbye"}}}},
		{Name: "read_text_file", Arguments: map[string]any{"path": "note.txt"}},
	} {
		res, err := session.CallTool(context.Background(), call)
		if err != nil {
			log.Fatal(err)
		}
		if call.Name == "read_text_file" {
			fmt.Print(res.Content[0].(*mcp.TextContent).Text)
		}
	}
	// Output: goodbye
}
