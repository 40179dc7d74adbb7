package subscribe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope"
)

// request sends a request of a legacy session.
func (w *world) send(ctx context.Context, method, url, session, body string) *http.Response {
	w.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", sessionHeader: session} {
		if v != "" {
			req.Header.Set(k, v)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { res.Body.Close() })
	return res
}

// A legacy session over HTTP hears by the stream that its client opens. What changes while there is none is told when it is
// there, and what was told by one that ended, once more: it may never have arrived.
func TestStreamThatIsOpenedLate(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	h := httptest.NewServer(w.hub.Streams(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.srv }, nil)))
	t.Cleanup(h.Close)
	post := func(session, body string) (string, string) {
		t.Helper()
		res := w.send(t.Context(), "POST", h.URL, session, body)
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.Header.Get(sessionHeader), string(b)
	}
	session, _ := post("", `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, at := range []string{"sub", "a.txt", "two words.txt"} {
		if _, got := post(session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":%q}}`, i, of("app", at))); !strings.Contains(got, `"result":{}`) {
			t.Fatal(got)
		}
	}
	open := func() (next func() joined.Message, leave func()) {
		ctx, leave := context.WithCancel(t.Context())
		t.Cleanup(leave)
		var res *http.Response
		w.eventually("the stream before is known to have ended", func() bool {
			res = w.send(ctx, "GET", h.URL, session, "")
			return res.StatusCode != http.StatusConflict
		})
		late := time.AfterFunc(joined.Patience, leave)
		t.Cleanup(func() { late.Stop() })
		r := bufio.NewReader(res.Body)
		return func() joined.Message {
			t.Helper()
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					t.Fatalf("%s: %v", res.Status, err)
				}
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					return joined.Parse(t, strings.TrimSpace(data))
				}
			}
		}, leave
	}
	want := func(next func() joined.Message, told ...string) {
		t.Helper()
		left := map[string]bool{}
		for _, s := range told {
			left[s] = true
		}
		for len(left) > 0 {
			m := next()
			what := strings.TrimPrefix(m.Method, "notifications/") + " " + m.Params.URI
			if !left[what] {
				t.Fatalf("told %s, want %v", m.Line, told)
			}
			delete(left, what)
		}
	}
	const updated, listed = "resources/updated ", "tools/list_changed "
	w.say("app/sub", "b.txt", false)
	w.say("app/a.txt", "", false)
	w.changeTools()
	w.eventually("it is known that the tools changed", func() bool {
		st := w.only()
		st.mu.Lock()
		defer st.mu.Unlock()
		return st.lists&tools != 0
	})
	next, leave := open()
	want(next, listed, updated+of("app", "sub/b.txt"), updated+of("app", "a.txt"))
	w.say("app/sub", "b.txt", false)
	want(next, updated+of("app", "sub/b.txt"))
	leave()
	next, leave = open()
	want(next, listed, updated+of("app", "sub"), updated+of("app", "a.txt"))
	leave()
	next, _ = open()
	want(next, listed, updated+of("app", "sub"), updated+of("app", "a.txt"))
	w.say("app/two words.txt", "", false) // nothing else is told than this
	want(next, updated+of("app", "two words.txt"))
}
