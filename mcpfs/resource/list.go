package resource

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

// metaScope is the key in _meta of a list that names no root because none is known to be approved, and nothingHeld what it says.
const (
	metaScope   = "rootbound/scope"
	nothingHeld = "No root is in force for this request: the client is asked for its roots by tools/call and resources/read only, and in 2026-07-28 for that one request. " +
		"The tool list_projects says what is approved, a project or parts of it, and rootbound://PROJECT/PART reads that; scope_status says why."
)

// cursorMark begins our cursors among those of the server's other resources.
const cursorMark = "rb."

// list puts the approved roots before the server's other resources. Without a snapshot there are none: the list is not
// worth a question to the client, and nothing outside what the client left in force is named (contract §2).
func (r *resources) list(ctx context.Context, method string, req *mcp.ListResourcesRequest, next mcp.MethodHandler) (mcp.Result, error) {
	cursor := ""
	if req.Params != nil {
		cursor = req.Params.Cursor
	}
	after, mine := strings.CutPrefix(cursor, cursorMark)
	if cursor != "" && !mine {
		res, err := next(ctx, method, req)
		if err != nil {
			return nil, wire.NoPage(err)
		}
		return res, nil
	}
	st := r.inForce(ctx, req)
	page, more, err := r.page(roots(st), after)
	if err != nil {
		return nil, err
	}
	others := &mcp.ListResourcesRequest{Session: req.Session, Params: &mcp.ListResourcesParams{}, Extra: req.Extra}
	if req.Params != nil {
		others.Params.Meta = req.Params.Meta
	}
	res, err := next(ctx, method, others)
	l, ok := res.(*mcp.ListResourcesResult)
	if err != nil || !ok || l == nil {
		return res, err
	}
	if more != "" {
		l.Resources, l.NextCursor = page, cursorMark+more // the others come behind our last page
	} else {
		l.Resources = append(page, l.Resources...)
	}
	if !st.Held {
		if l.Meta == nil {
			l.Meta = mcp.Meta{}
		}
		l.Meta[metaScope] = nothingHeld
	}
	return l, nil
}

func cursors() wire.Cursors { return wire.CursorsOf("resources/list", nil) }

// page takes one page; a cursor holds the URI that was shown last.
func (r *resources) page(all []*mcp.Resource, after string) (page []*mcp.Resource, next string, err error) {
	from := 0
	if after != "" {
		uri, ok := cursors().Place(after)
		for i := range all {
			if all[i].URI == uri {
				from = i + 1
			}
		}
		if !ok || from == 0 {
			return nil, "", badCursor()
		}
	}
	page = all[from:]
	if most := r.limits.Load().list; len(page) > most {
		page = page[:most:most]
		next = cursors().At(page[len(page)-1].URI)
	}
	return page, next, nil
}

// roots are the approved roots, by project in the operator's order: the project itself, or the parts of it that the
// client's roots leave. A list of none is not nil: JSON would say null.
func roots(s mcpscope.Status) []*mcp.Resource {
	out := []*mcp.Resource{}
	seen := map[string]bool{}
	for i := range s.Grants {
		for j := i; j < len(s.Grants); j++ { // of one project together
			g := &s.Grants[j]
			if g.Project != s.Grants[i].Project {
				continue
			}
			uri := URI(g.Project.ID, g.Prefix)
			if seen[uri] {
				continue
			}
			seen[uri] = true
			name := string(g.Project.ID)
			if g.Prefix != "" {
				name += "/" + rootbound.Listed(g.Prefix)
			}
			out = append(out, &mcp.Resource{URI: uri, Name: name, Title: rootbound.Clean(g.Name), Description: rootbound.Clean(g.Project.Description), MIMEType: "application/json"})
		}
	}
	return out
}
