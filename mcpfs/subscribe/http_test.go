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

// byHeader names the principal by a header, as a token would.
func byHeader(req mcp.Request) (string, error) {
	if x := req.GetExtra(); x != nil {
		return x.Header.Get("X-User"), nil
	}
	return "", nil
}

func (w *world) serve(stateless bool) string {
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.srv },
		&mcp.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: stateless}))
	w.t.Cleanup(h.Close)
	return h.URL
}

// stream is one listen over HTTP: its answer, event by event.
type event struct {
	t    *testing.T
	body io.ReadCloser
	in   chan joined.Message // closed at the end
}

// post sends a request of 2026-07-28 and reads its answer.
func (w *world) post(url, user, method string, id int, params string) *event {
	w.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,%s}}`, id, method, params, joined.Meta)
	req, err := http.NewRequestWithContext(context.Background(), "POST", url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "X-User": user,
	} {
		req.Header.Set(k, v)
	}
	if method == "tools/call" {
		req.Header.Set("Mcp-Name", "read")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	e := &event{w.t, res.Body, make(chan joined.Message, 64)}
	go func() {
		defer close(e.in)
		r := bufio.NewReader(res.Body)
		for {
			line, err := r.ReadString('\n')
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "" {
				e.in <- joined.Parse(w.t, data)
			} else if strings.HasPrefix(line, "{") {
				e.in <- joined.Parse(w.t, strings.TrimSpace(line))
			}
			if err != nil {
				return
			}
		}
	}()
	w.t.Cleanup(func() { res.Body.Close() })
	return e
}

func (e *event) next() joined.Message {
	e.t.Helper()
	select {
	case m, ok := <-e.in:
		if !ok {
			e.t.Fatal("the stream ended")
		}
		return m
	case <-time.After(joined.Patience):
		e.t.Fatal("nothing came")
	}
	return joined.Message{}
}

func (e *event) notified(method, uri string, id any) {
	e.t.Helper()
	if m := e.next(); m.Method != method || m.Params.URI != uri || m.Params.Meta[mcp.MetaKeySubscriptionID] != id {
		e.t.Fatalf("want %s %s (%v), got %s", method, uri, id, m.Line)
	}
}

// Over HTTP each listen is one answer: acknowledged first, told on its own stream under its own id even if others have the
// same, ended by the client that closes it, or by the server with a result.
func TestListensOverHTTP(t *testing.T) {
	w := newWorld(t, mcpscope.Options{Principal: byHeader}, Options{})
	url := w.serve(true)
	const updated = "notifications/resources/updated"
	listen := func(user string, id int, filter string) *event {
		t.Helper()
		e := w.post(url, user, "subscriptions/listen", id, `"notifications":`+filter)
		e.notified("notifications/subscriptions/acknowledged", "", float64(id))
		return e
	}
	a := listen("ann", 7, uris(of("app", "a.txt")))
	b := listen("ben", 7, uris(of("app", "a.txt"), of("lib", ".")))
	c := listen("ann", 8, `{"resourcesListChanged":true,"toolsListChanged":true}`)
	w.say("app/a.txt", "", false)
	a.notified(updated, of("app", "a.txt"), 7.0)
	b.notified(updated, of("app", "a.txt"), 7.0)

	// What is taken from one principal is told to the other.
	w.scope.Revoke(mcpscope.Who{Principal: "ann"}, "app")
	if m := a.next(); string(m.ID) != "7" || m.Error != nil {
		t.Fatalf("not the result: %s", m.Line)
	}
	c.notified("notifications/resources/list_changed", "", 8.0)
	if n := w.say("app/a.txt", "", false); n != 1 {
		t.Errorf("%d subscriptions are left", n)
	}
	b.notified(updated, of("app", "a.txt"), 7.0)
	w.changeTools()
	c.notified("notifications/tools/list_changed", "", 8.0)

	b.body.Close() // the client leaves
	w.watched()
	w.eventually("its listen is gone", func() bool { n, _ := w.hub.Count(); return n == 1 })
	d := listen("ben", 9, uris(of("lib", ".")))
	ctx, cancel := context.WithTimeout(context.Background(), joined.Patience)
	defer cancel()
	if err := w.hub.Close(ctx); err != nil { // the server leaves
		t.Fatal(err)
	}
	for id, e := range map[string]*event{"8": c, "9": d} {
		if m := e.next(); string(m.ID) != id || m.Error != nil || !strings.Contains(m.Line, `"resultType":"complete"`) {
			t.Errorf("not the result: %s", m.Line)
		}
	}
	if m := w.post(url, "ann", "subscriptions/listen", 10, `"notifications":{"toolsListChanged":true}`).next(); m.Error == nil {
		t.Errorf("served after the end: %s", m.Line)
	}
}

// A legacy session over HTTP hears by its own stream.
func TestLegacySessionsOverHTTP(t *testing.T) {
	w := newWorld(t, mcpscope.Options{Principal: byHeader}, Options{})
	url := w.serve(false)
	connect := func(roots string) (*mcp.ClientSession, *mcp.Client, *heard) {
		h := &heard{t, make(chan string, 16)}
		c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
			Capabilities:               &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: true}},
			ResourceUpdatedHandler:     func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { h.ch <- r.Params.URI },
			ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { h.ch <- "list" },
		})
		c.AddRoots(&mcp.Root{URI: w.uri(roots)})
		cs, err := c.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cs.Close() })
		return cs, c, h
	}
	one, c, toOne := connect("app")
	two, _, toTwo := connect("app/sub")
	w.read(one, "app", "a.txt")
	w.read(two, "app", "sub/b.txt")
	w.follow(one, of("app", "sub"))
	w.follow(two, of("app", "sub"))
	w.say("app/sub", "b.txt", false)
	toOne.next(of("app", "sub/b.txt"))
	toTwo.next(of("app", "sub/b.txt"))

	c.RemoveRoots(w.uri("app"))
	c.AddRoots(&mcp.Root{URI: w.uri("lib")})
	w.when("the mark", func() bool { return w.suspended() == 1 })
	w.read(one, "lib", "l.txt")
	toOne.next("list")
	w.watched("app/sub")
	w.say("app/sub", "b.txt", false)
	toTwo.next(of("app", "sub/b.txt"))
	two.Close()
	w.watched()
	toOne.nothing()
}
