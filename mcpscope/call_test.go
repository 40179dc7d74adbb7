package mcpscope

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/decision/decisiontest"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// A read whose generation ended before its result was handed over is refused, whether it minded its context or not; what
// was committed is reported as done.
func TestOvertakenCalls(t *testing.T) {
	w := open(t, Options{}, "app")
	addTool(w.srv, "deaf", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		w.in <- "deaf"
		<-w.gate
		return say("what it read"), nil
	})
	p := w.legacy(true)
	begin := func(id int, tool, word string) {
		t.Helper()
		p.call(id, tool)
		p.answer(p.expectAsk(), w.roots("app"))
		w.await(word)
		p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	}
	begin(1, "wait", "wait")
	p.refused(1, rootbound.GenerationStale)
	begin(2, "deaf", "deaf")
	p.Send(`{"jsonrpc":"2.0","id":"seen","method":"ping"}`) // list_changed was handled when this is answered
	p.Recv()
	w.gate <- struct{}{}
	p.refused(2, rootbound.GenerationStale)
	begin(3, "commit", "committed")
	p.Send(`{"jsonrpc":"2.0","id":"seen","method":"ping"}`)
	p.Recv()
	w.gate <- struct{}{}
	p.expect(3, "committed")
}

// A revocation by a person cancels what runs and binds later sessions too, until it is lifted.
func TestRevoke(t *testing.T) {
	w := open(t, Options{}, "app", "lib")
	p := w.legacy(true)
	p.call(1, "wait")
	p.answer(p.expectAsk(), w.roots("app", "lib"))
	w.await("wait")
	w.scope.Revoke(Who{Client: "raw"})
	p.refused(1, rootbound.RevokedByUser)
	late := func(id int) *peer {
		q := w.legacy(true)
		q.call(id, "scope")
		return q
	}
	// served answers whatever is asked and gives the reply.
	served := func(q *peer) joined.Message {
		for {
			m := q.Recv()
			if m.Method != "roots/list" {
				return m
			}
			q.answer(string(m.ID), w.roots("app", "lib"))
		}
	}
	if m := served(late(2)); replyOf(t, m).StructuredContent.Error.Reason != rootbound.RevokedByUser {
		t.Errorf("a new session of that client: %s", m.Line)
	}
	w.scope.Revoke(Who{}, "lib")
	if !w.scope.Unrevoke(Who{Client: "raw"}) || w.scope.Unrevoke(Who{Client: "raw"}) {
		t.Error("a rule is lifted once")
	}
	if m := served(late(3)); replyOf(t, m).text() != "roots app" {
		t.Errorf("lib stays revoked: %s", m.Line)
	}
	p.call(5, "scope")
	if m := served(p); replyOf(t, m).text() != "roots app" {
		t.Errorf("lib stays revoked for the old session too: %s", m.Line)
	}
	w.scope.Unrevoke(Who{}, "lib")
	if m := served(late(4)); replyOf(t, m).text() != "roots app lib" {
		t.Errorf("nothing is revoked: %s", m.Line)
	}
}

// Before is heard before anything is asked; Informed and Free calls run without a hold; Refuse and Status.
func TestNeeds(t *testing.T) {
	w := open(t, Options{
		Need: func(_, name string) Need {
			return map[string]Need{"status": Informed, "free": Free}[name]
		},
		Before: func(_ context.Context, c *authority.Ceiling, req mcp.Request) error {
			if r, ok := req.(*mcp.CallToolRequest); ok && strings.Contains(string(r.Params.Arguments), "elsewhere") {
				if c.Covers("/elsewhere") {
					t.Error("the ceiling covers it")
				}
				return &rootbound.Error{Reason: rootbound.OutsideRoot, Op: rootbound.OpRead, Path: "/elsewhere"}
			}
			return nil
		},
	}, "app")
	status := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		st := w.scope.Status(ctx, req)
		text := st.State
		if st.Refused != nil {
			text += " " + string(st.Refused.Reason)
		}
		return say(text + " " + st.Origin.Era + ": " + w.granted(ctx)), nil
	}
	addTool(w.srv, "status", status)
	addTool(w.srv, "free", status)
	p := w.legacy(true)
	p.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"scope","arguments":{"path":"/elsewhere"}}}`)
	if r := p.refused(1, rootbound.OutsideRoot); r.StructuredContent.Error.Path != "/elsewhere" || r.StructuredContent.Error.Decision == "" {
		t.Errorf("%+v", r)
	}
	p.call(2, "free")
	p.expect(2, "unasked legacy: no hold")
	p.call(3, "status")
	p.answer(p.expectAsk(), w.roots())
	p.expect(3, "unavailable roots_empty legacy: no hold")
	p.call(4, "status")
	p.answer(p.expectAsk(), w.roots("app"))
	p.expect(4, "current legacy: roots app")
	p.call(5, "free")
	p.expect(5, "current legacy: roots app")
	q := w.dial()
	q.callModern(1, joined.MetaRoots, "status", "")
	q.callModern(2, joined.MetaRoots, "status", retry(q.asked(1), w.roots("app/sub")))
	q.expect(2, "current modern: roots app/sub")
	if got := w.scope.Status(context.Background(), &mcp.CallToolRequest{}); got.State != "" {
		t.Errorf("a request that is not being served: %+v", got)
	}
}

// A refusal has the form that the tool's output schema leaves room for, read from tools/list unless the author says it.
func TestFormFollowsTheSchema(t *testing.T) {
	refusals := map[string]any{
		"any":   nil,
		"ours":  json.RawMessage(`{"type":"object","properties":{"content":{"type":"string"},"error":{"type":"object"}},"required":["content"]}`),
		"media": json.RawMessage(`{"type":"object","properties":{"content":{"type":"array"},"error":{}}}`),
		"typed": &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"bytes": {Type: "integer"}}},
	}
	want := map[string]Form{"any": Text, "ours": Text, "media": Media, "typed": Bare}
	w := open(t, Options{}, "app")
	for name, schema := range refusals {
		w.srv.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &rootbound.Error{Reason: rootbound.NotFound, Op: rootbound.OpRead, Path: "a\u202eb", Detail: "d", Root: "app", Decision: "d-1"}
		})
	}
	p := w.dial()
	for name, form := range want {
		p.callModern(1, joined.Meta, name, "")
		m := p.Recv()
		r := replyOf(t, m)
		if !r.IsError || !strings.Contains(r.text(), "not_found") || strings.Contains(m.Line, "\u202e") {
			t.Errorf("%s: %s", name, m.Line)
		}
		switch c := r.StructuredContent.Content.(type) {
		case string:
			if form != Text || c != r.text() {
				t.Errorf("%s: %s", name, m.Line)
			}
		case []any:
			if form != Media || len(c) != 0 {
				t.Errorf("%s: %s", name, m.Line)
			}
		default:
			if form != Bare || strings.Contains(m.Line, "structuredContent") {
				t.Errorf("%s: %s", name, m.Line)
			}
		}
		if form != Bare && r.StructuredContent.Error != (Facts{rootbound.NotFound, "d", rootbound.OpRead, `a\u{202e}b`, "app", false, "d-1"}) {
			t.Errorf("%s: %+v", name, r.StructuredContent.Error)
		}
	}
}

// What a handler returns as an error of the operating system leaves without its text; other errors leave bounded.
func TestErrorsOfHandlers(t *testing.T) {
	w := open(t, Options{}, "app")
	mcp.AddTool(w.srv, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, struct{ N int }, error) {
		_, err := os.Open(w.dir + "/app/missing")
		return nil, struct{ N int }{}, err
	})
	w.srv.AddPrompt(&mcp.Prompt{Name: "long"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return nil, &os.SyscallError{Syscall: strings.Repeat("x\x1b", 5000), Err: os.ErrInvalid}
	})
	p := w.dial()
	for i, tool := range []string{"os", "typed"} {
		p.callModern(i, joined.Meta, tool, "")
		if m := p.Recv(); !strings.Contains(m.Line, string(rootbound.IOError)) || strings.Contains(m.Line, w.dir) || strings.Contains(m.Line, "missing") {
			t.Errorf("%s: %s", tool, m.Line)
		}
	}
	p.Send(`{"jsonrpc":"2.0","id":9,"method":"prompts/get","params":{"name":"long",%s}}`, joined.Meta)
	if m := p.failed(9, -32603); len(m.Line) > 3*pipe.MaxErrorText || strings.Contains(m.Line, `\u001b`) {
		t.Errorf("%d bytes: %.200s", len(m.Line), m.Line)
	}
}

// All events of the scope follow the published schema.
func TestEventsFollowTheSchema(t *testing.T) {
	w := open(t, Options{}, "app")
	p := w.legacy(true)
	p.call(1, "scope")
	p.answer(p.expectAsk(), w.roots("app", "elsewhere"))
	p.expect(1, "roots app")
	p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	p.call(2, "scope")
	p.answer(p.expectAsk(), w.roots())
	p.refused(2, rootbound.RootsEmpty)
	p.call(3, "boom")
	p.answer(p.expectAsk(), w.roots("app"))
	p.refused(3, rootbound.InternalError)
	w.scope.Revoke(Who{})
	q := w.dial()
	q.callModern(4, joined.MetaRoots, "scope", retry("rb1.x", w.roots("app")))
	q.failed(4, -32602)
	if _, err := w.log.Await(t.Context(), func(r *decision.Record) bool { return r.Phase == decision.Revoked }); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range w.log.Records() {
		seen[r.Phase] = true
		decisiontest.Validate(t, &r)
	}
	for _, phase := range []string{decision.Asked, decision.Answered, decision.Published, decision.Stale, decision.Unavailable, decision.Refused, decision.Revoked} {
		if !seen[phase] {
			t.Errorf("no %s in %v", phase, w.events())
		}
	}
}
