package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpfs"
)

// listener is a client of the SDK that hears what changes.
type listener struct {
	t     *testing.T
	cs    *mcp.ClientSession
	heard chan string
}

func listen(t *testing.T, s *Service, version string) *listener {
	t.Helper()
	l := &listener{t: t, heard: make(chan string, 256)}
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities:               &mcp.ClientCapabilities{},
		ResourceUpdatedHandler:     func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { l.heard <- r.Params.URI },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { l.heard <- "list" },
	})
	l.cs = joined.Session(t, c, version, s.Connect)
	t.Cleanup(func() { l.cs.Close() })
	return l
}

func (l *listener) subscribe(uri string) {
	l.t.Helper()
	if err := l.cs.Subscribe(context.Background(), &mcp.SubscribeParams{URI: uri}); err != nil {
		l.t.Fatal(err)
	}
}

// until waits for what must be told. What was told before it may be told again, but never what has a word of never in it.
func (l *listener) until(want string, never ...string) {
	l.t.Helper()
	l.either(want, "", never...)
}

// either takes after for it too: what a watch hears before it goes on after a switch is told as a change of the whole.
func (l *listener) either(want, after string, never ...string) {
	l.t.Helper()
	end := time.NewTimer(30 * time.Second)
	defer end.Stop()
	for {
		select {
		case got := <-l.heard:
			for _, word := range never {
				if strings.Contains(got, word) {
					l.t.Fatalf("told %q before %q", got, want)
				}
			}
			if got == want || after != "" && got == after {
				return
			}
		case <-end.C:
			l.t.Fatalf("%q was not told", want)
		}
	}
}

// Files that change, as clients of both eras hear of it through the whole server: written, replaced, made, removed, out of
// sight, after a switch and back.
func TestSubscriptionsToFiles(t *testing.T) {
	for _, version := range []string{"2025-11-25", ""} {
		t.Run("version "+version, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			write := func(name, text string) {
				t.Helper()
				rig.Write(t, filepath.Join(dir, name), text)
			}
			for _, name := range []string{"app/f", "app/tree/x", "app/.env", "lib/l", "app/other"} {
				write(name, "1")
			}
			s, err := New(Options{Version: "test", Tools: mcpfs.Project, Projects: []rootbound.Project{
				{ID: "app", Dir: dir + "/app", Rights: rootbound.ReadWrite}, {ID: "lib", Dir: dir + "/lib", Rights: rootbound.ReadOnly},
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			const f, tree, lib = "rootbound://app/f", "rootbound://app/tree", "rootbound://lib/"
			l := listen(t, s, version)
			for _, uri := range []string{f, tree, lib} {
				l.subscribe(uri)
			}
			streams := 1
			if version == "" {
				streams = 4 // a listen of each, and one of the lists
			}
			waitFor(t, func() bool { at, n := s.hub.Count(); return at == streams && n == 3 })
			const hidden, other = ".env", "rootbound://app/other"
			write("app/other", "2") // nobody asked
			write("app/.env", "2")
			write("app/f", "2")
			l.until(f, hidden, other)
			write("app/tree/deep/er/y", "1")
			l.until(tree+"/deep/er/y", hidden, other)
			write("app/new", "3")
			if err := os.Rename(dir+"/app/new", dir+"/app/f"); err != nil { // as editors write
				t.Fatal(err)
			}
			l.until(f, hidden, other)
			write("app/tree/.env", "1") // out of sight
			write("lib/l", "2")
			l.until("rootbound://lib/l", hidden, other)

			if _, err := s.Use([]rootbound.RootID{"lib"}); err != nil {
				t.Fatal(err)
			}
			l.until("list", hidden, other)
			const app = "rootbound://app"
			if _, n := s.hub.Count(); n != 1 {
				t.Errorf("%d subscriptions after the switch", n)
			}
			write("app/f", "4")
			write("app/tree/x", "4")
			write("lib/second", "1")
			l.either("rootbound://lib/second", lib, app)
			if _, err := s.Use(nil); err != nil {
				t.Fatal(err)
			}
			l.until("list", app)
			write("app/f", "5")
			write("lib/third", "1")
			l.either("rootbound://lib/third", lib, app)
			l.cs.Close()
			waitFor(t, func() bool { _, n := s.hub.Count(); return n == 0 })
		})
	}
}

func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came to this")
		}
	}
}
