package subscribe

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/rig/joined"
)

// peer is a client that speaks lines.
type peer struct {
	*joined.Peer
	t *testing.T
}

func (w *world) dial() *peer { return dial(w.t, w.srv, joined.Pipe) }

func dial(t *testing.T, srv *mcp.Server, over joined.Over) *peer {
	t.Helper()
	return &peer{joined.Dial(t, joined.Bare(srv), over), t}
}

// updated is the next line, which must be an update of uri; for a listen with its id.
func (p *peer) updated(uri string, listen any) {
	p.t.Helper()
	p.notified("notifications/resources/updated", uri, listen)
}

func (p *peer) notified(method, uri string, listen any) {
	p.t.Helper()
	m := p.Recv()
	if id := m.Params.Meta[mcp.MetaKeySubscriptionID]; m.Method != method || m.Params.URI != uri || id != listen {
		p.t.Fatalf("want %s %s (%v), got %s", method, uri, listen, m.Line)
	}
}

// silent: what the server sends next is the answer to this and nothing that was to be told before. Only for streams whose
// goroutine has nothing left to do.
func (p *peer) silent(id int) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{}}`, id)
	if m := p.Recv(); string(m.ID) != fmt.Sprint(id) {
		p.t.Fatalf("not silent: %s", m.Line)
	}
}

func (p *peer) ok(id int) joined.Message {
	p.t.Helper()
	m := p.Recv()
	if string(m.ID) != fmt.Sprint(id) || m.Error != nil {
		p.t.Fatalf("want the result of %d, got %s", id, m.Line)
	}
	return m
}

func (p *peer) failed(id int, code int64, has string) {
	p.t.Helper()
	m := p.Recv()
	if string(m.ID) != fmt.Sprint(id) || m.Error == nil || m.Error.Code != code || !strings.Contains(m.Error.Message, has) {
		p.t.Fatalf("want error %d %q to %d, got %s", code, has, id, m.Line)
	}
}

// legacy is a peer of a legacy session, with roots and list_changed declared if roots is not empty: then it has answered
// them once.
func (w *world) legacy(roots ...string) *peer {
	w.t.Helper()
	p := w.dial()
	capabilities := `{}`
	if len(roots) > 0 {
		capabilities = `{"roots":{"listChanged":true}}`
	}
	p.Initialize("2025-11-25", capabilities)
	if len(roots) > 0 {
		p.call(1, "app", "a.txt")
		p.answer(w.roots(roots...))
		p.Recv()
	}
	return p
}

// call sends a legacy tools/call that reads.
func (p *peer) call(id int, project, path string) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"project":%q,"path":%q}}}`, id, project, path)
}

func (p *peer) callModern(id int, project, path string) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"project":%q,"path":%q},%s}}`, id, project, path, joined.Meta)
}

// answer answers roots/list, which must be the next line.
func (p *peer) answer(roots string) {
	p.t.Helper()
	m := p.Recv()
	if m.Method != "roots/list" {
		p.t.Fatalf("want roots/list, got %s", m.Line)
	}
	p.Send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, roots)
}

func (p *peer) rootsChanged() {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
}

func (p *peer) subscribe(id int, uri string) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":%q}}`, id, uri)
}

func (p *peer) subscribed(id int, uri string) {
	p.t.Helper()
	p.subscribe(id, uri)
	if m := p.ok(id); string(m.Result) != "{}" {
		p.t.Fatalf("got %s", m.Line)
	}
}

// listen sends a subscriptions/listen with this filter.
func (p *peer) listen(id int, meta, filter string) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":%s,%s}}`, id, filter, meta)
}

// acknowledged is the next line.
func (p *peer) acknowledged(id any, filter string) {
	p.t.Helper()
	m := p.Recv()
	got, _ := json.Marshal(m.Params.Notifications)
	if m.Method != "notifications/subscriptions/acknowledged" || m.Params.Meta[mcp.MetaKeySubscriptionID] != id || string(got) != filter {
		p.t.Fatalf("want the acknowledgement of %v with %s, got %s", id, filter, m.Line)
	}
}

// listening is listen, acknowledged as asked.
func (p *peer) listening(id int, filter string) {
	p.t.Helper()
	p.listen(id, joined.Meta, filter)
	p.acknowledged(float64(id), filter)
}

func (p *peer) cancel(id int) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}

// listenEnded is the next line: the listen's result.
func (p *peer) listenEnded(id int) {
	p.t.Helper()
	m := p.ok(id)
	var r struct {
		Type string         `json:"resultType"`
		Meta map[string]any `json:"_meta"`
	}
	if json.Unmarshal(m.Result, &r) != nil || r.Type != "complete" || r.Meta[mcp.MetaKeySubscriptionID] != float64(id) {
		p.t.Fatalf("not a listen's result: %s", m.Line)
	}
}

func uris(of ...string) string {
	b, _ := json.Marshal(of)
	return fmt.Sprintf(`{"resourceSubscriptions":%s}`, b)
}
