package mcpscope

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// Each trap of go-sdk v1.8.0 that concerns us: the subtest "sdk" pins what the SDK
// does without our counter, "ours" that the counter works. When an upgrade turns an "sdk" red, its counter may go.

// Initialize for an unknown or modern revision is answered with 2025-11-25, but the session counts as modern.
func TestTrapUnknownVersionMakesTheSessionModern(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2099-01-01", "garbage"} {
		t.Run("sdk "+version, func(t *testing.T) {
			srv := newServer()
			addTool(srv, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if _, err := req.Session.ListRoots(ctx, nil); err == nil || !strings.Contains(err.Error(), "cannot be sent") {
					t.Errorf("ListRoots: %v", err)
				}
				return say("done"), nil
			})
			p := dial(t, srv, false)
			if m := p.initialize(version, `{"roots":{}}`); !strings.Contains(m.line, `"protocolVersion":"2025-11-25"`) {
				t.Errorf("initialize: %s", m.line)
			}
			p.call(1, "ask")
			p.expect(1, "done")
		})
		t.Run("ours "+version, func(t *testing.T) {
			w := open(t, Options{}, "app")
			p := w.dial()
			if m := p.initialize(version, `{"roots":{}}`); !strings.Contains(m.line, `"protocolVersion":"2025-11-25"`) {
				t.Errorf("initialize: %s", m.line)
			}
			p.call(1, "scope")
			p.answer(p.expectAsk(), w.roots("app/sub"))
			p.expect(1, "roots app/sub")
		})
	}
}

// A panic in a handler ends the process. Ours is TestG24PanicsAreContained.
func TestTrapPanicEndsTheProcess(t *testing.T) {
	if os.Getenv("MCPSCOPE_PANIC") != "" {
		srv := newServer()
		addTool(srv, "boom", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("boom") })
		p := dial(t, srv, false)
		p.initialize("2025-11-25", `{}`)
		p.call(1, "boom")
		t.Logf("survived: %s", p.recv().line)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestTrapPanicEndsTheProcess$")
	cmd.Env = append(os.Environ(), "MCPSCOPE_PANIC=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "panic: boom") {
		t.Errorf("the SDK recovers panics now: %v\n%s", err, out)
	}
}

// A handler of list_changed that blocks freezes the later messages of its session.
func TestTrapListChangedHandlerBlocksTheSession(t *testing.T) {
	t.Run("sdk", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stay := make(chan struct{})
			srv := mcp.NewServer(&mcp.Implementation{Name: "t"}, &mcp.ServerOptions{
				RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) { <-stay },
			})
			p := dial(t, srv, false)
			p.initialize("2025-11-25", `{"roots":{}}`)
			p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
			p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			synctest.Wait()
			if len(p.lines) != 0 {
				t.Errorf("answered while the handler blocks: %s", <-p.lines)
			}
			close(stay)
			p.recv()
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
		p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		if m := p.recv(); string(m.ID) != "2" {
			t.Errorf("want the ping's answer while the commit hangs, got %s", m.line)
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

// Closing a session waits for its handlers and does not cancel them.
func TestTrapCloseWaitsForHandlers(t *testing.T) {
	t.Run("sdk", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := newServer()
			leave, cancelled := make(chan struct{}), false
			addTool(srv, "stay", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				select {
				case <-leave:
				case <-ctx.Done():
					cancelled = true
				}
				return say("left"), nil
			})
			p := dial(t, srv, false)
			p.initialize("2025-11-25", `{}`)
			p.call(1, "stay")
			synctest.Wait()
			go p.ss.Close()
			synctest.Wait()
			if len(p.lines) != 0 {
				t.Errorf("got %s", <-p.lines)
			}
			close(leave)
			synctest.Wait()
			if cancelled {
				t.Error("closing cancels handlers now")
			}
		})
	})
	t.Run("ours", func(t *testing.T) {
		w := open(t, Options{}, "app")
		p := w.legacy(true)
		p.call(1, "wait")
		p.answer(p.expectAsk(), w.roots("app"))
		w.await("wait")
		w.scope.CloseSession(w.scope.All()[0].Origin.Session)
		if m := p.recv(); string(m.ID) != "1" || !m.tool(t).IsError {
			t.Errorf("got %s", m.line)
		}
		q := w.legacy(true) // and one that waits for roots
		q.call(2, "scope")
		q.expectAsk()
		for _, st := range w.scope.All() {
			w.scope.CloseSession(st.Origin.Session)
		}
		for {
			m := q.recv()
			if m.Method == "notifications/cancelled" {
				continue
			}
			if string(m.ID) != "2" || !m.tool(t).IsError {
				t.Errorf("got %s", m.line)
			}
			break
		}
	})
}

// A session is bound to its user only if the token has a subject.
func TestTrapTokenWithoutSubject(t *testing.T) {
	post := func(t *testing.T, url, token, session, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	serve := func(t *testing.T, srv *mcp.Server) string {
		verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
			return &auth.TokenInfo{Expiration: now().Add(patience)}, nil
		}
		h := httptest.NewServer(auth.RequireBearerToken(verify, nil)(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil)))
		t.Cleanup(h.Close)
		return h.URL
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	t.Run("sdk", func(t *testing.T) {
		url := serve(t, newServer())
		session := post(t, url, "one", "", initialize).Header.Get("Mcp-Session-Id")
		if res := post(t, url, "two", session, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); session == "" || res.StatusCode != 200 {
			t.Errorf("session %q, another token: %s", session, res.Status)
		}
	})
	t.Run("ours", func(t *testing.T) {
		w := open(t, Options{}, "app")
		body := new(strings.Builder)
		res := post(t, serve(t, w.srv), "one", "", initialize)
		_ = res.Write(body)
		if !strings.Contains(body.String(), "the token has no subject") {
			t.Errorf("got %s", body)
		}
	})
}

// One input of unknown shape fails the call in a text that repeats everything that was sent.
func TestTrapErrorsRepeatTheParameters(t *testing.T) {
	const secret = "s3cr3t-state"
	send := func(p *peer) message {
		p.callModern(1, modernMetaRoots, "scope", `,"requestState":"`+secret+`","inputResponses":{"x":{"odd":1}}`)
		return p.failed(1, -32602)
	}
	t.Run("sdk", func(t *testing.T) {
		if m := send(dial(t, newServer(), false)); !strings.Contains(m.line, secret) {
			t.Errorf("the text is scrubbed now: %s", m.line)
		}
	})
	t.Run("ours", func(t *testing.T) {
		w := open(t, Options{}, "app")
		if m := send(w.dial()); strings.Contains(m.line, secret) || strings.Contains(m.line, "odd") {
			t.Errorf("got %s", m.line)
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
			p := dial(t, srv, false)
			p.callModern(1, modernMetaRoots, "scope", `,"inputResponses":`+c.inputs)
			p.failed(1, -32602)
		})
		t.Run("ours "+name, func(t *testing.T) {
			w := open(t, Options{}, "app")
			p := connect(t, w.srv, func(r io.ReadCloser, out io.WriteCloser) mcp.Transport {
				return &pipe.Pipe{Reader: r, Writer: out, Unfit: w.scope.Unfit}
			})
			p.callModern(1, modernMetaRoots, "scope", `,"inputResponses":`+c.inputs)
			m := p.failed(1, -32602)
			all := w.log.Records()
			if len(all) != 1 || all[0].Phase != decision.Refused || all[0].Reason != c.why || all[0].RequestID != "1" {
				t.Errorf("records: %+v", all)
				return
			}
			if !strings.Contains(m.line, all[0].ID) || !strings.Contains(m.line, string(c.why)) || strings.Contains(m.line, "odd") {
				t.Errorf("got %s", m.line)
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
			p := dial(t, srv, false)
			p.initialize("2025-11-25", `{"roots":{}}`)
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

// A line that is not JSON ends the session. Ours is TestPipeSurvivesBadLines.
func TestTrapBadLineEndsTheSession(t *testing.T) {
	p := dial(t, newServer(), false)
	p.send(`hello`)
	p.ended()
	if err := p.ss.Wait(); err == nil {
		t.Error("no error")
	}
}

// A pipe that began with a modern request cannot be initialised any more, yet serves legacy requests.
func TestTrapModernThenLegacy(t *testing.T) {
	begin := func(p *peer) {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s}}`, modernMeta)
		p.recv()
		p.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	}
	t.Run("sdk", func(t *testing.T) {
		srv := newServer()
		addTool(srv, "scope", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("served"), nil })
		p := dial(t, srv, false)
		begin(p)
		p.failed(2, 0)
		p.call(3, "scope")
		p.expect(3, "served")
	})
	t.Run("ours", func(t *testing.T) {
		p := open(t, Options{}, "app").dial()
		begin(p)
		p.failed(2, -32603)
		p.call(3, "scope")
		p.failed(3, -32600)
	})
}

// On a pipe that was initialised as legacy the SDK answers the input_required of a modern call with a roots/list of
// its own. Ours is TestG31ModernRequestsDoNotEscapeALegacySession.
func TestTrapModernCallOnALegacyPipe(t *testing.T) {
	srv := newServer()
	addTool(srv, "ask", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if _, ok := req.Params.InputResponses["roots"].(*mcp.ListRootsResult); ok {
			return say("answered"), nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil
	})
	p := dial(t, srv, false)
	p.initialize("2025-11-25", `{"roots":{}}`)
	p.callModern(1, modernMetaRoots, "ask", "")
	p.answer(p.expectAsk(), `{"roots":[]}`)
	p.expect(1, "answered")
}

// Handlers run side by side, so each of several calls asks for itself.
func TestTrapEveryCallAsks(t *testing.T) {
	t.Run("sdk", func(t *testing.T) {
		srv := newServer()
		addTool(srv, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := req.Session.ListRoots(ctx, nil)
			return say("asked"), err
		})
		p := dial(t, srv, false)
		p.initialize("2025-11-25", `{"roots":{}}`)
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
			m := p.recv()
			if m.tool(t).text() != "ceiling app" && m.tool(t).text() != "roots app" {
				t.Errorf("got %s", m.line)
			}
			seen[string(m.ID)] = true
		}
		if len(seen) != 3 {
			t.Errorf("answered: %v", seen)
		}
	})
}

// Roots null is not declared; roots of another type fails the handshake.
func TestTrapOddCapabilities(t *testing.T) {
	w := open(t, Options{}, "app")
	p := w.dial()
	p.initialize("2025-11-25", `{"roots":null}`)
	p.call(1, "scope")
	p.expect(1, "ceiling app")
	for _, odd := range []string{`true`, `[]`, `{"listChanged":"yes"}`} {
		q := w.dial()
		q.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":%s},"clientInfo":{"name":"c","version":"1"}}}`, odd)
		q.failed(1, -32602)
		q.call(2, "scope")
		q.failed(2, -32600)
	}
}

// What a middleware builds goes out without resultType.
func TestTrapResultTypeOfAMiddleware(t *testing.T) {
	t.Run("sdk", func(t *testing.T) {
		srv := newServer()
		srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/call" {
					return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}, RequestState: "s"}, nil
				}
				return next(ctx, method, req)
			}
		})
		p := dial(t, srv, false)
		p.callModern(1, modernMetaRoots, "scope", "")
		if m := p.recv(); strings.Contains(m.line, "resultType") {
			t.Errorf("resultType is set now: %s", m.line)
		}
	})
	t.Run("ours", func(t *testing.T) {
		w := open(t, Options{}, "app")
		for _, c := range []struct{ method, params string }{
			{"tools/call", `"name":"scope","arguments":{}`}, {"resources/read", `"uri":"test://scope"`}, {"prompts/get", `"name":"scope"`},
		} {
			p := w.dial()
			p.send(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, c.method, c.params, modernMetaRoots)
			p.asked(1)
		}
		p := w.dial()
		p.callModern(1, modernMeta, "os", "")
		if r := p.refused(1, rootbound.IOError); r.ResultType != "complete" {
			t.Errorf("a refusal has resultType %q", r.ResultType)
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
	p := dial(t, srv, false)
	p.initialize("2025-11-25", `{"roots":{}}`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	heard.Wait()
}
