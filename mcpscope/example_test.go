package mcpscope_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/mcpscope"
)

// A server tells what it may touch: the project its operator granted, narrowed by the root its client declared.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o755); err != nil {
		log.Fatal(err)
	}

	ceiling, err := authority.Open([]rootbound.Project{{ID: "app", Dir: dir, Rights: rootbound.ReadOnly}}, authority.CeilingOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer ceiling.Close()
	scope := mcpscope.New(ceiling, mcpscope.Options{})
	server := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "where"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		use, err := authority.From(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, g := range use.Snapshot().Grants {
			fmt.Printf("project %s, below %s: %s\n", g.Project.ID, g.Prefix, g.Project.Rights)
		}
		return &mcp.CallToolResult{}, nil, nil
	})
	server.AddReceivingMiddleware(scope.Middleware())

	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), near, nil); err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	client.AddRoots(&mcp.Root{URI: "file://" + filepath.Join(dir, "src")})
	session, err := client.Connect(context.Background(), far, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "where"}); err != nil {
		log.Fatal(err)
	}
	if err := scope.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	session.Close()
	// Output:
	// project app, below src: ro
}
