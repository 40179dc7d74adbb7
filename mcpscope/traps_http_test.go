package mcpscope

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound/internal/rig/joined"
)

// The traps of go-sdk v1.8.0 that only HTTP has, see traps_test.go. Their counters are the caller's: two handlers behind one
// address, the option of the second one, and Scope.CloseSession.

func post(t *testing.T, ctx context.Context, url, line string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "wait"} {
		req.Header.Set(k, v)
	}
	return http.DefaultClient.Do(req)
}

const callWait = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{},` + joined.Meta + `}}`

// A handler with sessions refuses requests of 2026-07-28. Ours is TestOverHTTP: a second handler without sessions.
func TestTrapStatefulHandlerRefusesModern(t *testing.T) {
	srv := newServer()
	addTool(srv, "wait", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("served"), nil })
	get := func(*http.Request) *mcp.Server { return srv }
	for name, c := range map[string]struct {
		o    *mcp.StreamableHTTPOptions
		want string
	}{
		"sdk":  {nil, "-32022"},
		"ours": {&mcp.StreamableHTTPOptions{Stateless: true}, "served"},
	} {
		t.Run(name, func(t *testing.T) {
			h := httptest.NewServer(mcp.NewStreamableHTTPHandler(get, c.o))
			defer h.Close()
			res, err := post(t, t.Context(), h.URL, callWait)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), c.want) {
				t.Errorf("%v: %s", err, body)
			}
		})
	}
}

// A client that goes away in the midst of a request of 2026-07-28 does not end the handler, unless it is asked for.
func TestTrapGoneClientsHandlerGoesOn(t *testing.T) {
	for name, propagate := range map[string]bool{"sdk": false, "ours": true} {
		t.Run(name, func(t *testing.T) {
			srv := newServer()
			in, gone, looked := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			addTool(srv, "wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				close(in)
				<-gone
				if propagate {
					<-ctx.Done() // or the test never ends
				}
				looked <- ctx.Err()
				return say("late"), nil
			})
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: propagate})
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				context.AfterFunc(r.Context(), func() { close(gone) })
				handler.ServeHTTP(w, r)
			}))
			defer h.Close()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			go func() { <-in; leave() }()
			if res, err := post(t, ctx, h.URL, callWait); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			if err := <-looked; (err != nil) != propagate {
				t.Errorf("the handler's context: %v", err)
			}
		})
	}
}

// A handler with sessions cannot be closed. Ours ends sessions by the Scope, which knows them.
func TestTrapHandlersHaveNoClose(t *testing.T) {
	if _, ok := reflect.TypeFor[*mcp.StreamableHTTPHandler]().MethodByName("Close"); ok {
		t.Error("there is one now: Scope.CloseSession may go")
	}
}
