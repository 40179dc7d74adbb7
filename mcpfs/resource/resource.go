package resource

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

// Options of Add. A bound of 0 means the value named beside it.
type Options struct {
	Guard *guard.Guard    // required
	Scope *mcpscope.Scope // required; its middleware must be on the server too

	Text int // bytes of a text file that is sent: 1 MiB
	Blob int // bytes of another file that is sent: 4 MiB
	List int // entries of one listing, and of one page of resources/list: 1,000

	// ReadTool is the tool of the server that reads long texts in parts, and ListOn gives the one that lists long directories
	// by pages, with the arguments that go on behind a name; both for those who are refused or cut. Empty, nil: none is named.
	ReadTool string
	ListOn   func(project, path, after string) (tool string, arguments map[string]any)
}

// Add serves the objects of approved projects as resources: resources/list shows the approved roots, resources/read gives
// files and listings of directories, resources/templates/list has the template, completion/complete completes its two
// variables. Other resources of the server stay as they are.
//
// Call it before the scope's middleware is added, which must stay outermost. The scope is to be told what
// calls need: Need for resources/read is mcpscope.Scoped where Ours says so. ServerOptions should declare the
// capabilities resources and completions, and set SetCacheable to 0 and "private".
//
// limit sets other values of Text, Blob and List, for the requests that come from now on. Safe for concurrent use.
func Add(server *mcp.Server, o Options) (limit func(text, blob, list int)) {
	r := &resources{Options: o, complete: new(mcp.ReadResourceResult)}
	limit = func(text, blob, list int) {
		r.limits.Store(&limits{or(text, 1<<20), or(blob, 4<<20), or(list, 1000)})
	}
	limit(o.Text, o.Blob, o.List)
	_ = json.Unmarshal([]byte(`{"resultType":"complete"}`), r.complete) // the field is unexported; what is written here is decoded
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "path", Title: "A file or directory of a project", URITemplate: Template,
		Description: "project is the id of a project. path is relative to it, with / between names, percent-encoded once; empty for the project itself. A directory reads as a JSON listing.",
	}, r.read)
	server.AddReceivingMiddleware(r.middleware)
	return limit
}

func or(n, standard int) int {
	if n <= 0 {
		return standard
	}
	return n
}

type limits struct{ text, blob, list int }

// resources is what all handlers share. Safe for concurrent use.
type resources struct {
	Options
	limits   atomic.Pointer[limits]
	complete *mcp.ReadResourceResult // the empty result of 2026-07-28
}

func (r *resources) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch req := req.(type) {
		case *mcp.ReadResourceRequest:
			// Answered here, so that a URI that fits no template has its record, and because the SDK compiles each template
			// for each read, which takes as long as the read.
			if Ours(uriOf(req)) {
				res, err := r.read(ctx, req)
				if err != nil {
					return nil, err
				}
				return result{res}, nil
			}
		case *mcp.ListResourcesRequest:
			return r.list(ctx, method, req, next)
		case *mcp.ListResourceTemplatesRequest:
			res, err := next(ctx, method, req)
			if err != nil && req.Params != nil && req.Params.Cursor != "" {
				return nil, wire.NoPage(err)
			}
			return res, err
		case *mcp.CompleteRequest:
			if res := r.completion(ctx, req); res != nil {
				return res, nil
			}
		}
		return next(ctx, method, req)
	}
}

// Ours tells whether a URI is one of a project's resources, or would be with a mistake less: for mcpscope.Options.Need. A
// scheme has no case (RFC 3986 §3.1), so another spelling of it is a mistake here and no other server's.
func Ours(uri string) bool {
	scheme, _, _ := strings.Cut(Scheme, "/")
	return len(uri) >= len(scheme) && strings.EqualFold(uri[:len(scheme)], scheme)
}

// Request tells what a resources/read will ask the guard for, for a check before anything is asked of the client
// (guard.Precheck). A URI that cannot be read is in Request.Invalid. ok is false for every other request.
func Request(req mcp.Request) (r guard.Request, ok bool) {
	uri := uriOf(req)
	if !Ours(uri) {
		return r, false
	}
	project, path, err := Parse(uri)
	if err != nil {
		return guard.Request{Op: rootbound.OpRead, Path: uri, Contained: true, Invalid: err}, true
	}
	return guard.Request{Op: rootbound.OpRead, Root: string(project), Path: path, Contained: true, Decoded: true, Listing: true}, true
}

func uriOf(req mcp.Request) string {
	if p, ok := req.GetParams().(*mcp.ReadResourceParams); ok && p != nil {
		return p.URI
	}
	return ""
}

// inForce is what a request may touch: without a hold, nothing.
func (r *resources) inForce(ctx context.Context, req mcp.Request) mcpscope.Status {
	st := r.Scope.Status(ctx, req)
	if !st.Held {
		st.Grants = nil
	}
	return st
}

// badCursor refuses a cursor that does not lead on from anything that is approved now.
func badCursor() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor names nothing that is approved now; leave it out to begin with the first page"}
}
