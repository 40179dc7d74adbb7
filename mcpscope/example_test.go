package mcpscope_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpscope"
)

// Give a tool of one's own the scope that operator and client agree on. The scope asks the client for its roots inside
// the call, in the way of the request's era, and the tool sees nothing of it.
func Example() {
	dir, err := os.MkdirTemp("", "work")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"app/main.txt", "other/main.txt"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("hello\n"), 0o644); err != nil {
			log.Fatal(err)
		}
	}

	// The server: what is not about this tool is two lines, New and AddReceivingMiddleware.
	ceiling, err := authority.Open([]rootbound.Project{{ID: "work", Dir: dir, Rights: rootbound.ReadOnly}}, authority.CeilingOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer ceiling.Close()
	scope, g := mcpscope.New(ceiling, mcpscope.Options{Transport: "memory"}), guard.New(guard.Options{})
	defer scope.Close(context.Background())
	server := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count"}, func(ctx context.Context, _ *mcp.CallToolRequest, in struct{ Path string }) (*mcp.CallToolResult, any, error) {
		var n int64
		err := g.Do(ctx, guard.Read(in.Path), func(_ context.Context, t *guard.Target) (err error) {
			n, err = io.Copy(io.Discard, t)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(n, " bytes")}}}, nil, nil
	})
	server.AddReceivingMiddleware(scope.Middleware())

	// A client that has only app open.
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), there, nil); err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	client.AddRoots(&mcp.Root{URI: "file://" + filepath.ToSlash(filepath.Join(dir, "app"))})
	session, err := client.Connect(context.Background(), here, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for _, path := range []string{"app/main.txt", "other/main.txt"} {
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"Path": path}})
		if err != nil {
			log.Fatal(err)
		}
		text := res.Content[0].(*mcp.TextContent).Text
		if res.IsError {
			fmt.Println("refused:", strings.Contains(text, "outside_root"))
			continue
		}
		fmt.Println(text)
	}
	// Output:
	// 6 bytes
	// refused: true
}
