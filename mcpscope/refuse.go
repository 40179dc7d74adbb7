package mcpscope

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
)

// Form is what a tool's structuredContent may hold in a refusal; strict clients validate refusals against the tool's
// output schema and throw the whole answer away if it does not fit.
type Form uint8

const (
	Text  Form = iota // {content: the text, error: {...}}
	Media             // {content: [], error: {...}}
	Bare              // no structuredContent
)

// ToolRefusal is the CallToolResult of contract §6: isError, the text, and structuredContent {content, error: {reason,
// detail, operation, path, root, retryable, decision_id}}.
func ToolRefusal(e *rootbound.Error, form Form) *mcp.CallToolResult { panic("stub") }

// Reply is the default of Options.Refuse: ToolRefusal for tools/call, in the form the tool's listed output schema allows;
// one constant error for resources/read, -32602 or in the legacy era -32002; a JSON-RPC error with the text elsewhere.
func Reply(ctx context.Context, req mcp.Request, e *rootbound.Error) (mcp.Result, error) {
	panic("stub")
}

// Refused finds the refusal in an error a handler returned: a *rootbound.Error, or what the operating system said as
// io_error without its text. nil: neither.
func Refused(err error) *rootbound.Error { panic("stub") }
