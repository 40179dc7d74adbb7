// Command filetools is an MCP server of somebody's own with all file tools of rootbound, in the project form, and one tool
// beside them that goes through the same door.
package main

import (
	"context"
	"io"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/mcpscope"
)

type input struct {
	Project string `json:"project_id"`
	Path    string `json:"relative_path"`
}

type output struct {
	Bytes int64 `json:"bytes"`
}

func newServer(dir string) (*mcp.Server, error) {
	app := rootbound.Project{ID: "app", Dir: dir, Rights: rootbound.ReadWrite}
	ceiling, err := authority.Open([]rootbound.Project{app}, authority.CeilingOptions{})
	if err != nil {
		return nil, err
	}
	tools, door := mcpfs.Project, guard.New(guard.Options{})
	scope := mcpscope.New(ceiling, mcpscope.Options{Need: tools.Need, Mutates: tools.Mutates})

	server := mcp.NewServer(&mcp.Implementation{Name: "filetools", Version: "1"}, &mcp.ServerOptions{Instructions: tools.Instructions()})
	mcpfs.Add(server, mcpfs.Options{Guard: door, Scope: scope, Tools: tools})
	mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Counts the bytes of a file."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in input) (_ *mcp.CallToolResult, out output, err error) {
			file := guard.Request{Op: rootbound.OpRead, Root: in.Project, Path: in.Path, Contained: true}
			err = door.Do(ctx, file, func(_ context.Context, t *guard.Target) (err error) {
				out.Bytes, err = io.Copy(io.Discard, t)
				return err
			})
			return nil, out, err
		})
	server.AddReceivingMiddleware(scope.Middleware()) // last, so that it is outermost
	return server, nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: filetools DIR")
	}
	server, err := newServer(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
