package mcpfs

import (
	"context"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs/wire"
)

// Instructions is what a server that offers these tools should tell its clients (ServerOptions.Instructions).
const Instructions = "Files are served below approved directories only; list_allowed_directories shows them. " +
	"Prefer paths relative to the project, such as src/main.go. Absolute paths work below an allowed directory. " +
	"With several projects name one in the argument root; changes always need root or an absolute path. " +
	"The client's roots can narrow what is approved at any time: a refusal says why and what to do next. " +
	"Long answers are cut: structuredContent.truncated is then true and structuredContent.next holds the arguments that go on."

const (
	pathRules = " Paths are relative to the project, or absolute below a directory that list_allowed_directories shows; relative ones are preferred."
	linkRules = " Symbolic links are followed only where they stay inside."
	bound     = " Long answers are cut and say how to go on."
)

// tool is one row of the table: what tools/list shows, and what is done.
type tool struct {
	name, title, description string
	in                       []field // the order in which clients see them
	out                      []field // beside content, error
	media                    bool
	reads                    bool // readOnlyHint
	idempotent, destructive  bool

	op  rootbound.Operation // what it asks the guard for; empty for tools that name no single path
	run func(*files, context.Context, call) (*wire.Reply, error)
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
	for _, f := range t.in {
		if f.is == r {
			return f.Name
		}
	}
	return ""
}

func fieldsOf(fields []field) []wire.Field {
	out := make([]wire.Field, len(fields))
	for i, f := range fields {
		out[i] = f.Field
	}
	return out
}

// rows is the table, made at its first use.
var rows = sync.OnceValue(table)

// row finds a tool; nil if there is none of that name.
func row(name string) *tool {
	all := rows()
	if i := slices.IndexFunc(all, func(t tool) bool { return t.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Names lists the tools of this package in the order in which clients see them.
func Names() []string {
	var out []string
	for _, t := range rows() {
		out = append(out, t.name)
	}
	return out
}

// Mutates reports whether the named tool may change something; unknown tools do.
func Mutates(name string) bool {
	t := row(name)
	return t == nil || !t.reads
}

func (t *tool) describe() *mcp.Tool {
	no := false
	a := &mcp.ToolAnnotations{OpenWorldHint: &no, ReadOnlyHint: t.reads, IdempotentHint: t.idempotent}
	if !t.reads {
		a.DestructiveHint = &t.destructive
	}
	// Inputs are open, since hosts add keys of their own.
	return &mcp.Tool{Name: t.name, Title: t.title, Description: t.description, Annotations: a,
		InputSchema: wire.Object(fieldsOf(t.in), true), OutputSchema: wire.Output(fieldsOf(t.out), t.media)}
}
