package mcpscope

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/internal/rig/joined"
)

// world is a server with our middleware over a small tree: projects app and lib, and a directory that is neither.
type world struct {
	t     *testing.T
	dir   string
	scope *Scope
	srv   *mcp.Server
	log   *decision.Memory
	gate  chan struct{} // the tool wait stands here until the test sends, or its context ends
	in    chan string   // and says here that it does
}

// open makes a world. The tools: scope (what is granted), wait, fail, boom; a resource and a prompt with what is granted.
func open(t *testing.T, o Options, projects ...string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), log: decision.NewMemory(1000), gate: make(chan struct{}), in: make(chan string, 16)}
	for _, d := range []string{"app/sub", "lib", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(w.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var ps []rootbound.Project
	for _, id := range projects {
		ps = append(ps, rootbound.Project{ID: rootbound.RootID(id), Dir: filepath.Join(w.dir, id), Rights: rootbound.ReadWrite})
	}
	c, err := authority.Open(ps, authority.CeilingOptions{Homes: []string{"/nowhere"}})
	if err != nil {
		t.Fatal(err)
	}
	o.Sink = w.log
	o.Transport = "memory"
	w.scope = New(c, o)
	w.srv = mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{
		Capabilities:                &mcp.ServerCapabilities{},
		CompletionHandler:           w.complete,
		SubscribeHandler:            w.subscribe,
		UnsubscribeHandler:          func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationServerRequest) { panic(panicText) },
	})
	w.register()
	w.srv.AddReceivingMiddleware(w.scope.Middleware())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), joined.Patience)
		defer cancel()
		if err := w.scope.Close(ctx); err != nil {
			t.Errorf("closing the scope: %v", err)
		}
		c.Close()
	})
	return w
}

func (w *world) register() {
	addTool(w.srv, "scope", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(w.granted(ctx)), nil
	})
	addTool(w.srv, "wait", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		w.in <- "wait"
		select {
		case <-w.gate:
			return say("waited"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	addTool(w.srv, "commit", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		u, err := authority.From(ctx)
		if err != nil {
			return nil, err
		}
		if err := u.Commit(func() error { return nil }); err != nil {
			return nil, err
		}
		w.in <- "committed"
		<-w.gate
		return say("committed"), nil
	})
	addTool(w.srv, "boom", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic(panicText)
	})
	addTool(w.srv, "commit-boom", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if u, err := authority.From(ctx); err == nil {
			_ = u.Commit(func() error { return nil })
		}
		panic(panicText)
	})
	addTool(w.srv, "os", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := os.Open(filepath.Join(w.dir, "app", "missing"))
		return nil, err
	})
	w.srv.AddResource(&mcp.Resource{URI: "test://scope", Name: "scope"}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: w.granted(ctx)}}}, nil
	})
	w.srv.AddResource(&mcp.Resource{URI: "test://boom", Name: "boom"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		panic(panicText)
	})
	w.srv.AddPrompt(&mcp.Prompt{Name: "boom"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		panic(panicText)
	})
	w.srv.AddPrompt(&mcp.Prompt{Name: "scope"}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: w.granted(ctx)}}}}, nil
	})
}

const panicText = "secret /etc/passwd"

// complete says what the hold grants, or panics for the prompt scope.
func (w *world) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	if req.Params.Ref.Name == "scope" {
		panic(panicText)
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{w.granted(ctx)}}}, nil
}

func (w *world) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	if req.Params.URI == "test://boom" {
		panic(panicText)
	}
	w.in <- "subscribed under " + w.granted(ctx)
	return nil
}

// granted tells what the context's hold grants, relative to the tree.
func (w *world) granted(ctx context.Context) string {
	u, err := authority.From(ctx)
	if err != nil {
		return "no hold"
	}
	s := u.Snapshot()
	var out []string
	for _, g := range s.Grants {
		rel, err := filepath.Rel(w.dir, g.Root.Path())
		if err != nil {
			rel = "?"
		}
		out = append(out, rel)
	}
	slices.Sort(out)
	return fmt.Sprintf("%s %s", s.Source, strings.Join(out, " "))
}

func (w *world) uri(rel string) string { return "file://" + filepath.Join(w.dir, rel) }

// roots is the result of a roots answer that names the directories.
func (w *world) roots(rel ...string) string {
	type root struct {
		URI string `json:"uri"`
	}
	list := []root{}
	for _, r := range rel {
		list = append(list, root{w.uri(r)})
	}
	b, _ := json.Marshal(map[string]any{"roots": list})
	return string(b)
}

func (w *world) dial() *peer { return dial(w.t, w.srv, joined.Pipe) }

// legacy is a peer that declared roots, with list_changed or without.
func (w *world) legacy(listChanged bool) *peer {
	p := w.dial()
	p.Initialize("2025-11-25", fmt.Sprintf(`{"roots":{"listChanged":%t}}`, listChanged))
	return p
}

// call sends a legacy tools/call.
func (p *peer) call(id int, tool string) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, tool)
}

// callModern sends a tools/call of 2026-07-28; rest follows its arguments.
func (p *peer) callModern(id int, meta, tool, rest string) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}%s,%s}}`, id, tool, rest, meta)
}

// expectAsk is the next line, which must be roots/list, and its id.
func (p *peer) expectAsk() string {
	p.t.Helper()
	m := p.Recv()
	if m.Method != "roots/list" {
		p.t.Fatalf("want roots/list, got %s", m.Line)
	}
	return string(m.ID)
}

func (p *peer) answer(ask, result string) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, ask, result)
}

// expect is the reply to id, which must say text.
func (p *peer) expect(id int, text string) {
	p.t.Helper()
	m := p.Recv()
	if string(m.ID) != fmt.Sprint(id) {
		p.t.Fatalf("want the reply to %d, got %s", id, m.Line)
	}
	if r := replyOf(p.t, m); r.IsError || r.text() != text {
		p.t.Fatalf("want %q, got %s", text, m.Line)
	}
}

// refused is the reply to id, which must be a refusal for that reason.
func (p *peer) refused(id int, why rootbound.Reason) toolReply {
	p.t.Helper()
	m := p.Recv()
	if string(m.ID) != fmt.Sprint(id) {
		p.t.Fatalf("want the reply to %d, got %s", id, m.Line)
	}
	r := replyOf(p.t, m)
	if !r.IsError || r.StructuredContent.Error.Reason != why {
		p.t.Fatalf("want %s, got %s", why, m.Line)
	}
	if r.StructuredContent.Content != r.text() || !strings.Contains(r.text(), string(why)) {
		p.t.Fatalf("text and structured content differ: %s", m.Line)
	}
	return r
}

// asked is the reply to id, which must ask for roots, and its state.
func (p *peer) asked(id int) string {
	p.t.Helper()
	m := p.Recv()
	r := replyOf(p.t, m)
	if string(m.ID) != fmt.Sprint(id) || r.ResultType != "input_required" || r.RequestState == "" || r.InputRequests["roots"] == nil {
		p.t.Fatalf("want a question for roots, got %s", m.Line)
	}
	return r.RequestState
}

func (p *peer) failed(id int, code int64) joined.Message {
	p.t.Helper()
	m := p.Recv()
	if string(m.ID) != fmt.Sprint(id) || m.Error == nil || m.Error.Code != code {
		p.t.Fatalf("want error %d to %d, got %s", code, id, m.Line)
	}
	return m
}

func retry(state, roots string) string {
	return fmt.Sprintf(`,"requestState":%q,"inputResponses":{"roots":%s}`, state, roots)
}

// await is the next word of a tool that stands still.
func (w *world) await(word string) {
	w.t.Helper()
	select {
	case got := <-w.in:
		if got != word {
			w.t.Fatalf("want %s, got %s", word, got)
		}
	case <-time.After(joined.Patience):
		w.t.Fatalf("%s did not happen", word)
	}
}

// events lists the phases of the record that are events.
func (w *world) events() []string {
	var out []string
	for _, r := range w.log.Records() {
		out = append(out, r.Phase)
	}
	return out
}
