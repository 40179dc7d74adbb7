package mcpscope

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// Form is what a tool's structuredContent may hold in a refusal. Strict clients validate refusals against the tool's
// output schema too and throw the whole answer away, text included, if it does not fit.
type Form uint8

// The forms.
const (
	Text  Form = iota // {content: the text, error: {...}}
	Media             // {content: [], error: {...}}
	Bare              // no structuredContent
)

// codeNoResource is what the legacy era says for a resource that is not there; 2026-07-28 forbids it.
const codeNoResource = -32002

// Facts are the machine-readable part of a refusal (contract §6). Echoed strings are escaped and hold at most
// rootbound.MaxEcho bytes of what was sent.
type Facts struct {
	Reason    rootbound.Reason    `json:"reason"`
	Detail    string              `json:"detail,omitempty"`
	Operation rootbound.Operation `json:"operation,omitempty"`
	Path      string              `json:"path,omitempty"` // as sent
	Root      rootbound.RootID    `json:"root,omitempty"` // project or root id
	Retryable bool                `json:"retryable"`
	Decision  string              `json:"decision_id,omitempty"`
}

// FactsOf extracts them.
func FactsOf(e *rootbound.Error) Facts {
	return Facts{
		Reason: e.Reason, Detail: pipe.Bounded(e.Detail, pipe.MaxErrorText), Operation: e.Op, Path: pipe.Bounded(e.Path, rootbound.MaxEcho),
		Root: e.Root, Retryable: e.Retryable, Decision: e.Decision,
	}
}

// ToolRefusal is the CallToolResult of contract §6: isError, the text, and structuredContent {content, error} where the
// form has room for it.
func ToolRefusal(e *rootbound.Error, form Form) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: e.Error()}}}
	switch form {
	case Text:
		res.StructuredContent = map[string]any{"content": e.Error(), "error": FactsOf(e)}
	case Media:
		res.StructuredContent = map[string]any{"content": []any{}, "error": FactsOf(e)}
	}
	return res
}

// ResourceRefusal is the one error, with one text, for a resource that is denied, unknown or missing.
func ResourceRefusal(modern bool) error {
	code := int64(codeNoResource)
	if modern {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: "Resource not found"}
}

// Refused finds the refusal in an error that a handler returned: a *rootbound.Error, or io_error for an error of the
// operating system that names a path; its text never leaves. nil: neither.
func Refused(err error) *rootbound.Error {
	var e *rootbound.Error
	if errors.As(err, &e) {
		return e
	}
	var path *fs.PathError
	var link *os.LinkError
	if errors.As(err, &path) || errors.As(err, &link) {
		return &rootbound.Error{Reason: rootbound.IOError, Err: err}
	}
	return nil
}

// refusalOf makes a refusal of any error.
func refusalOf(err error) *rootbound.Error {
	if e := Refused(err); e != nil {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &rootbound.Error{Reason: rootbound.Cancelled, Err: err}
	}
	return &rootbound.Error{Reason: rootbound.InternalError, Err: err}
}

// refuse ends the call with a refusal. One that no guard has recorded yet is recorded here.
func (c *call) refuse(ctx context.Context, e *rootbound.Error) (mcp.Result, error) {
	if e.Decision == "" {
		known := *e
		known.Decision = c.scope.refused(c, e)
		e = &known
	}
	c.refused = e
	if c.scope.opt.Refuse != nil {
		return c.scope.opt.Refuse(ctx, c.req, e)
	}
	return c.reply(e, func() Form { return c.form(ctx) })
}

func (c *call) reply(e *rootbound.Error, form func() Form) (mcp.Result, error) {
	switch c.method {
	case "tools/call":
		return c.complete(ToolRefusal(e, form()))
	case "resources/read":
		return nil, ResourceRefusal(c.modern)
	}
	data, err := json.Marshal(map[string]any{"error": FactsOf(e)})
	if err != nil {
		return nil, err
	}
	code := int64(jsonrpc.CodeInvalidParams)
	if e.Reason == rootbound.InternalError || e.Reason == rootbound.IOError {
		code = jsonrpc.CodeInternalError
	}
	return nil, &jsonrpc.Error{Code: code, Message: e.Error(), Data: data}
}

// complete gives a result that no handler returned the resultType which the modern era wants: the field is unexported.
func (c *call) complete(res *mcp.CallToolResult) (mcp.Result, error) {
	if !c.modern {
		return res, nil
	}
	text, err := json.Marshal(struct {
		Type       string        `json:"resultType"`
		Content    []mcp.Content `json:"content"`
		Structured any           `json:"structuredContent,omitempty"`
		IsError    bool          `json:"isError"`
	}{"complete", res.Content, res.StructuredContent, res.IsError})
	if err != nil {
		return nil, err
	}
	out := new(mcp.CallToolResult)
	return out, json.Unmarshal(text, out)
}

// form tells what fits the tool: as the author says, else as tools/list shows its output schema to this very client.
func (c *call) form(ctx context.Context) Form {
	if c.scope.opt.Form != nil {
		return c.scope.opt.Form(c.target.name)
	}
	params := &mcp.ListToolsParams{}
	for range 64 { // pages; a server with more tools has to set Form
		res, err := c.next(ctx, "tools/list", &mcp.ListToolsRequest{Session: server(c.req), Params: params, Extra: c.req.GetExtra()})
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok || list == nil {
			return Bare
		}
		for _, t := range list.Tools {
			if t != nil && t.Name == c.target.name {
				return formFor(t.OutputSchema)
			}
		}
		if list.NextCursor == "" {
			break
		}
		params = &mcp.ListToolsParams{Cursor: list.NextCursor}
	}
	return Bare
}

// formFor reads an output schema: no schema holds anything; one that does not declare error holds no refusal.
func formFor(schema any) Form {
	if schema == nil {
		return Text
	}
	text, err := json.Marshal(schema)
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if err != nil || json.Unmarshal(text, &s) != nil {
		return Bare
	}
	content, has := s.Properties["content"]
	if _, ok := s.Properties["error"]; !ok || !has {
		return Bare
	}
	if content.Type == "array" {
		return Media
	}
	return Text
}

// scrub keeps what a handler or the SDK meant by an error and takes out what it may repeat: parameters, control
// characters, length.
func (c *call) scrub(err error) error {
	var we *jsonrpc.Error
	if !errors.As(err, &we) {
		we = &jsonrpc.Error{Code: jsonrpc.CodeInternalError}
	}
	if c.method == "resources/read" && (we.Code == jsonrpc.CodeInvalidParams || we.Code == codeNoResource) {
		return ResourceRefusal(c.modern)
	}
	out := &jsonrpc.Error{Code: we.Code, Message: pipe.Bounded(err.Error(), pipe.MaxErrorText), Data: we.Data}
	if out.Code == 0 {
		out.Code = jsonrpc.CodeInternalError
	}
	if pipe.Unreadable(out.Message) {
		out.Message = pipe.ErrUnfit
	}
	return out
}

// contained runs the call so that a panic ends this call and nothing else: the SDK recovers none.
func (c *call) contained(ctx context.Context) (res mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = c.panicked(ctx, p, debug.Stack())
		}
	}()
	return c.serve(ctx)
}

func (c *call) panicked(ctx context.Context, value any, stack []byte) (mcp.Result, error) {
	e := &rootbound.Error{Reason: rootbound.InternalError}
	if c.use != nil && c.use.Committed() {
		e.Detail = "the change was made before" // contract §4.3: what was committed is not reported as refused
	}
	e.Decision = c.scope.eventOf(c, decision.Refused, e.Reason, "panic")
	if c.scope.opt.Panic != nil {
		c.scope.opt.Panic(e.Decision, value, stack)
	}
	if c.method != "tools/call" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.Error()}
	}
	return c.reply(e, func() (form Form) {
		form = Bare
		defer func() { _ = recover() }() // what panicked may panic again when it is asked for its tools
		return c.form(ctx)
	})
}
