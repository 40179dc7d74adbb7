package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpfs"
)

// ledger counts what it is asked to keep, and keeps nothing.
type ledger struct {
	mu sync.Mutex
	n  int
}

func (l *ledger) Keep(context.Context, guard.Change) (guard.Kept, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return nil, nil
}

// TestTune: each setting that is said to change while the server runs does, for a session that is there already.
func TestTune(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "long"), []byte(strings.Repeat("x", 4000)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "d", "e", "f"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := rootbound.Project{ID: "q", Dir: t.TempDir(), Rights: rootbound.ReadOnly}
	if err := os.WriteFile(filepath.Join(other.Dir, "long"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Version: "test", Transport: "memory", Mode: authority.Ignore, NoSlow: true, Tools: mcpfs.Classic,
		Projects: []rootbound.Project{{ID: "p", Dir: dir, Rights: rootbound.Full}, other}}
	s, session := inSession(t, o)
	call := func(tool string, arguments map[string]any) string {
		t.Helper()
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].(*mcp.TextContent).Text
	}
	tune := func(change func(*Options)) {
		t.Helper()
		next := o
		change(&next)
		if err := s.Tune(next); err != nil {
			t.Fatal(err)
		}
	}
	long := map[string]any{"path": filepath.Join(dir, "long")}
	tree := func() string {
		return call("delete_file", map[string]any{"path": filepath.Join(dir, "d"), "recursive": true})
	}
	resource := func() error {
		_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "rootbound://p/long"})
		return err
	}

	if got := call("read_text_file", long); len(got) < 4000 {
		t.Fatal(got)
	}
	if err := resource(); err != nil {
		t.Fatal(err)
	}
	tune(func(o *Options) { o.Limits.Text = 100 })
	if got := call("read_text_file", long); len(got) > 1000 {
		t.Errorf("limits.text: %d bytes", len(got))
	}
	if err := resource(); err == nil {
		t.Error("limits.text does not bind resources")
	}
	if got := call("scope_status", nil); !strings.Contains(got, "at most 100 bytes of text") {
		t.Errorf("the status tells other limits: %s", got)
	}
	tune(func(o *Options) { o.TreeLimit = 1 })
	if got := tree(); !strings.Contains(got, string(rootbound.LimitReached)) {
		t.Errorf("limits.trees: %s", got)
	}
	one := map[string]any{"path": "d"} // of one project only
	if got := call("list_directory", one); !strings.Contains(got, "e") {
		t.Error(got)
	}
	tune(func(o *Options) { o.Relative = "explicit" })
	if got := call("list_directory", one); !strings.Contains(got, string(rootbound.PathAmbiguous)) {
		t.Errorf("relative: %s", got)
	}
	tune(func(o *Options) { o.Relative = "first" })
	if got := call("read_text_file", map[string]any{"path": "long"}); !strings.HasPrefix(got, "xxx") {
		t.Errorf("relative: %s", got)
	}
	kept := &ledger{}
	tune(func(o *Options) { o.Keep = kept })
	call("write_file", map[string]any{"path": filepath.Join(dir, "long"), "content": "short"})
	tune(func(o *Options) {})
	call("write_file", map[string]any{"path": filepath.Join(dir, "long"), "content": "shorter"})
	if kept.n != 1 {
		t.Errorf("%d changes were kept, of two between which it was turned off", kept.n)
	}

	// What roots mean: this client declares none.
	tune(func(o *Options) { o.Mode = authority.Require })
	if got := call("read_text_file", long); !strings.Contains(got, string(rootbound.NoScope)) {
		t.Errorf("roots.mode: %s", got)
	}
	tune(func(o *Options) { o.Mode = authority.Narrow })
	if got := call("read_text_file", long); !strings.HasPrefix(got, "shorter") {
		t.Errorf("roots.mode: %s", got)
	}
	client1 := o
	client1.Mode = authority.Client
	if err := s.Tune(client1); rootbound.ReasonOf(err) != rootbound.ArgumentInvalid || s.means() != authority.Narrow {
		t.Errorf("the client became the one who grants: %v", err)
	}
}

// TestTuneSubscriptions: another bound holds for what is subscribed to next.
func TestTuneSubscriptions(t *testing.T) {
	p := rootbound.Project{ID: "p", Dir: t.TempDir(), Rights: rootbound.ReadOnly}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(p.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Version: "test", Transport: "memory", Projects: []rootbound.Project{p}, FSTimeout: time.Minute}
	s, session := inSession(t, o)
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "rootbound://p/a"}); err != nil {
		t.Fatal(err)
	}
	o.Subscriptions = 1
	if err := s.Tune(o); err != nil {
		t.Fatal(err)
	}
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "rootbound://p/b"}); err == nil {
		t.Error("a second subscription where one is allowed")
	}
}

// inSession is a server with a client that declares no roots.
func inSession(t *testing.T, o Options) (*Service, *mcp.ClientSession) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	return s, joined.Session(t, client, "2025-06-18", s.Connect)
}
