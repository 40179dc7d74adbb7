package mcpscope

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Over Streamable HTTP one Scope serves both eras, each by the handler that can: sessions for legacy clients, none for
// modern ones. Legacy roots come on the call's own stream; nothing is left when the clients are gone.
func TestOverHTTP(t *testing.T) {
	w := open(t, Options{}, "app", "lib")
	get := func(*http.Request) *mcp.Server { return w.srv }
	stateful := mcp.NewStreamableHTTPHandler(get, nil)
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	h := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if v := r.Header.Get("Mcp-Protocol-Version"); v == "" || legacyVersion(v) {
			stateful.ServeHTTP(rw, r)
			return
		}
		stateless.ServeHTTP(rw, r)
	}))
	t.Cleanup(h.Close)
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			client := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil)
			client.AddRoots(&mcp.Root{URI: w.uri("app/sub")})
			cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.URL, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			call := func(want string) {
				t.Helper()
				res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "scope"})
				if err != nil {
					t.Fatal(err)
				}
				if text := res.Content[0].(*mcp.TextContent).Text; text != want {
					t.Errorf("got %s", text)
				}
			}
			call("roots app/sub")
			client.AddRoots(&mcp.Root{URI: w.uri("lib")})
			call("roots app/sub lib")
			if err := cs.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	w.scope.watchers.Wait()
	for _, st := range w.scope.All() {
		if st.Origin.Era == "legacy" {
			t.Errorf("a session is left: %+v", st.Origin)
		}
	}
}
