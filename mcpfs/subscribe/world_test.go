package subscribe

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/resource"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// patience is how long a test waits for what must come. It is not a measure of anything.
const patience = 30 * time.Second

// world is a server with a hub over a small tree: projects app and lib, and a directory that is neither. What changes is
// said by the test.
type world struct {
	t       *testing.T
	dir     string
	ceiling *authority.Ceiling
	scope   *mcpscope.Scope
	hub     *Hub
	srv     *mcp.Server

	mu      sync.Mutex
	watches []*spoken
	full    bool // no more watches
	unable  bool // to renew
	onWatch func()

	afterDrop func(next *authority.Snapshot) // set before anybody connects
}

// spoken is a watch that tells what the test says.
type spoken struct {
	w       *world
	at      string // project/path
	told    func(string, bool)
	renewed int
	closed  bool
}

// Renew implements Watch.
func (s *spoken) Renew(*guard.Target) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.renewed++
	if s.w.unable {
		return &rootbound.Error{Reason: rootbound.IOError}
	}
	return nil
}

// Close implements Watch.
func (s *spoken) Close() {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.closed {
		s.w.t.Errorf("the watch of %s is closed twice", s.at)
	}
	s.closed = true
}

func (w *world) watch(_ context.Context, t *guard.Target, _ bool, told func(string, bool)) (Watch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.onWatch != nil {
		w.onWatch()
	}
	if w.full {
		return nil, &rootbound.Error{Reason: rootbound.LimitReached, Detail: "no more watches"}
	}
	s := &spoken{w: w, at: path.Join(string(t.Project().ID), t.Path()), told: told}
	w.watches = append(w.watches, s)
	return s, nil
}

// say tells all open watches of an object that rel changed, and how many there were.
func (w *world) say(at, rel string, ended bool) int {
	w.mu.Lock()
	var all []*spoken
	for _, s := range w.watches {
		if s.at == at && !s.closed {
			all = append(all, s)
		}
	}
	w.mu.Unlock()
	for _, s := range all {
		s.told(rel, ended)
	}
	return len(all)
}

// open tells what is watched.
func (w *world) open() (at []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.watches {
		if !s.closed {
			at = append(at, s.at)
		}
	}
	slices.Sort(at)
	return at
}

func newWorld(t *testing.T, so mcpscope.Options, ho Options) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir}
	for name, text := range map[string]string{
		"app/a.txt": "a", "app/sub/b.txt": "b", "app/sub/deep/c.txt": "c", "app/.env": "secret", "app/two words.txt": "x",
		"lib/l.txt": "l", "elsewhere/e.txt": "e",
	} {
		w.write(name, text)
	}
	var ps []rootbound.Project
	for _, id := range []string{"app", "lib"} {
		ps = append(ps, rootbound.Project{ID: rootbound.RootID(id), Dir: filepath.Join(dir, id), Rights: rootbound.ReadWrite})
	}
	if w.ceiling, err = authority.Open(ps, authority.CeilingOptions{Homes: []string{"/nowhere"}}); err != nil {
		t.Fatal(err)
	}
	if ho.Watch == nil {
		ho.Watch = w.watch
	}
	w.hub = New(ho)
	so.Mark, so.Transport = w.hub.Mark, "memory"
	so.Drop = func(old, next *authority.Snapshot) {
		w.hub.Drop(old, next)
		if w.afterDrop != nil {
			w.afterDrop(next)
		}
	}
	w.scope = mcpscope.New(w.ceiling, so)
	w.srv = mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{
		Resources: &mcp.ResourceCapabilities{Subscribe: true, ListChanged: true}, Tools: &mcp.ToolCapabilities{ListChanged: true},
	}})
	g := guard.New(guard.Options{NoSlow: true})
	w.srv.AddTool(&mcp.Tool{Name: "read", Description: "read", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var a struct{ Project, Path string }
			if err := json.Unmarshal(req.Params.Arguments, &a); err != nil {
				return nil, err
			}
			err := g.Do(ctx, guard.Request{Op: rootbound.OpRead, Root: a.Project, Path: a.Path, Contained: true}, func(context.Context, *guard.Target) error { return nil })
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "read"}}}, err
		})
	w.hub.Add(w.srv, g, w.scope)
	w.srv.AddReceivingMiddleware(w.scope.Middleware())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := w.hub.Close(ctx); err != nil {
			t.Errorf("closing the hub: %v", err)
		}
		if err := w.scope.Close(ctx); err != nil {
			t.Errorf("closing the scope: %v", err)
		}
		w.ceiling.Close()
		if at := w.open(); len(at) > 0 {
			t.Errorf("still watched after the end: %v", at)
		}
		if streams, subs := w.hub.Count(); streams+subs > 0 {
			t.Errorf("left after the end: %d streams, %d subscriptions", streams, subs)
		}
	})
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	name = filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(rel string) {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.dir, rel)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(to, at string) {
	w.t.Helper()
	if err := os.Symlink(filepath.Join(w.dir, to), filepath.Join(w.dir, at)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) changeTools() {
	w.srv.AddTool(&mcp.Tool{Name: "more", Description: "more", InputSchema: map[string]any{"type": "object"}}, nil)
}

// eventually waits for a state that some goroutine brings about.
func (w *world) eventually(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("it never came to this: %s", what)
		}
	}
}

// suspended tells how many authorities are.
func (w *world) suspended() (n int) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for _, g := range w.hub.groups {
		if g.waits() {
			n++
		}
	}
	return n
}

func (w *world) watched(at ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("watched is %v", at), func() bool { return slices.Equal(w.open(), at) })
}

func (w *world) uri(rel string) string { return "file://" + filepath.Join(w.dir, rel) }

func (w *world) roots(rel ...string) string {
	type root struct {
		URI string `json:"uri"`
	}
	list := []root{}
	for _, r := range rel {
		list = append(list, root{w.uri(r)})
	}
	b, _ := json.Marshal(map[string]any{"roots": list})
	return string(b)
}

func itoa(n int) string { return fmt.Sprint(n) }

func of(project, path string) string { return resource.URI(rootbound.RootID(project), path) }

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
