package mcpscope

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
)

// byUser names the principal by a header, as a proxy that authenticates would.
func byUser(req mcp.Request) (string, error) { return req.GetExtra().Header.Get("X-User"), nil }

// wire sends what it is told to one address.
type wire struct {
	t   *testing.T
	url string
}

// send sends a request of the legacy era and gives the answer, whose body is still open.
func (w wire) send(method, user, session, body string) *http.Response {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), joined.Patience)
	w.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-User": user, "Mcp-Session-Id": session} {
		if v != "" {
			req.Header.Set(k, v)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Error(err)
		return &http.Response{Header: http.Header{}, Body: http.NoBody}
	}
	w.t.Cleanup(func() { res.Body.Close() })
	return res
}

// whole is the status and the body of an answer.
func (w wire) whole(res *http.Response) string {
	w.t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Error(err)
	}
	return fmt.Sprint(res.StatusCode, " ", strings.TrimSpace(string(b)))
}

// data is the next event of a stream; empty at its end.
func data(r *bufio.Reader) string {
	for {
		line, err := r.ReadString('\n')
		if d, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && d != "" {
			return d
		}
		if err != nil {
			return ""
		}
	}
}

// begin initializes a session and gives its id.
func (w wire) begin(user, capabilities string) string {
	w.t.Helper()
	res := w.send("POST", user, "", `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"raw","version":"1"}}}`)
	id := res.Header.Get("Mcp-Session-Id")
	if got := w.whole(res); id == "" || !strings.HasPrefix(got, "200 ") {
		w.t.Fatalf("no session: %s", got)
	}
	return id
}

const (
	callScope = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"scope","arguments":{}}}`
	withRoots = `{"roots":{"listChanged":true}}`
)

// over serves the world's legacy sessions over HTTP, behind Scope.Sessions or not.
func (w *world) over(t *testing.T, guarded bool) wire {
	t.Helper()
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.srv }, nil)
	if guarded {
		h = w.scope.Sessions(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return wire{t, s.URL}
}

// A session is whose it was when it was initialized: who has its id and is somebody else is told what an unknown id is told,
// whatever he sends. He hears nothing of it, answers nothing in it, ends nothing of it, and does not take it over before its
// owner has made a call.
func TestG44SessionsBelongToTheirPrincipal(t *testing.T) {
	w := open(t, Options{Principal: byUser}, "app", "lib")
	at := w.over(t, true)
	ann := at.begin("ann", withRoots)
	unknown := func(method string) string { return at.whole(at.send(method, "ben", "NOBODYS", callScope)) }
	refused := func(what, method, body string) {
		t.Helper()
		if got, want := at.whole(at.send(method, "ben", ann, body)), unknown(method); got != want || !strings.HasPrefix(got, "404 ") {
			t.Errorf("%s: %s, to an unknown id %s", what, got, want)
		}
	}
	refused("a call before its owner's first", "POST", callScope)
	refused("the stream", "GET", "")

	asked := at.send("POST", "ann", ann, callScope)
	stream := bufio.NewReader(asked.Body)
	question := data(stream)
	if !strings.Contains(question, "roots/list") {
		t.Fatalf("not asked: %s", question)
	}
	id, _, _ := strings.Cut(question[strings.Index(question, `"id":`)+len(`"id":`):], ",")
	refused("an answer to its question", "POST", `{"jsonrpc":"2.0","id":`+id+`,"result":{"roots":[{"uri":"`+w.uri("lib")+`"}]}}`)
	refused("a cancellation", "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	refused("the end", "DELETE", "")
	if got := at.whole(at.send("POST", "ann", ann, `{"jsonrpc":"2.0","id":`+id+`,"result":{"roots":[{"uri":"`+w.uri("app/sub")+`"}]}}`)); !strings.HasPrefix(got, "202") {
		t.Fatalf("the owner's answer: %s", got)
	}
	if got := data(stream); !strings.Contains(got, "roots app/sub") {
		t.Errorf("the owner's call: %s", got)
	}
	refused("a changed list", "POST", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	if got := at.whole(at.send("POST", "ann", ann, callScope)); !strings.Contains(got, "roots app/sub") {
		t.Errorf("the owner's next call: %s", got)
	}
	if got := at.whole(at.send("DELETE", "ann", ann, "")); !strings.HasPrefix(got, "204") {
		t.Errorf("the owner's end: %s", got)
	}
	w.scope.watchers.Wait()
	if left := w.scope.All(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	if len(w.scope.named) > 0 {
		t.Errorf("names that are left: %v", w.scope.named)
	}
}

// Behind Sessions alone the end of a session ends what runs in it, which the SDK would wait for.
func TestSessionsEndWhatRuns(t *testing.T) {
	w := open(t, Options{Principal: byUser}, "app")
	at := w.over(t, true)
	ann := at.begin("ann", `{}`)
	ran := make(chan string, 1)
	go func() { // the answer begins with its end
		ran <- at.whole(at.send("POST", "ann", ann, `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"wait","arguments":{}}}`))
	}()
	<-w.in
	if got := at.whole(at.send("DELETE", "ann", ann, "")); !strings.HasPrefix(got, "204") {
		t.Errorf("got %s", got)
	}
	select {
	case got := <-ran:
		if strings.Contains(got, "waited") {
			t.Errorf("it ran to its end: %s", got)
		}
	case <-time.After(joined.Patience):
		t.Error("it still runs")
	}
}

// The SDK binds a session to the subject of a bearer token and to nothing else: where principals are told by other means,
// whoever knows the id hears its stream, and ends it. Ours: Scope.Sessions.
func TestTrapSessionsOfOtherPrincipals(t *testing.T) {
	for name, guarded := range map[string]bool{"sdk": false, "ours": true} {
		t.Run(name, func(t *testing.T) {
			w := open(t, Options{Principal: byUser}, "app")
			at := w.over(t, guarded)
			ann := at.begin("ann", `{}`)
			opened := at.send("GET", "ben", ann, "")
			ended := at.send("DELETE", "ben", ann, "")
			if (opened.StatusCode == 404) != guarded || (ended.StatusCode == 404) != guarded {
				t.Errorf("the stream: %s, the end: %s", opened.Status, ended.Status)
			}
		})
	}
}
