// Command httptools serves the file tools of rootbound over Streamable HTTP, in both protocol eras, on an address of this
// machine. It asks nobody who they are: put an authentication before it (auth.RequireBearerToken of the SDK) where others
// reach the address, and each principal has an authority of its own.
package main

import (
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/mcpscope/unread"
)

// firstModern is the first revision without sessions. Revisions are dates, so that they compare as texts.
const firstModern = "2026-07-28"

// forgotten is after what time without a request a legacy session is ended.
const forgotten = time.Hour

// newHandler serves the directories, narrowed by each client's roots; without any, the client's roots alone. The SDK serves the two eras by
// different handlers; one scope stands behind both, and one set of bounds for clients that do not read.
func newHandler(dirs []string) (http.Handler, *unread.Bounds, error) {
	var projects []rootbound.Project
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, nil, err
		}
		projects = append(projects, rootbound.Project{ID: rootbound.RootID(filepath.Base(dir)), Dir: dir, Rights: rootbound.ReadWrite | rootbound.Delete})
	}
	ceiling, err := authority.Open(projects, authority.CeilingOptions{})
	if err != nil {
		return nil, nil, err
	}
	tools, door := mcpfs.Classic, guard.New(guard.Options{})
	o := mcpscope.Options{Transport: "http", Need: tools.Need, Mutates: tools.Mutates}
	if len(projects) == 0 {
		o.Mode, o.ClientProject = authority.Client, rootbound.Project{Rights: rootbound.ReadWrite}
	}
	scope := mcpscope.New(ceiling, o)
	server := mcp.NewServer(&mcp.Implementation{Name: "httptools", Version: "1"}, &mcp.ServerOptions{Instructions: tools.Instructions()})
	mcpfs.Add(server, mcpfs.Options{Guard: door, Scope: scope, Tools: tools})
	server.AddReceivingMiddleware(scope.Middleware()) // last, so that it is outermost

	get := func(*http.Request) *mcp.Server { return server }
	bounds := unread.New(unread.Options{}) // for clients that do not read
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{SessionTimeout: forgotten})
	legacy := scope.Sessions(bounds.Handler(sessions)) // a session is its principal's
	modern := bounds.Handler(mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= firstModern {
			modern.ServeHTTP(w, r)
			return
		}
		legacy.ServeHTTP(w, r)
	}), bounds, nil
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: httptools 127.0.0.1:PORT [DIR…]")
	}
	handler, bounds, err := newHandler(os.Args[2:])
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	s := &http.Server{Handler: mux}
	bounds.Protect(s)
	log.Fatal(s.Serve(l))
}
