package subscribe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpfs/resource"
	"github.com/rootbound/rootbound/mcpscope"
)

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
	stirs   chan struct{} // closed at the next watch or its end, mark or drop
	watches []*spoken
	full    bool // no more watches
	unable  bool // to renew
	onWatch func()
	onRenew func()

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
	if s.w.onRenew != nil {
		s.w.onRenew()
	}
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
	s.w.stir()
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
	w.stir()
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
	w := &world{t: t, dir: dir, stirs: make(chan struct{})}
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
	so.Transport = "memory"
	so.Mark = func(id string, ended rootbound.Generation) {
		w.hub.Mark(id, ended)
		go w.stirred() // a mark may come under w.mu
	}
	so.Drop = func(old, next *authority.Snapshot) {
		w.hub.Drop(old, next)
		go w.stirred()
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
		ctx, cancel := context.WithTimeout(context.Background(), joined.Patience)
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
		if streams, subs := w.hub.Count(); streams+subs+len(w.hub.sessions)+len(w.hub.named) > 0 {
			t.Errorf("left after the end: %d streams, %d subscriptions, %d sessions, %d ids", streams, subs, len(w.hub.sessions), len(w.hub.named))
		}
	})
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	rig.Write(w.t, filepath.Join(w.dir, name), text)
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

// stir wakes who waits for what is watched or suspended. w.mu is held.
func (w *world) stir() {
	close(w.stirs)
	w.stirs = make(chan struct{})
}

func (w *world) stirred() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stir()
}

// when waits for a state of what is watched or suspended.
func (w *world) when(what string, is func() bool) {
	w.t.Helper()
	late := time.NewTimer(joined.Patience)
	defer late.Stop()
	for {
		w.mu.Lock()
		next := w.stirs
		w.mu.Unlock()
		if is() {
			return
		}
		select {
		case <-next:
		case <-late.C:
			w.t.Fatalf("it never came to this: %s", what)
		}
	}
}

// eventually waits for a state that there is no event of.
func (w *world) eventually(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(joined.Patience); !is(); time.Sleep(time.Millisecond) {
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
	w.when(fmt.Sprintf("watched is %v", at), func() bool { return slices.Equal(w.open(), at) })
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

// await waits for something that is closed.
func await(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(joined.Patience):
		t.Fatal("it never came to this")
	}
}
