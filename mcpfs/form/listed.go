package form

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs/wire"
)

// maxEnum is how many ids the enum of project_id may hold: each tool repeats it. With more there is none, and
// list_projects shows them page by page.
const maxEnum = 100

// Listed is a middleware that shows our tools with their schemas (see Registered), first and in our order, as the SDK sorts
// them by name, and the ids that projects gives in those of the project form; nil: none. To the SDK's refusals of a tool that
// is not there and of a cursor it adds what to do.
func (t Tools) Listed(projects func(context.Context, mcp.Request) []rootbound.RootID) mcp.Middleware {
	rank := map[string]int{}
	for i, n := range t.Names() {
		rank[n] = i - len(t.Rows())
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if err != nil {
				return nil, t.led(req, err)
			}
			l, ok := res.(*mcp.ListToolsResult)
			if !ok {
				return res, nil
			}
			slices.SortStableFunc(l.Tools, func(a, b *mcp.Tool) int { return rank[a.Name] - rank[b.Name] })
			var ids []rootbound.RootID
			if t == Project && projects != nil {
				ids = projects(ctx, req)
			}
			t.show(l.Tools, ids)
			return res, err
		}
	}
}

// led completes what the SDK says of a tool that is not there, and of a cursor of a list.
func (t Tools) led(req mcp.Request, err error) error {
	switch p := req.GetParams().(type) {
	case *mcp.ListToolsParams:
		if p != nil && p.Cursor != "" {
			return wire.NoPage(err)
		}
	case *mcp.CallToolParamsRaw:
		if p != nil && t.Row(p.Name) == nil {
			way := "tools/list shows the tools there are"
			if near := t.near(p.Name); near != "" {
				way = near + " is the name here; " + way
			}
			return wire.Lead(err, way)
		}
	}
	return err
}

// near is the tool that is meant by a name in another spelling, or of another form; empty: none.
func (t Tools) near(name string) string {
	plain := strings.NewReplacer("-", "_", ".", "_").Replace(name)
	for _, row := range t.Rows() {
		if strings.EqualFold(row.Name, plain) || strings.EqualFold(strings.ReplaceAll(row.Name, "_", ""), plain) {
			return row.Name
		}
	}
	if row := Classic.Row(name); row != nil && row.ClassicOnly {
		return "list_projects"
	}
	return ""
}

// show puts a described copy in the place of each tool of ours, with the ids in its schema: what the server holds is shared
// by all requests.
func (t Tools) show(tools []*mcp.Tool, ids []rootbound.RootID) {
	if len(ids) > maxEnum {
		ids = nil
	}
	for i, listed := range tools {
		row := t.Row(listed.Name)
		if row == nil {
			continue
		}
		tools[i] = row.Describe()
		if len(ids) > 0 && row.Named(Root) != "" {
			tools[i].InputSchema = wire.Object(withEnum(row.In, ids), row.Open())
		}
	}
}

func withEnum(in []Field, ids []rootbound.RootID) []wire.Field {
	fields := FieldsOf(in)
	for i := range in {
		if in[i].Is == Root {
			enum, _ := json.Marshal(ids) // a list of strings
			fields[i].Schema = fields[i].Schema[:len(fields[i].Schema)-1] + `,"enum":` + string(enum) + "}"
		}
	}
	return fields
}
