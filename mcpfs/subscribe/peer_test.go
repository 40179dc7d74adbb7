package subscribe

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// peer is a client that speaks lines.
type peer struct {
	t     *testing.T
	w     io.WriteCloser
	lines chan string // closed when the server closes its side
	ss    *mcp.ServerSession
}

func (w *world) dial() *peer { return dial(w.t, w.srv, true) }

// dial connects a raw peer over a Pipe or over the SDK's own transport.
func dial(t *testing.T, srv *mcp.Server, ours bool) *peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var over mcp.Transport = &mcp.IOTransport{Reader: inR, Writer: outW}
	if ours {
		over = &pipe.Pipe{Reader: inR, Writer: outW}
	}
	ss, err := srv.Connect(context.Background(), over, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, w: inW, lines: make(chan string, 4096), ss: ss}
	go func() {
		defer close(p.lines)
		r := bufio.NewReaderSize(outR, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			p.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return p
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if _, err := io.WriteString(p.w, fmt.Sprintf(format, args...)+"\n"); err != nil {
		p.t.Fatalf("sending: %v", err)
	}
}

// message is a line the server sent.
type message struct {
	line   string
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta          map[string]any             `json:"_meta"`
		URI           string                     `json:"uri"`
		Notifications map[string]json.RawMessage `json:"notifications"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func parse(t *testing.T, line string) message {
	t.Helper()
	m := message{line: line}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("the server sent %q: %v", line, err)
	}
	return m
}

// recv is the next line the server sends.
func (p *peer) recv() message {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server closed the connection")
		}
		return parse(p.t, line)
	case <-time.After(patience):
		p.t.Fatal("no line came")
	}
	return message{}
}

// updated is the next line, which must be an update of uri; for a listen with its id.
func (p *peer) updated(uri string, listen any) {
	p.t.Helper()
	p.notified("notifications/resources/updated", uri, listen)
}

func (p *peer) notified(method, uri string, listen any) {
	p.t.Helper()
	m := p.recv()
	if id := m.Params.Meta[mcp.MetaKeySubscriptionID]; m.Method != method || m.Params.URI != uri || id != listen {
		p.t.Fatalf("want %s %s (%v), got %s", method, uri, listen, m.line)
	}
}

// silent: what the server sends next is the answer to this and nothing that was to be told before. Only for streams whose
// goroutine has nothing left to do.
func (p *peer) silent(id int) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{}}`, id)
	if m := p.recv(); string(m.ID) != fmt.Sprint(id) {
		p.t.Fatalf("not silent: %s", m.line)
	}
}

func (p *peer) ok(id int) message {
	p.t.Helper()
	m := p.recv()
	if string(m.ID) != fmt.Sprint(id) || m.Error != nil {
		p.t.Fatalf("want the result of %d, got %s", id, m.line)
	}
	return m
}

func (p *peer) failed(id int, code int64, has string) {
	p.t.Helper()
	m := p.recv()
	if string(m.ID) != fmt.Sprint(id) || m.Error == nil || m.Error.Code != code || !strings.Contains(m.Error.Message, has) {
		p.t.Fatalf("want error %d %q to %d, got %s", code, has, id, m.line)
	}
}

const (
	metaPlain = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	metaRoots = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`
)

// legacy is a peer of a legacy session, with roots and list_changed declared if roots is not empty: then it has answered
// them once.
func (w *world) legacy(roots ...string) *peer {
	w.t.Helper()
	p := w.dial()
	capabilities := `{}`
	if len(roots) > 0 {
		capabilities = `{"roots":{"listChanged":true}}`
	}
	p.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"raw","version":"1"}}}`, capabilities)
	if m := p.recv(); m.Error != nil {
		w.t.Fatalf("initialize: %s", m.line)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if len(roots) > 0 {
		p.call(1, "app", "a.txt")
		p.answer(w.roots(roots...))
		p.recv()
	}
	return p
}

// call sends a legacy tools/call that reads.
func (p *peer) call(id int, project, path string) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"project":%q,"path":%q}}}`, id, project, path)
}

func (p *peer) callModern(id int, project, path string) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"project":%q,"path":%q},%s}}`, id, project, path, metaPlain)
}

// answer answers roots/list, which must be the next line.
func (p *peer) answer(roots string) {
	p.t.Helper()
	m := p.recv()
	if m.Method != "roots/list" {
		p.t.Fatalf("want roots/list, got %s", m.line)
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, roots)
}

func (p *peer) rootsChanged() {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
}

func (p *peer) subscribe(id int, uri string) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":%q}}`, id, uri)
}

func (p *peer) subscribed(id int, uri string) {
	p.t.Helper()
	p.subscribe(id, uri)
	if m := p.ok(id); string(m.Result) != "{}" {
		p.t.Fatalf("got %s", m.line)
	}
}

// listen sends a subscriptions/listen with this filter.
func (p *peer) listen(id int, meta, filter string) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":%s,%s}}`, id, filter, meta)
}

// acknowledged is the next line.
func (p *peer) acknowledged(id any, filter string) {
	p.t.Helper()
	m := p.recv()
	got, _ := json.Marshal(m.Params.Notifications)
	if m.Method != "notifications/subscriptions/acknowledged" || m.Params.Meta[mcp.MetaKeySubscriptionID] != id || string(got) != filter {
		p.t.Fatalf("want the acknowledgement of %v with %s, got %s", id, filter, m.line)
	}
}

// listening is listen, acknowledged as asked.
func (p *peer) listening(id int, filter string) {
	p.t.Helper()
	p.listen(id, metaPlain, filter)
	p.acknowledged(float64(id), filter)
}

func (p *peer) cancel(id int) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
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
		p.t.Fatalf("not a listen's result: %s", m.line)
	}
}

func uris(of ...string) string {
	b, _ := json.Marshal(of)
	return fmt.Sprintf(`{"resourceSubscriptions":%s}`, b)
}
