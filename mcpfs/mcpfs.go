package mcpfs

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
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
	for _, t := range table() {
		server.AddTool(t.describe(), f.handler(t.name))
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
	*arguments
	req *mcp.CallToolRequest
}

type handler func(*files, context.Context, call) (*reply, error)

func handlers() map[string]handler {
	return map[string]handler{
		"read_file":                 (*files).readText,
		"read_text_file":            (*files).readText,
		mediaTool:                   (*files).readMedia,
		"read_multiple_files":       (*files).readMany,
		"write_file":                (*files).write,
		"edit_file":                 (*files).edit,
		"create_directory":          (*files).mkdir,
		"list_directory":            (*files).list,
		"list_directory_with_sizes": (*files).listSizes,
		"directory_tree":            (*files).tree,
		"move_file":                 (*files).move,
		"search_files":              (*files).search,
		"get_file_info":             (*files).info,
		"list_allowed_directories":  (*files).allowed,
	}
}

func (f *files) handler(name string) mcp.ToolHandler {
	h := handlers()[name]
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := call{decode(name, req.Params.Arguments), req}
		r, err := h(f, ctx, c)
		if err != nil {
			return refuse(name, err), nil
		}
		return r.result()
	}
}

// request is what most tools ask the guard for.
func (c call) request(op rootbound.Operation) guard.Request {
	return guard.Request{Op: op, Root: c.text("root", false), Path: c.text("path", true)}
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
	op := operation(p.Name)
	if op == "" {
		return r, false
	}
	a := decode(p.Name, p.Arguments)
	r.Op = op
	r.Root = a.text("root", false)
	if op == rootbound.OpMove {
		r.Path, r.Dest, r.DestRoot = a.text("source", true), a.text("destination", true), r.Root
	} else {
		r.Path = a.text("path", true)
	}
	return r, a.err == nil
}

// operation is what a tool that names one path asks for; empty for the others.
func operation(tool string) rootbound.Operation {
	switch tool {
	case "read_file", "read_text_file", mediaTool:
		return rootbound.OpRead
	case "write_file":
		return rootbound.OpWrite
	case "edit_file":
		return rootbound.OpEdit
	case "create_directory":
		return rootbound.OpMkdir
	case "list_directory", "list_directory_with_sizes":
		return rootbound.OpList
	case "directory_tree":
		return rootbound.OpTree
	case "move_file":
		return rootbound.OpMove
	case "search_files":
		return rootbound.OpSearch
	case "get_file_info":
		return rootbound.OpStat
	}
	return ""
}
