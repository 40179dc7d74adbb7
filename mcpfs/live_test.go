package mcpfs_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/internal/serve"
)

// live is a server with real directories and a real client, in this process.
type live struct {
	t       *testing.T
	dir     string // canonical directory of the first project
	session *mcp.ClientSession
	client  *mcp.Client
	records *decision.Memory
	connect joined.Connect // one more client
}

// project makes a directory of its own and grants it.
func project(t *testing.T, id string, rights rootbound.Rights) rootbound.Project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return rootbound.Project{ID: rootbound.RootID(id), Dir: dir, Rights: rights}
}

type clientOptions struct {
	roots    []string // URIs; nil: the capability is not declared
	revision string   // protocol revision; empty: the newest
	progress func(*mcp.ProgressNotificationParams)
}

func start(t *testing.T, o serve.Options, c clientOptions) *live {
	t.Helper()
	l := &live{t: t, records: decision.NewMemory(10_000)}
	if o.Sink == nil {
		o.Sink = l.records
	}
	if o.Version == "" {
		o.Version = "test"
	}
	if len(o.Projects) > 0 {
		l.dir = o.Projects[0].Dir
	}
	o.Transport, o.NoSlow = "memory", true
	service, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	co := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if c.progress != nil {
		co.ProgressNotificationHandler = func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.progress(r.Params) }
	}
	if c.roots != nil {
		co.Capabilities.RootsV2 = &mcp.RootCapabilities{ListChanged: true}
	}
	l.client = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, co)
	for _, uri := range c.roots {
		l.client.AddRoots(&mcp.Root{URI: uri})
	}
	l.connect = service.Connect
	l.session = joined.Session(t, l.client, c.revision, service.Connect)
	t.Cleanup(func() {
		l.session.Close()
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		if err := service.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// one is a server over one project with every right.
func one(t *testing.T) *live {
	t.Helper()
	return start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.Full)}}, clientOptions{})
}

type args = map[string]any

func (l *live) call(tool string, a args) *mcp.CallToolResult {
	l.t.Helper()
	res, err := l.session.CallTool(l.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		l.t.Fatalf("%s %v: %v", tool, a, err)
	}
	return res
}

// ok is a call that must succeed; its text and structuredContent.
func (l *live) ok(tool string, a args) (string, map[string]any) {
	l.t.Helper()
	res := l.call(tool, a)
	if res.IsError {
		l.t.Fatalf("%s %v refused: %s", tool, a, textOf(res))
	}
	s, _ := res.StructuredContent.(map[string]any)
	if s == nil {
		l.t.Fatalf("%s: no structuredContent", tool)
	}
	return textOf(res), s
}

// no is a call that must be refused; its text and error.
func (l *live) no(tool string, a args) (string, map[string]any) {
	l.t.Helper()
	res := l.call(tool, a)
	if !res.IsError {
		l.t.Fatalf("%s %v was allowed: %s", tool, a, textOf(res))
	}
	s, _ := res.StructuredContent.(map[string]any)
	e, _ := s["error"].(map[string]any)
	if e == nil {
		l.t.Fatalf("%s: refused without structuredContent.error: %v", tool, res.StructuredContent)
	}
	return textOf(res), e
}

func textOf(res *mcp.CallToolResult) string {
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text
		}
	}
	return ""
}

func (l *live) path(rel string) string { return filepath.Join(l.dir, rel) }

func (l *live) file(rel, content string) {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(l.path(rel)), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(l.path(rel), []byte(content), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func (l *live) read(rel string) string {
	l.t.Helper()
	b, err := os.ReadFile(l.path(rel))
	if err != nil {
		l.t.Fatal(err)
	}
	return string(b)
}

func (l *live) link(rel, to string) {
	l.t.Helper()
	if err := os.Symlink(to, l.path(rel)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *live) mkdir(rel string) {
	l.t.Helper()
	if err := os.MkdirAll(l.path(rel), 0o755); err != nil {
		l.t.Fatal(err)
	}
}

func uri(dir string) string { return "file://" + strings.ReplaceAll(dir, " ", "%20") }
