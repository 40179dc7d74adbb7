package resource_test

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
	"github.com/rootbound/rootbound/mcpfs/resource"
	"github.com/rootbound/rootbound/mcpscope"
)

// Show a project's files as resources of a server that has resources of its own.
func Example() {
	dir, err := os.MkdirTemp("", "app")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "read me.md"), []byte("# Hello\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	ceiling, err := authority.Open([]rootbound.Project{{ID: "app", Dir: dir, Rights: rootbound.ReadOnly}}, authority.CeilingOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer ceiling.Close()
	scope := mcpscope.New(ceiling, mcpscope.Options{Transport: "memory"})
	defer scope.Close(context.Background())
	server := mcp.NewServer(&mcp.Implementation{Name: "mine", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{}, Completions: &mcp.CompletionCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs, c.CacheScope = 0, "private" },
	})
	server.AddResource(&mcp.Resource{URI: "mine://about", Name: "about"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "a server"}}}, nil
	})
	resource.Add(server, resource.Options{Guard: guard.New(guard.Options{}), Scope: scope})
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
	for r, err := range session.Resources(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.URI)
	}
	for _, uri := range []string{resource.URI("app", "read me.md"), "mine://about", "rootbound://app/%2e%2e/secret"} {
		res, err := session.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s: %s\n", res.Contents[0].URI, res.Contents[0].Text)
	}
	// Output:
	// rootbound://app/
	// mine://about
	// rootbound://app/read%20me.md: # Hello
	//
	// mine://about: a server
	// calling "resources/read": Resource not found
}

func ExampleParse() {
	project, path, err := resource.Parse("rootbound://app/100%25/%252e%252e")
	fmt.Println(project, path, err)
	_, _, err = resource.Parse("rootbound://app/..%2fx")
	fmt.Println(rootbound.ReasonOf(err))
	// Output:
	// app 100%/%2e%2e <nil>
	// path_invalid
}
