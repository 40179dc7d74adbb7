package mcpscope

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// A handler of list_changed that blocks freezes the later messages of its session.
func TestTrapListChangedHandlerBlocksTheSession(t *testing.T) {
	t.Run("sdk", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stay := make(chan struct{})
			srv := mcp.NewServer(&mcp.Implementation{Name: "t"}, &mcp.ServerOptions{
				RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) { <-stay },
			})
			p := dial(t, srv, joined.SDK)
			p.Initialize("2025-11-25", `{"roots":{}}`)
			p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
			p.Send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			synctest.Wait()
			if len(p.Lines) != 0 {
				t.Errorf("answered while the handler blocks: %s", <-p.Lines)
			}
			close(stay)
			p.Recv()
		})
	})
	t.Run("ours", func(t *testing.T) { // a commit that hangs holds the notification for 250 ms, not longer
		w := open(t, Options{}, "app")
		hang := make(chan struct{})
		addTool(w.srv, "hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			u, err := authority.From(ctx)
			if err == nil {
				err = u.Commit(func() error { w.in <- "hanging"; <-hang; return nil })
			}
			return say("hung"), err
		})
		p := w.legacy(true)
		p.call(1, "hang")
		p.answer(p.expectAsk(), w.roots("app"))
		w.await("hanging")
		p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		p.Send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		if m := p.Recv(); string(m.ID) != "2" {
			t.Errorf("want the ping's answer while the commit hangs, got %s", m.Line)
		}
		close(hang)
		p.expect(1, "hung")
	})
}

// Over HTTP ListRoots with another context than the handler's needs the client's GET stream.
func TestTrapRootsNeedTheHandlersContext(t *testing.T) {
	roots := func(t *testing.T, srv *mcp.Server) *mcp.ClientSession {
		h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil))
		t.Cleanup(h.Close)
		c := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil)
		c.AddRoots(&mcp.Root{URI: "file:///nowhere"})
		cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.URL, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cs.Close() })
		return cs
	}
	t.Run("sdk", func(t *testing.T) {
		srv := newServer()
		addTool(srv, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if _, err := req.Session.ListRoots(context.Background(), nil); err == nil {
				t.Error("a background context works now")
			}
			if _, err := req.Session.ListRoots(ctx, nil); err != nil {
				t.Errorf("the handler's context: %v", err)
			}
			return say("done"), nil
		})
		if _, err := roots(t, srv).CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("ours", func(t *testing.T) {
		w := open(t, Options{}, "app")
		res, err := roots(t, w.srv).CallTool(t.Context(), &mcp.CallToolParams{Name: "scope"})
		if err != nil {
			t.Fatal(err)
		}
		if text := res.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, string(rootbound.NoOverlap)) {
			t.Errorf("the answer did not arrive: %s", text)
		}
	})
}

// A roots answer of an odd kind is refused by the SDK, so no middleware can record it. Ours does at the pipe.
func TestTrapOddRootsAnswerHasNoRecord(t *testing.T) {
	for name, c := range map[string]struct {
		inputs string
		why    rootbound.Reason
	}{
		"text":        {`{"roots":"x"}`, rootbound.RootsMalformed},
		"odd":         {`{"roots":{"odd":1}}`, rootbound.RootsMalformed},
		"odd entries": {`{"roots":{"roots":[{"uri":7}]}}`, rootbound.RootsMalformed},
		"another":     {`{"x":{"odd":1}}`, rootbound.ArgumentInvalid},
	} {
		t.Run("sdk "+name, func(t *testing.T) {
			srv := newServer()
			addTool(srv, "scope", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("served"), nil })
			srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					t.Error("the middleware sees it now")
					return next(ctx, method, req)
				}
			})
			p := dial(t, srv, joined.SDK)
			p.callModern(1, joined.MetaRoots, "scope", `,"inputResponses":`+c.inputs)
			p.failed(1, -32602)
		})
		t.Run("ours "+name, func(t *testing.T) {
			w := open(t, Options{}, "app")
			p := dial(t, w.srv, func(r io.ReadCloser, out io.WriteCloser) mcp.Transport {
				return &pipe.Pipe{Reader: r, Writer: out, Unfit: w.scope.Unfit}
			})
			p.callModern(1, joined.MetaRoots, "scope", `,"inputResponses":`+c.inputs)
			m := p.failed(1, -32602)
			all := w.log.Records()
			if len(all) != 1 || all[0].Phase != decision.Refused || all[0].Reason != c.why || all[0].RequestID != "1" {
				t.Errorf("records: %+v", all)
				return
			}
			if !strings.Contains(m.Line, all[0].ID) || !strings.Contains(m.Line, string(c.why)) || strings.Contains(m.Line, "odd") {
				t.Errorf("got %s", m.Line)
			}
		})
	}
}

// A null list, a null entry and a missing uri arrive as zero values, without an error.
func TestTrapNullRoots(t *testing.T) {
	for _, c := range []struct{ name, answer, sdk string }{
		{"null list", `{"roots":null}`, "null"},
		{"no list", `{}`, "null"},
		{"null", `null`, "null"},
		{"null entry", `{"roots":[null]}`, "[null]"},
		{"no uri", `{"roots":[{"name":"x"}]}`, `[{"name":"x","uri":""}]`},
	} {
		t.Run("sdk "+c.name, func(t *testing.T) {
			srv := newServer()
			addTool(srv, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				res, err := req.Session.ListRoots(ctx, nil)
				if err != nil {
					return nil, err
				}
				text, err := json.Marshal(res.Roots)
				return say(string(text)), err
			})
			p := dial(t, srv, joined.SDK)
			p.Initialize("2025-11-25", `{"roots":{}}`)
			p.call(1, "ask")
			p.answer(p.expectAsk(), c.answer)
			p.expect(1, c.sdk)
		})
		t.Run("ours "+c.name, func(t *testing.T) {
			w := open(t, Options{}, "app")
			p := w.legacy(true)
			p.call(1, "scope")
			p.answer(p.expectAsk(), c.answer)
			p.refused(1, rootbound.RootsMalformed)
		})
	}
}

// Handlers run side by side, so each of several calls asks for itself.
func TestTrapEveryCallAsks(t *testing.T) {
	t.Run("sdk", func(t *testing.T) {
		srv := newServer()
		addTool(srv, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := req.Session.ListRoots(ctx, nil)
			return say("asked"), err
		})
		p := dial(t, srv, joined.SDK)
		p.Initialize("2025-11-25", `{"roots":{}}`)
		for i := range 3 {
			p.call(i, "ask")
		}
		for range 3 { // nothing was answered yet
			p.expectAsk()
		}
	})
	t.Run("ours", func(t *testing.T) {
		w := open(t, Options{}, "app")
		p := w.legacy(true)
		for i := range 3 {
			p.call(i, "scope")
		}
		p.answer(p.expectAsk(), w.roots("app"))
		seen := map[string]bool{}
		for range 3 {
			m := p.Recv()
			if replyOf(t, m).text() != "ceiling app" && replyOf(t, m).text() != "roots app" {
				t.Errorf("got %s", m.Line)
			}
			seen[string(m.ID)] = true
		}
		if len(seen) != 3 {
			t.Errorf("answered: %v", seen)
		}
	})
}

// A middleware hears list_changed though no handler is set.
func TestTrapMiddlewareHearsListChanged(t *testing.T) {
	srv := newServer()
	var heard sync.WaitGroup
	heard.Add(1)
	srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/roots/list_changed" {
				heard.Done()
			}
			return next(ctx, method, req)
		}
	})
	p := dial(t, srv, joined.SDK)
	p.Initialize("2025-11-25", `{"roots":{}}`)
	p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	heard.Wait()
}
