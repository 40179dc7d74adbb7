package resource_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs/resource"
)

const modern = "2026-07-28"

// live is a server with real directories and a real client, in this process.
type live struct {
	t       *testing.T
	service *serve.Service
	client  *mcp.Client
	session *mcp.ClientSession
	records *decision.Memory
	wire    *lines
}

// lines is what went over the wire.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// sent is what the server wrote.
func (l *lines) sent() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for line := range strings.Lines(l.b.String()) {
		if text, ok := strings.CutPrefix(line, "write: "); ok {
			b.WriteString(text)
		}
	}
	return b.String()
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

func file(t *testing.T, dir, rel, content string) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// start serves one client of a revision; roots are directories that it declares, nil: it does not declare any.
func start(t *testing.T, o serve.Options, revision string, roots []string) *live {
	t.Helper()
	l := &live{t: t, records: decision.NewMemory(100_000), wire: &lines{}}
	o.Version, o.Transport, o.NoSlow, o.Sink = "test", "memory", true, l.records
	var err error
	if l.service, err = serve.New(o); err != nil {
		t.Fatal(err)
	}
	co := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if roots != nil {
		co.Capabilities.RootsV2 = &mcp.RootCapabilities{ListChanged: true}
	}
	l.client = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, co)
	for _, dir := range roots {
		l.client.AddRoots(&mcp.Root{URI: "file://" + dir})
	}
	l.session = joined.Session(t, l.client, revision, func(ctx context.Context, over mcp.Transport) (*mcp.ServerSession, error) {
		return l.service.Connect(ctx, &mcp.LoggingTransport{Transport: over, Writer: l.wire})
	})
	t.Cleanup(func() {
		l.session.Close()
		ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
		defer stop()
		if err := l.service.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// read is a resources/read that must succeed.
func (l *live) read(uri string) *mcp.ResourceContents {
	l.t.Helper()
	res, err := l.session.ReadResource(l.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		l.t.Fatalf("%s: %v", uri, err)
	}
	if len(res.Contents) != 1 || res.Contents[0].URI != uri {
		l.t.Fatalf("%s: %+v", uri, res.Contents)
	}
	return res.Contents[0]
}

// no is a resources/read that must fail; its error.
func (l *live) no(uri string) *jsonrpc.Error {
	l.t.Helper()
	res, err := l.session.ReadResource(l.t.Context(), &mcp.ReadResourceParams{URI: uri})
	var we *jsonrpc.Error
	if err == nil || !errors.As(err, &we) {
		l.t.Fatalf("%s: %+v, %v", uri, res, err)
	}
	return we
}

func (l *live) list() (uris []string) {
	l.t.Helper()
	cursor := ""
	for {
		res, err := l.session.ListResources(l.t.Context(), &mcp.ListResourcesParams{Cursor: cursor})
		if err != nil {
			l.t.Fatal(err)
		}
		for _, r := range res.Resources {
			uris = append(uris, r.URI)
		}
		if cursor = res.NextCursor; cursor == "" {
			return uris
		}
	}
}

// told reports whether the list of resources says that no root is in force.
func (l *live) told() bool {
	l.t.Helper()
	res, err := l.session.ListResources(l.t.Context(), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	said, _ := res.Meta["rootbound/scope"].(string)
	return strings.Contains(said, "list_projects")
}

// complete completes a variable of the template; project is what the client has filled in before.
func (l *live) complete(variable, value, project string) mcp.CompletionResultDetails {
	l.t.Helper()
	p := &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/resource", URI: resource.Template}, Argument: mcp.CompleteParamsArgument{Name: variable, Value: value}}
	if project != "" {
		p.Context = &mcp.CompleteContext{Arguments: map[string]string{"project": project}}
	}
	res, err := l.session.Complete(l.t.Context(), p)
	if err != nil {
		l.t.Fatalf("%s %q: %v", variable, value, err)
	}
	return res.Completion
}

// scope makes the authority current, as any tool call does.
func (l *live) scope() {
	l.t.Helper()
	if _, err := l.session.CallTool(l.t.Context(), &mcp.CallToolParams{Name: "scope_status"}); err != nil {
		l.t.Fatal(err)
	}
}

type entry struct {
	Name, Type, URI string
	Size            *int64
	LeadsTo         string `json:"leads_to"`
}

type listing struct {
	Project, Path string
	Entries       []entry
	Truncated     bool
	Next          *struct {
		Tool      string
		Arguments map[string]any
	}
}

func (l *live) directory(uri string) (out listing) {
	l.t.Helper()
	c := l.read(uri)
	if err := json.Unmarshal([]byte(c.Text), &out); err != nil || c.MIMEType != "application/json" || c.Blob != nil {
		l.t.Fatalf("%s: %v, %+v", uri, err, c)
	}
	return out
}

// decided are the records of decisions since n.
func (l *live) decided(n int) (out []decision.Record) {
	for _, r := range l.records.Records()[n:] {
		if r.Phase == decision.Decided || r.Phase == decision.Refused {
			out = append(out, r)
		}
	}
	return out
}

// await waits until something that another goroutine does has been done.
func (l *live) await(done func() bool) {
	l.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(end) {
			l.t.Fatal("it does not come")
		}
	}
}
