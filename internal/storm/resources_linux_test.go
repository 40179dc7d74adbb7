package storm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

// listener is a client that speaks lines, asks for resources without waiting for what comes, and looks at every line that
// comes for what is outside.
type listener struct {
	t *testing.T
	w *World
	*joined.Peer
	modern  bool
	id      atomic.Int64
	open    chan struct{} // requests without an answer
	told    func()        // after each line that comes
	updates atomic.Int64
	answers atomic.Int64
	inside  atomic.Int64 // answers with what is inside
	refused atomic.Int64
	leaks   atomic.Int64
}

func listening(t *testing.T, w *World, s *serve.Service, modern bool, told func()) *listener {
	t.Helper()
	l := &listener{t: t, w: w, Peer: joined.Dial(t, s.Connect, joined.Pipe), modern: modern, open: make(chan struct{}, 32), told: told}
	if !modern {
		l.Initialize("2025-11-25", `{}`)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for line := range l.Lines {
			l.heard(line)
			l.told()
		}
	})
	t.Cleanup(func() { l.In.Close(); _ = l.Session.Close(); reading.Wait() })
	return l
}

// send may fail when the storm is over.
func (l *listener) send(line string) { _, _ = io.WriteString(l.In, line+"\n") }

func (l *listener) ask(method, params string) (id int64) {
	id = l.id.Add(1)
	meta := ""
	if l.modern {
		meta = "," + joined.Meta
	}
	l.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`, id, method, params, meta))
	return id
}

func (l *listener) heard(line string) {
	if strings.Contains(line, l.w.Outside) || strings.Contains(line, l.w.Dir) {
		if l.leaks.Add(1) == 1 {
			l.t.Errorf("told of what is outside: %.500s", line)
		}
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Error  json.RawMessage
	}
	switch err := json.Unmarshal([]byte(line), &m); {
	case err != nil:
		l.t.Errorf("%v: %.200s", err, line)
	case m.Method == "notifications/resources/updated":
		l.updates.Add(1)
	case m.ID != nil && m.Method == "":
		l.answers.Add(1)
		if m.Error != nil {
			l.refused.Add(1)
		}
		if strings.Contains(line, l.w.Inside) {
			l.inside.Add(1)
		}
		l.done()
	}
}

func (l *listener) done() {
	select {
	case <-l.open:
	default:
	}
}

// TestResourceStorm: while directories, files, links and the root itself are exchanged with what is outside, and what is
// outside changes all the time, clients of both eras read, complete, subscribe and listen; nothing that the server says
// has a name or a byte of the outside in it. Who reads by paths meanwhile gets such bytes.
func TestResourceStorm(t *testing.T) {
	t.Run("Below", func(t *testing.T) { resourceStorm(t, false, 5) })
	t.Run("Root", func(t *testing.T) { resourceStorm(t, true, 0) }) // which ends what is subscribed to
}

func resourceStorm(t *testing.T, swapRoot bool, updates int64) {
	w, err := NewWorld(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Version: "storm", Tools: mcpfs.Project, NoSlow: true, Projects: []rootbound.Project{
		{ID: "p", Dir: w.Root, Rights: rootbound.ReadOnly}, {ID: "q", Dir: w.Root + "/a/b", Rights: rootbound.ReadOnly},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	a, err := newAttackers(w, swapRoot)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	var outside []*os.Root // like the attackers' own, opened before a name leads elsewhere
	for _, p := range []string{"out", "out/d", "out/d/sub", "out/a/b/c", "fake", "fake/d", "fake/a/b/c"} {
		r, err := os.OpenRoot(filepath.Join(w.Dir, p))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		outside = append(outside, r)
	}
	inside, err := os.OpenRoot(w.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	ctx, cancel := context.WithTimeout(context.Background(), searchTime(t)+patience)
	defer cancel()
	var attacking, asking sync.WaitGroup
	for _, set := range a.sets {
		attacking.Go(func() { a.run(ctx, set) })
	}
	attacking.Go(func() { // what changes outside, and inside
		for n := 0; ctx.Err() == nil; n++ {
			for _, r := range outside {
				name := fmt.Sprintf("%s-%d", w.Outside, n%3)
				_ = r.Mkdir(name, 0o755)
				_ = r.WriteFile(name+"/"+w.Outside, []byte(w.Outside), 0o644)
				_ = r.WriteFile("f", []byte("tok "+w.Outside), 0o644)
				_ = r.RemoveAll(name)
			}
			for _, name := range []string{"alive", "d/f", "a/b/c/d/e/f", fmt.Sprintf("d/new%d", n%5), "x"} {
				if st, err := inside.Lstat(filepath.Dir(name)); err == nil && st.IsDir() {
					_ = inside.WriteFile(name, []byte("tok "+w.Inside), 0o644)
				}
			}
		}
	})
	var naive atomic.Int64
	attacking.Go(func() {
		for ctx.Err() == nil {
			for _, name := range []string{"d/f", "x", "y", "l/f", "a/b/c/d/e/f"} {
				if b, _ := os.ReadFile(filepath.Join(w.Root, name)); strings.Contains(string(b), w.Outside) {
					naive.Add(1)
				}
			}
		}
	})
	uris := []string{"rootbound://p/", "rootbound://p/d", "rootbound://p/d/f", "rootbound://p/x", "rootbound://p/a/b/c", "rootbound://p/l/f", "rootbound://p/abs/sub/inner",
		"rootbound://p/evil", "rootbound://p/evil/f", "rootbound://p/xevil", "rootbound://p/m/f", "rootbound://p/back/f", "rootbound://q/", "rootbound://q/c/d/e/f", "rootbound://q/evil",
		"rootbound://p/y", "rootbound://p/alive"}
	dirs := []string{"", "d/", "l/", "abs/", "evil/", "a/b/c/", "m/", "back/"}
	heard := make(chan struct{}, 1)
	told := func() {
		select {
		case heard <- struct{}{}:
		default:
		}
	}
	clients := []*listener{listening(t, w, s, false, told), listening(t, w, s, true, told)}
	least := time.After(searchTime(t))
	for _, l := range clients {
		asking.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				select {
				case l.open <- struct{}{}:
				case <-ctx.Done():
					return
				}
				uri := uris[n%len(uris)]
				switch n % 8 {
				case 0, 1, 2:
					l.ask("resources/read", fmt.Sprintf(`"uri":%q`, uri))
				case 3:
					l.ask("completion/complete", fmt.Sprintf(`"ref":{"type":"ref/resource","uri":"rootbound://{project}/{+path}"},"argument":{"name":"path","value":%q},"context":{"arguments":{"project":"p"}}`, dirs[n/8%len(dirs)]))
				case 4:
					l.ask("resources/list", `"cursor":""`)
				default:
					if !l.modern {
						method := "resources/subscribe"
						if n%3 == 0 {
							method = "resources/unsubscribe"
						}
						l.ask(method, fmt.Sprintf(`"uri":%q`, uri))
						continue
					}
					id := l.ask("subscriptions/listen", fmt.Sprintf(`"notifications":{"resourceSubscriptions":[%q,%q],"resourcesListChanged":true}`, uri, uris[(n/8)%len(uris)]))
					if id > 40 {
						l.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id-24))
					}
					l.done() // a listen stays
				}
			}
		})
	}
	enough := func() bool {
		for _, l := range clients {
			if l.updates.Load() < updates || l.inside.Load() < 10 || l.refused.Load() < 10 {
				return false
			}
		}
		return a.swaps.Load() >= 100 && naive.Load() > 0
	}
	for long := false; ctx.Err() == nil && !(long && enough()); {
		select {
		case <-least:
			long = true
		case <-heard:
		case <-ctx.Done():
		}
	}
	cancel()
	asking.Wait()
	attacking.Wait()
	for _, l := range clients {
		t.Logf("modern %v: %d answers, %d with what is inside, %d refused, %d updates, %d leaks; %d swaps", l.modern, l.answers.Load(), l.inside.Load(), l.refused.Load(),
			l.updates.Load(), l.leaks.Load(), a.swaps.Load())
	}
	t.Logf("by paths: %d times", naive.Load())
	if !enough() {
		t.Error("no storm")
	}
}
