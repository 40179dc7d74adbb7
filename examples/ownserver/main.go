// Command ownserver is somebody's own MCP server: one tool that counts the bytes of a file, scoped by rootbound to the
// directory it is started with and to the roots its client approved, in both protocol eras. The lines that do the scoping
// are marked; everything else would stand in any server.
package main

import (
	"context"
	"io"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"           // scope
	"github.com/rootbound/rootbound/authority" // scope
	"github.com/rootbound/rootbound/guard"     // scope
	"github.com/rootbound/rootbound/mcpscope"  // scope
)

type input struct {
	Path string `json:"path" jsonschema:"the file to count, relative to the project"`
}

type output struct {
	Bytes int64 `json:"bytes"`
}

// newServer makes the server for one directory.
func newServer(dir string) (*mcp.Server, error) {
	project := rootbound.Project{ID: "own", Dir: dir, Rights: rootbound.ReadOnly}            // scope
	ceiling, err := authority.Open([]rootbound.Project{project}, authority.CeilingOptions{}) // scope
	if err != nil {                                                                          // scope
		return nil, err // scope
	} // scope
	scope, door := mcpscope.New(ceiling, mcpscope.Options{}), guard.New(guard.Options{}) // scope

	server := mcp.NewServer(&mcp.Implementation{Name: "ownserver", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Counts the bytes of a file."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in input) (_ *mcp.CallToolResult, out output, err error) {
			err = door.Do(ctx, guard.Read(in.Path), func(_ context.Context, file *guard.Target) (err error) { // scope
				out.Bytes, err = io.Copy(io.Discard, file)
				return err
			}) // scope
			return nil, out, err
		})
	server.AddReceivingMiddleware(scope.Middleware()) // scope
	return server, nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: ownserver DIR")
	}
	server, err := newServer(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
