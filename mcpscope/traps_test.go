package mcpscope

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
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
			p := dial(t, srv, joined.SDK)
			if m := p.Initialize(version, `{"roots":{}}`); !strings.Contains(m.Line, `"protocolVersion":"2025-11-25"`) {
				t.Errorf("initialize: %s", m.Line)
			}
			p.call(1, "ask")
			p.expect(1, "done")
		})
		t.Run("ours "+version, func(t *testing.T) {
			w := open(t, Options{}, "app")
			p := w.dial()
			if m := p.Initialize(version, `{"roots":{}}`); !strings.Contains(m.Line, `"protocolVersion":"2025-11-25"`) {
				t.Errorf("initialize: %s", m.Line)
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
		p := dial(t, srv, joined.SDK)
		p.Initialize("2025-11-25", `{}`)
		p.call(1, "boom")
		t.Logf("survived: %s", p.Recv().Line)
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
			p := dial(t, srv, joined.SDK)
			p.Initialize("2025-11-25", `{}`)
			p.call(1, "stay")
			synctest.Wait()
			go p.Session.Close()
			synctest.Wait()
			if len(p.Lines) != 0 {
				t.Errorf("got %s", <-p.Lines)
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
		if m := p.Recv(); string(m.ID) != "1" || !replyOf(t, m).IsError {
			t.Errorf("got %s", m.Line)
		}
		q := w.legacy(true) // and one that waits for roots
		q.call(2, "scope")
		q.expectAsk()
		for _, st := range w.scope.All() {
			w.scope.CloseSession(st.Origin.Session)
		}
		for {
			m := q.Recv()
			if m.Method == "notifications/cancelled" {
				continue
			}
			if string(m.ID) != "2" || !replyOf(t, m).IsError {
				t.Errorf("got %s", m.Line)
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
			return &auth.TokenInfo{Expiration: now().Add(joined.Patience)}, nil
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
	send := func(p *peer) joined.Message {
		p.callModern(1, joined.MetaRoots, "scope", `,"requestState":"`+secret+`","inputResponses":{"x":{"odd":1}}`)
		return p.failed(1, -32602)
	}
	t.Run("sdk", func(t *testing.T) {
		if m := send(dial(t, newServer(), joined.SDK)); !strings.Contains(m.Line, secret) {
			t.Errorf("the text is scrubbed now: %s", m.Line)
		}
	})
	t.Run("ours", func(t *testing.T) {
		w := open(t, Options{}, "app")
		if m := send(w.dial()); strings.Contains(m.Line, secret) || strings.Contains(m.Line, "odd") {
			t.Errorf("got %s", m.Line)
		}
	})
}

// A line that is not JSON ends the session. Ours is TestPipeSurvivesBadLines.
func TestTrapBadLineEndsTheSession(t *testing.T) {
	p := dial(t, newServer(), joined.SDK)
	p.Send(`hello`)
	p.Ended()
	if err := p.Session.Wait(); err == nil {
		t.Error("no error")
	}
}

// A pipe that began with a modern request cannot be initialised any more, yet serves legacy requests.
func TestTrapModernThenLegacy(t *testing.T) {
	begin := func(p *peer) {
		p.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s}}`, joined.Meta)
		p.Recv()
		p.Send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	}
	t.Run("sdk", func(t *testing.T) {
		srv := newServer()
		addTool(srv, "scope", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("served"), nil })
		p := dial(t, srv, joined.SDK)
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
	p := dial(t, srv, joined.SDK)
	p.Initialize("2025-11-25", `{"roots":{}}`)
	p.callModern(1, joined.MetaRoots, "ask", "")
	p.answer(p.expectAsk(), `{"roots":[]}`)
	p.expect(1, "answered")
}

// Roots null is not declared; roots of another type fails the handshake.
func TestTrapOddCapabilities(t *testing.T) {
	w := open(t, Options{}, "app")
	p := w.dial()
	p.Initialize("2025-11-25", `{"roots":null}`)
	p.call(1, "scope")
	p.expect(1, "ceiling app")
	for _, odd := range []string{`true`, `[]`, `{"listChanged":"yes"}`} {
		q := w.dial()
		q.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":%s},"clientInfo":{"name":"c","version":"1"}}}`, odd)
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
		p := dial(t, srv, joined.SDK)
		p.callModern(1, joined.MetaRoots, "scope", "")
		if m := p.Recv(); strings.Contains(m.Line, "resultType") {
			t.Errorf("resultType is set now: %s", m.Line)
		}
	})
	t.Run("ours", func(t *testing.T) {
		w := open(t, Options{}, "app")
		for _, c := range []struct{ method, params string }{
			{"tools/call", `"name":"scope","arguments":{}`}, {"resources/read", `"uri":"test://scope"`}, {"prompts/get", `"name":"scope"`},
		} {
			p := w.dial()
			p.Send(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, c.method, c.params, joined.MetaRoots)
			p.asked(1)
		}
		p := w.dial()
		p.callModern(1, joined.Meta, "os", "")
		if r := p.refused(1, rootbound.IOError); r.ResultType != "complete" {
			t.Errorf("a refusal has resultType %q", r.ResultType)
		}
	})
}
