package form

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

// Tool is one row of the table: what tools/list shows, and what a call asks the guard for.
type Tool struct {
	Name, Title, Description string
	In                       []Field // the order in which clients see them
	Out                      []Field // beside content, error
	Media                    bool
	Reads                    bool // readOnlyHint
	Idempotent, Destructive  bool
	Ours                     bool // not a tool of the classic server
	ClassicOnly              bool

	Op   rootbound.Operation // what a call asks the guard for, and what the record of a refused one says
	Need mcpscope.Need

	Form Tools
}

// Field is one argument or one key of an answer.
type Field struct {
	wire.Field
	Is Role
}

// Role says which arguments name something on the disk; everything else has none.
type Role uint8

const (
	Root        Role = iota + 1 // the project
	Object                      // the path that is worked on; of a move or copy its source
	Objects                     // a list of such paths
	Destination                 // where a move or copy publishes
	Patched                     // holds the paths of a patch, or stands for them
)

func must(name, schema string) Field {
	return Field{Field: wire.Field{Name: name, Schema: schema, Required: true}}
}

func may(name, schema string) Field { return Field{Field: wire.Field{Name: name, Schema: schema}} }

func (f Field) as(r Role) Field {
	f.Is = r
	return f
}

// Named gives the name of the argument that has a role; empty if there is none.
func (t *Tool) Named(r Role) string {
	for i := range t.In {
		if t.In[i].Is == r {
			return t.In[i].Name
		}
	}
	return ""
}

// Describe is the tool as tools/list shows it.
func (t *Tool) Describe() *mcp.Tool {
	d := t.plain()
	d.InputSchema, d.OutputSchema = wire.Object(FieldsOf(t.In), t.Open()), wire.Output(FieldsOf(t.Out), t.Media)
	return d
}

// plain is a tool without its schemas.
func (t *Tool) plain() *mcp.Tool {
	no := false
	a := &mcp.ToolAnnotations{OpenWorldHint: &no, ReadOnlyHint: t.Reads, IdempotentHint: t.Idempotent}
	if !t.Reads {
		a.DestructiveHint = &t.Destructive
	}
	return &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, Annotations: a}
}

// anyObject is the least schema that the SDK takes.
const anyObject = `{"type":"object"}`

// Registered is the tool as it is added to a server whose lists go through Listed, which shows the schemas. The SDK would
// parse each of them three times when a tool is added, a third of what a start costs, and does not use them.
func (t *Tool) Registered() *mcp.Tool {
	d := t.plain()
	d.InputSchema = json.RawMessage(anyObject)
	return d
}

// Request is what a call with these arguments asks the guard for.
func (t *Tool) Request(a *wire.Arguments) guard.Request {
	r := guard.Request{Op: t.Op, Root: t.Project(a), Path: a.Text(t.Named(Object), true), Contained: t.Form == Project}
	if dest := t.Named(Destination); dest != "" {
		r.Dest, r.DestRoot = a.Text(dest, true), r.Root
	}
	for _, f := range t.In {
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

// Project reads the argument that names the project.
func (t *Tool) Project(a *wire.Arguments) string { return a.Text(t.Named(Root), t.Form == Project) }

// Request tells what a tools/call will ask the guard for, for a check before anything is asked of the client
// (guard.Precheck). ok is false for calls that name no single path and for ones whose arguments are not valid.
func (t Tools) Request(req mcp.Request) (r guard.Request, ok bool) {
	p, isCall := req.GetParams().(*mcp.CallToolParamsRaw)
	if !isCall || p == nil {
		return r, false
	}
	row := t.Row(p.Name)
	if row == nil || row.Named(Object) == "" {
		return r, false
	}
	a := wire.Decode(p.Name, p.Arguments)
	r = row.Request(a)
	return r, a.Err() == nil
}

// Form tells mcpscope.Options what a refusal of a tool may hold.
func (t Tools) Form(tool string) mcpscope.Form {
	if row := t.Row(tool); row != nil && row.Media {
		return mcpscope.Media
	}
	return mcpscope.Text
}

// Need tells mcpscope.Options what a call needs of the authority: scope_status is answered where the scope refuses, too. What
// is not in the form needs what is the rule.
func (t Tools) Need(_, name string) mcpscope.Need {
	if row := t.Row(name); row != nil {
		return row.Need
	}
	return mcpscope.Scoped
}
