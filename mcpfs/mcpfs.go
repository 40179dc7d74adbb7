package mcpfs

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

// Options of Add.
type Options struct {
	Guard  *guard.Guard    // required
	Scope  *mcpscope.Scope // required; its middleware must be on the server too
	Limits Limits
}

// Limits bound one answer (contract §6). 0 means the value named here.
type Limits struct {
	Text    int // bytes of text of one read, and of read_multiple_files together: 1 MiB
	Media   int // bytes of one file read as media: 4 MiB, since a reply carries it twice in base64
	Tree    int // nodes of one tree: 50,000
	List    int // entries of one page of a list: 1,000
	Hits    int // hits of one page of a search: 100
	Edit    int // bytes of a file that edit_file takes: 16 MiB
	treeLen int // bytes of a tree's text, so that long names cannot blow up what the node bound allows
}

func (l Limits) filled() Limits {
	for p, standard := range map[*int]int{&l.Text: 1 << 20, &l.Media: 4 << 20, &l.Tree: 50_000, &l.List: 1000, &l.Hits: 100, &l.Edit: 16 << 20, &l.treeLen: 6 << 20} {
		if *p <= 0 {
			*p = standard
		}
	}
	return l
}

// Add adds the file tools to server, and a middleware that shows them in tools/list in their order, before the server's
// other tools. Call it before the scope's middleware is added, which must stay outermost.
func Add(server *mcp.Server, o Options) {
	f := &files{guard: o.Guard, scope: o.Scope, limits: o.Limits.filled()}
	for i := range rows() {
		t := &rows()[i]
		server.AddTool(t.describe(), f.handler(t))
	}
	server.AddReceivingMiddleware(ordered(Names()))
}

// files is what all handlers share; read-only after Add.
type files struct {
	guard  *guard.Guard
	scope  *mcpscope.Scope
	limits Limits
}

// call is one tools/call.
type call struct {
	*wire.Arguments
	tool *tool
	req  *mcp.CallToolRequest
}

func (f *files) handler(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r, err := t.run(f, ctx, call{wire.Decode(t.name, req.Params.Arguments), t, req})
		if err != nil {
			return wire.Refuse(err, t.media), nil
		}
		return r.Result()
	}
}

// request is what the tool asks the guard for.
func (c call) request() guard.Request { return c.tool.request(c.Arguments) }

func (t *tool) request(a *wire.Arguments) guard.Request {
	r := guard.Request{Op: t.op, Root: a.Text("root", false), Path: a.Text(t.named(object), true)}
	if dest := t.named(destination); dest != "" {
		r.Dest, r.DestRoot = a.Text(dest, true), r.Root
	}
	for _, f := range t.in {
		switch f.Name {
		case overwriteField.Name:
			r.Overwrite = a.Truth(f.Name)
		case parentsField.Name:
			r.Parents = a.Truth(f.Name)
		case recursiveField.Name:
			r.Recursive = a.Truth(f.Name)
		}
	}
	return r
}

// ordered shows our tools first and in our order; the SDK sorts them by name.
func ordered(names []string) mcp.Middleware {
	rank := make(map[string]int, len(names))
	for i, n := range names {
		rank[n] = i - len(names)
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if l, ok := res.(*mcp.ListToolsResult); ok && err == nil {
				slices.SortStableFunc(l.Tools, func(a, b *mcp.Tool) int { return rank[a.Name] - rank[b.Name] })
			}
			return res, err
		}
	}
}

// Request tells what a tools/call will ask the guard for, for a check before anything is asked of the client
// (guard.Precheck). ok is false for calls that name no single path and for ones whose arguments are not valid.
func Request(req mcp.Request) (r guard.Request, ok bool) {
	p, isCall := req.GetParams().(*mcp.CallToolParamsRaw)
	if !isCall || p == nil {
		return r, false
	}
	t := row(p.Name)
	if t == nil || t.op == "" {
		return r, false
	}
	a := wire.Decode(p.Name, p.Arguments)
	r = t.request(a)
	return r, a.Err() == nil
}

// Form tells mcpscope.Options what a refusal of a tool of this package may hold.
func Form(tool string) mcpscope.Form {
	if t := row(tool); t != nil && t.media {
		return mcpscope.Media
	}
	return mcpscope.Text
}
