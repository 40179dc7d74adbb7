package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/mcpscope"
)

// talker is a peer that numbers what it asks.
type talker struct {
	*joined.Peer
	t      *testing.T
	modern bool
	id     int
}

func talk(t *testing.T, s *Service, modern bool) *talker {
	t.Helper()
	c := &talker{Peer: joined.Dial(t, s.Connect, joined.Pipe), t: t, modern: modern}
	if !modern {
		c.Initialize("2025-11-25", `{}`)
	}
	return c
}

func (c *talker) ask(method, params string) int {
	c.t.Helper()
	c.id++
	if c.modern {
		params += "," + joined.Meta
	}
	c.Send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, c.id, method, params)
	return c.id
}

// subscribe waits until the server has agreed.
func (c *talker) subscribe(uris ...string) {
	c.t.Helper()
	if c.modern {
		list, _ := json.Marshal(uris)
		c.ask("subscriptions/listen", fmt.Sprintf(`"notifications":{"resourceSubscriptions":%s}`, list))
		for line := range c.Lines {
			if strings.Contains(line, "notifications/subscriptions/acknowledged") {
				for _, uri := range uris {
					if !strings.Contains(line, uri) {
						c.t.Fatalf("%s is not granted: %s", uri, line)
					}
				}
				return
			}
		}
	}
	for _, uri := range uris {
		if line := c.until(c.ask("resources/subscribe", fmt.Sprintf(`"uri":%q`, uri)), nil); strings.Contains(line, `"error"`) {
			c.t.Fatal(line)
		}
	}
}

// until is the answer to a request; what comes before it is shown to see.
func (c *talker) until(id int, see func(line string)) string {
	c.t.Helper()
	for line := range c.Lines {
		var m struct {
			ID     any
			Method string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.t.Fatalf("%v: %s", err, line)
		}
		if m.Method == "" && fmt.Sprint(m.ID) == fmt.Sprint(id) {
			return line
		}
		if see != nil {
			see(line)
		}
	}
	c.t.Fatal("the server closed the connection")
	return ""
}

// A project is taken away, by whichever way, while its files change all the time and clients of both eras subscribe to
// them. Once the client has an answer of the next generation it hears nothing of that project any more, not even when it is
// granted again; what stays is told on.
func TestNothingOfAProjectIsToldOnceItIsGone(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app/sub/f", "lib/f"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("1"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := []rootbound.Project{{ID: "app", Dir: dir + "/app", Rights: rootbound.ReadWrite}, {ID: "lib", Dir: dir + "/lib", Rights: rootbound.ReadWrite}}
	s, err := New(Options{Version: "test", Tools: mcpfs.Project, NoSlow: true, Projects: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{"app/sub/f", fmt.Sprintf("app/sub/new%d", n%50), "lib/f"} {
				_ = os.WriteFile(filepath.Join(dir, name), fmt.Append(nil, n), 0o644)
			}
		}
	})
	defer func() { close(stop); writing.Wait() }()

	reload := func(change func(p *rootbound.Project) (keep bool)) func() error {
		return func() error {
			ps := slices.Clone(all)
			keep := change(&ps[0])
			if !keep {
				ps = ps[1:]
			}
			return s.Reload(ps)
		}
	}
	back := func() error { return s.Reload(all) }
	ways := map[string][2]func() error{
		"use":     {func() error { _, err := s.Use([]rootbound.RootID{"lib"}); return err }, func() error { _, err := s.Use(nil); return err }},
		"removed": {reload(func(*rootbound.Project) bool { return false }), back},
		"rights":  {reload(func(p *rootbound.Project) bool { p.Rights = rootbound.Create; return true }), back},
		"denied":  {reload(func(p *rootbound.Project) bool { p.Deny = []string{"**"}; return true }), back},
		"revoked": {func() error { s.scope.Revoke(mcpscope.Who{}, "app"); return nil }, func() error { s.scope.Unrevoke(mcpscope.Who{}, "app"); return nil }},
	}
	rounds := 1
	if os.Getenv("RB_LONG") != "" {
		rounds = 20
	}
	for name, way := range ways {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, modern %v", name, modern), func(t *testing.T) {
				c := talk(t, s, modern)
				for range rounds {
					const app, lib = "rootbound://app/sub", "rootbound://lib/"
					c.subscribe(app, lib)
					before, after := 0, 0
					call := func(see func(string)) string {
						return c.until(c.ask("tools/call", `"name":"read_text_file","arguments":{"project_id":"lib","relative_path":"f"}`), see)
					}
					for before == 0 {
						call(func(line string) { before += strings.Count(line, app) })
					}
					if err := way[0](); err != nil {
						t.Fatal(err)
					}
					call(nil)
					gone := func(line string) {
						if strings.Contains(line, app) {
							t.Fatalf("told of what is gone: %s", line)
						}
						after += strings.Count(line, lib)
					}
					for after < 2 {
						call(gone)
					}
					if err := way[1](); err != nil {
						t.Fatal(err)
					}
					for after < 4 {
						call(gone)
					}
				}
			})
		}
	}
}
