package mcpscope

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
)

// Silence is no answer: after five seconds the call is refused, and other calls went on meanwhile.
func TestSilenceIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{}, "app")
		p := w.legacy(true)
		begun := time.Now()
		p.call(1, "scope")
		ask := p.expectAsk()
		p.Send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		if m := p.Recv(); string(m.ID) != "2" {
			t.Errorf("another call waits: %s", m.Line)
		}
		for { // the end of the question and the reply, in any order
			m := p.Recv()
			if m.Method == "notifications/cancelled" {
				continue
			}
			if r := replyOf(t, m); r.StructuredContent.Error.Reason != rootbound.AuthorityUnavailable || !r.StructuredContent.Error.Retryable {
				t.Errorf("got %s", m.Line)
			}
			break
		}
		if d := time.Since(begun); d != 5*time.Second {
			t.Errorf("after %v", d)
		}
		p.answer(ask, w.roots("app")) // too late
		p.call(3, "scope")
		for {
			m := p.Recv()
			if m.Method == "notifications/cancelled" {
				continue
			}
			if m.Method != "roots/list" || string(m.ID) == ask {
				t.Fatalf("the late answer was taken: %s", m.Line)
			}
			p.answer(string(m.ID), w.roots("app/sub"))
			break
		}
		p.expect(3, "roots app/sub")
		p.In.Close()
	})
}

// A client that goes away while it is asked, or while its call runs, leaves nothing behind.
func TestClientGone(t *testing.T) {
	w := open(t, Options{}, "app")
	p := w.legacy(true)
	p.call(1, "scope")
	p.expectAsk()
	p.In.Close()
	q := w.legacy(true)
	q.call(1, "wait")
	q.answer(q.expectAsk(), w.roots("app"))
	w.await("wait")
	q.In.Close()
	p.Ended()
	q.Ended()
	w.scope.watchers.Wait()
	if all := w.scope.All(); len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
	w.scope.mu.Lock()
	defer w.scope.mu.Unlock()
	if len(w.scope.calls) != 0 {
		t.Errorf("calls left: %v", w.scope.calls)
	}
}

// An answer of absurd size is refused like any other that is too long.
func TestManyRoots(t *testing.T) {
	w := open(t, Options{}, "app")
	p := w.legacy(true)
	p.call(1, "scope")
	p.answer(p.expectAsk(), `{"roots":[`+strings.TrimSuffix(strings.Repeat(`{"uri":"file:///a"},`, 20000), ",")+`]}`)
	p.refused(1, rootbound.RootsMalformed)
}

// After Close nothing is served, nothing hangs.
func TestClosedScope(t *testing.T) {
	w := open(t, Options{}, "app")
	p, q := w.legacy(true), w.dial()
	p.call(1, "wait")
	p.answer(p.expectAsk(), w.roots("app"))
	w.await("wait")
	q.callModern(1, joined.Meta, "wait", "")
	w.await("wait")
	if err := w.scope.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := replyOf(t, q.Recv()); !r.IsError {
		t.Errorf("%+v", r)
	}
	q.callModern(2, joined.Meta, "scope", "")
	q.failed(2, -32603)
	p.Ended()
}

// Sessions of both eras side by side, with lists that change under them: each call sees one of its own client's lists, or
// is refused; never another's, never a mixture.
func TestSideBySide(t *testing.T) {
	w := open(t, Options{}, "app", "lib")
	lists := map[string]bool{"roots app": true, "roots lib": true}
	var all sync.WaitGroup
	for n, version := range []string{"2025-11-25", "2026-07-28", "2025-06-18", "2026-07-28"} {
		all.Go(func() {
			near, far := mcp.NewInMemoryTransports()
			if _, err := w.srv.Connect(context.Background(), near, nil); err != nil {
				t.Error(err)
				return
			}
			client := mcp.NewClient(&mcp.Implementation{Name: fmt.Sprint("client", n)}, nil)
			client.AddRoots(&mcp.Root{URI: w.uri("app")})
			cs, err := client.Connect(context.Background(), far, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Error(err)
				return
			}
			defer cs.Close()
			good := 0
			for i := range 40 {
				if i%5 == 4 {
					one, two := "app", "lib"
					if i%10 == 9 {
						one, two = two, one
					}
					client.RemoveRoots(w.uri(one))
					client.AddRoots(&mcp.Root{URI: w.uri(two)})
				}
				res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "scope"})
				if err != nil {
					t.Error(err)
					return
				}
				switch text := res.Content[0].(*mcp.TextContent).Text; {
				case lists[text]:
					good++
				case !res.IsError || !strings.Contains(text, "generation_stale") && !strings.Contains(text, "authority_unavailable"):
					t.Errorf("%s: %s", version, text)
				}
			}
			if good < 20 {
				t.Errorf("%s: only %d of 40 calls were served", version, good)
			}
		})
	}
	all.Wait()
}
