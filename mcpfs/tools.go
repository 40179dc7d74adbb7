package mcpfs

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

// tool is one row of the table: what tools/list shows, and what is done.
type tool struct {
	name, title, description string
	in                       []field // the order in which clients see them
	out                      []field // beside content, error
	media                    bool
	reads                    bool // readOnlyHint
	idempotent, destructive  bool
	ours                     bool // not a tool of the classic server
	classicOnly              bool

	op   rootbound.Operation // what a call asks the guard for, and what the record of a refused one says
	need mcpscope.Need
	run  func(*files, context.Context, call) (*wire.Reply, error)

	form Tools
}

// field is one argument or one key of an answer.
type field struct {
	wire.Field
	is role
}

// role says which arguments name something on the disk; everything else has none.
type role uint8

const (
	root        role = iota + 1 // the project
	object                      // the path that is worked on; of a move or copy its source
	objects                     // a list of such paths
	destination                 // where a move or copy publishes
	patched                     // holds the paths of a patch, or stands for them
)

func must(name, schema string) field {
	return field{Field: wire.Field{Name: name, Schema: schema, Required: true}}
}

func may(name, schema string) field { return field{Field: wire.Field{Name: name, Schema: schema}} }

func (f field) as(r role) field {
	f.is = r
	return f
}

// named gives the name of the argument that has a role; empty if there is none.
func (t *tool) named(r role) string {
	for i := range t.in {
		if t.in[i].is == r {
			return t.in[i].Name
		}
	}
	return ""
}

func (t *tool) describe() *mcp.Tool {
	no := false
	a := &mcp.ToolAnnotations{OpenWorldHint: &no, ReadOnlyHint: t.reads, IdempotentHint: t.idempotent}
	if !t.reads {
		a.DestructiveHint = &t.destructive
	}
	return &mcp.Tool{Name: t.name, Title: t.title, Description: t.description, Annotations: a,
		InputSchema: wire.Object(fieldsOf(t.in), t.open()), OutputSchema: wire.Output(fieldsOf(t.out), t.media)}
}
