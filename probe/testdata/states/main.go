// Command states is a server of the SDK whose requestState lives as long as it is told: states DURATION DIR…
package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/mcpscope"
)

func main() {
	life, err := time.ParseDuration(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var projects []rootbound.Project
	for _, dir := range os.Args[2:] {
		projects = append(projects, rootbound.Project{ID: rootbound.RootID(filepath.Base(dir)), Dir: dir, Rights: rootbound.ReadWrite})
	}
	ceiling, err := authority.Open(projects, authority.CeilingOptions{})
	if err != nil {
		log.Fatal(err)
	}
	scope := mcpscope.New(ceiling, mcpscope.Options{StateTTL: life, Need: mcpfs.Classic.Need, Mutates: mcpfs.Classic.Mutates})
	server := mcp.NewServer(&mcp.Implementation{Name: "states", Version: "1"}, nil)
	mcpfs.Add(server, mcpfs.Options{Guard: guard.New(guard.Options{}), Scope: scope, Tools: mcpfs.Classic})
	server.AddReceivingMiddleware(scope.Middleware())
	log.Fatal(server.Run(context.Background(), &mcp.StdioTransport{}))
}
