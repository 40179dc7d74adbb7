package subscribe

import (
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope"
)

func TestLegacySubscription(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p := w.legacy()
	p.subscribed(2, of("app", "a.txt"))
	p.subscribed(3, of("app", "sub"))
	w.watched("app/a.txt", "app/sub")

	w.say("app/a.txt", "", false)
	p.updated(of("app", "a.txt"), nil)
	w.say("app/sub", "deep/c.txt", false)
	p.updated(of("app", "sub/deep/c.txt"), nil)
	w.say("app/sub", "", false)
	p.updated(of("app", "sub"), nil)

	p.subscribed(4, of("app", "sub")) // again: one subscription
	w.watched("app/a.txt", "app/sub")

	for i, uri := range []string{of("app", "sub"), of("app", "never")} {
		p.Send(`{"jsonrpc":"2.0","id":%d,"method":"resources/unsubscribe","params":{"uri":%q}}`, 5+i, uri)
		p.ok(5 + i)
	}
	w.watched("app/a.txt")
	w.say("app/sub", "deep/c.txt", false)
	w.say("app/a.txt", "", false)
	p.updated(of("app", "a.txt"), nil)
}

// A spelling of the client's own comes back as it was sent.
func TestURIAsSent(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p := w.legacy()
	const spelled = "rootbound://app/%61.txt"
	p.subscribed(2, spelled)
	w.say("app/a.txt", "", false)
	p.updated(spelled, nil)
	p.subscribed(3, of("app", "."))
	w.say("app", "two words.txt", false)
	p.updated("rootbound://app/two%20words.txt", nil)
}

// Denied, unknown and missing look the same as in resources/read.
func TestRefusalsLookAlike(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	bad := []string{
		of("app", "missing"), of("app", ".env"), of("app", ".env-missing/x"), of("nobody", "a.txt"), of("app", "a.txt/x"), "rootbound://app/../lib/l.txt",
		"rootbound://app/%2e%2e/lib/l.txt", "rootbound://app", "file:///etc/passwd", "", strings.Repeat("x", 5000), of("app", "out"), of("app", "out/e.txt"), of("app", "pipe"),
	}
	w.link("elsewhere", "app/out")
	if err := fifo(w.dir + "/app/pipe"); err != nil {
		t.Fatal(err)
	}
	p, q := w.legacy(), w.dial()
	for i, uri := range bad {
		p.subscribe(10+i, uri)
		p.failed(10+i, -32002, "Resource not found")
		q.listen(10+i, joined.Meta, uris(uri))
		q.failed(10+i, -32602, "Resource not found")
	}
	w.watched()
	// A listen keeps what is left.
	q.listen(90, joined.Meta, uris(bad[0], of("app", "a.txt"), bad[1]))
	q.acknowledged(90.0, uris(of("app", "a.txt")))
	q.listen(91, joined.Meta, `{"resourceSubscriptions":["nothing"],"toolsListChanged":true}`)
	q.acknowledged(91.0, `{"toolsListChanged":true}`)
}

// What nobody may look at is not told, and what is gone is told as its directory.
func TestOnlyWhatCanBeSeenIsTold(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p, q := w.legacy(), w.dial()
	p.subscribed(2, of("app", "."))
	q.listening(2, uris(of("app", ".")))
	w.link("elsewhere", "app/out")
	for _, c := range []struct{ rel, told string }{
		{".env", ""}, {".env.gone", ""}, {"out", ""}, {"out/e.txt", ""}, {"../lib/l.txt", ""}, {".ssh/id_rsa", ""},
		{"a.txt", "a.txt"}, {"sub", "sub"}, {"gone.txt", "."}, {"sub/gone.txt", "sub"}, {"sub/none/gone.txt", "sub"}, {"a.txt/x", "a.txt"},
	} {
		w.say("app", c.rel, false)
		if c.told == "" { // nothing comes before what is told next, of the same stream
			w.say("app", "sub/b.txt", false)
			// Both wait together, in any order: the second alone may be told.
			p.updated(of("app", "sub/b.txt"), nil)
			q.updated(of("app", "sub/b.txt"), 2.0)
			continue
		}
		p.updated(of("app", c.told), nil)
		q.updated(of("app", c.told), 2.0)
	}
}

func TestListen(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	for name, p := range map[string]*peer{"pipe": w.dial(), "sdk": dial(t, w.srv, joined.SDK)} {
		t.Run(name, func(t *testing.T) {
			p.listening(1, uris(of("app", "a.txt"), of("app", "sub")))
			p.listening(2, uris(of("app", "a.txt")))
			p.Send(`{"jsonrpc":"2.0","id":"three","method":"subscriptions/listen","params":{"notifications":%s,%s}}`, uris(of("lib", ".")), joined.Meta)
			p.acknowledged("three", uris(of("lib", ".")))
			w.watched("app/a.txt", "app/a.txt", "app/sub", "lib")

			w.say("app/sub", "b.txt", false)
			p.updated(of("app", "sub/b.txt"), 1.0)
			w.say("lib", "l.txt", false)
			p.updated(of("lib", "l.txt"), "three")
			w.say("app/a.txt", "", false)
			seen := map[any]bool{}
			for range 2 {
				m := p.Recv()
				seen[m.Params.Meta["io.modelcontextprotocol/subscriptionId"]] = m.Params.URI == of("app", "a.txt")
			}
			if !seen[1.0] || !seen[2.0] {
				t.Fatalf("told to %v", seen)
			}
			p.cancel(1) // ends the one and leaves the others
			p.listenEnded(1)
			w.watched("app/a.txt", "lib")
			w.say("app/a.txt", "", false)
			p.updated(of("app", "a.txt"), 2.0)
			p.cancel(2)
			p.listenEnded(2)
			p.In.Close()
			w.watched()
		})
	}
}

// The lists: each listen hears of those it asked for, by its own id, as long as it lasts.
func TestListensToLists(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p := w.dial()
	p.listening(1, `{"toolsListChanged":true}`)
	p.listening(2, `{"resourcesListChanged":true,"toolsListChanged":true}`)
	p.listen(3, joined.MetaRoots, `{"promptsListChanged":true,"resourcesListChanged":true}`) // there are no prompts
	p.acknowledged(3.0, `{"resourcesListChanged":true}`)
	told := func(method string, ids ...any) {
		t.Helper()
		got := map[any]bool{}
		for range ids {
			m := p.Recv()
			if m.Method != method {
				t.Fatalf("got %s", m.Line)
			}
			got[m.Params.Meta["io.modelcontextprotocol/subscriptionId"]] = true
		}
		for _, id := range ids {
			if !got[id] {
				t.Fatalf("%s: not told to %v", method, id)
			}
		}
	}
	w.changeTools()
	told("notifications/tools/list_changed", 1.0, 2.0)
	p.cancel(2)
	p.listenEnded(2)
	w.changeTools()
	told("notifications/tools/list_changed", 1.0)
	p.listen(4, joined.Meta, `{}`)
	p.acknowledged(4.0, `{}`)
	p.listenEnded(4)
	p.listen(5, joined.Meta, `null`)
	p.failed(5, -32602, "notifications")
	w.changeTools()
	told("notifications/tools/list_changed", 1.0)
	p.callModern(7, "app", "a.txt")
	p.ok(7)
	if err := w.ceiling.Activate([]rootbound.RootID{"app"}); err != nil {
		t.Fatal(err)
	}
	told("notifications/resources/list_changed", 3.0)
}

// In the legacy era there is no listen, in the modern one no subscribe.
func TestMethodsOfTheOtherEra(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p := w.legacy()
	p.Send(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`)
	p.failed(2, -32601, "")
	q := w.dial()
	q.Send(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":%q,%s}}`, of("app", "a.txt"), joined.Meta)
	q.failed(2, -32601, "")
	// A request of 2026-07-28 on a legacy pipe is bounded by that session.
	r := w.legacy("app/sub")
	r.listen(5, joined.Meta, uris(of("app", "a.txt")))
	r.failed(5, -32602, "Resource not found")
	r.listen(6, joined.Meta, uris(of("app", "sub/b.txt")))
	r.acknowledged(6.0, uris(of("app", "sub/b.txt")))
	w.say("app/sub/b.txt", "", false)
	r.updated(of("app", "sub/b.txt"), 6.0)
}

// Without an authority that needs no question there is nothing to subscribe under.
func TestNobodyIsAsked(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p := w.dial()
	p.Send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"raw","version":"1"}}}`)
	p.Recv()
	p.subscribe(2, of("app", "a.txt"))
	p.failed(2, -32602, "Call a tool or read a resource first")
	q := w.dial()
	q.listen(2, joined.MetaRoots, uris(of("app", "a.txt")))
	q.failed(2, -32602, "--ask-modern=never")
	q.listen(3, joined.MetaRoots, `{"resourcesListChanged":true}`)
	q.acknowledged(3.0, `{"resourcesListChanged":true}`)
}

// Spellings of one URI do not multiply what it costs.
func TestOneSpelling(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p, q := w.legacy(), w.dial()
	p.subscribed(1, "rootbound://app/su%62")
	for i, uri := range []string{of("app", "sub"), "rootbound://app/%73ub", "rootbound://app/s%75b"} {
		p.subscribe(2+i, uri)
		p.failed(2+i, -32602, "another spelling of its URI] (limit_reached)")
		q.listen(2+i, joined.Meta, uris("rootbound://app/su%62", uri))
		q.failed(2+i, -32602, "another spelling")
	}
	w.watched("app/sub")
}

func TestLimits(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{Subscriptions: 2, Listens: 2})
	p, q := w.legacy(), w.dial()
	p.subscribed(1, of("app", "a.txt"))
	p.subscribed(2, of("app", "sub"))
	p.subscribe(3, of("lib", "l.txt"))
	p.failed(3, -32602, "one session has 2 subscriptions at most] (limit_reached)")
	p.subscribed(4, of("app", "sub"))
	q.listen(1, joined.Meta, uris(of("app", "a.txt"), of("app", "sub"), of("lib", ".")))
	q.failed(1, -32602, "one listen has 2 subscriptions at most] (limit_reached)")
	w.watched("app/a.txt", "app/sub")
	q.listening(2, uris(of("app", "a.txt"), of("app", "sub")))
	q.listening(3, `{"toolsListChanged":true}`)
	q.listen(4, joined.Meta, `{"toolsListChanged":true}`)
	q.failed(4, -32602, "too many listens")
	q.cancel(3)
	q.listenEnded(3)
	q.listening(5, `{"toolsListChanged":true}`)
	w.mu.Lock()
	w.full = true
	w.mu.Unlock()
	q.cancel(2)
	q.listenEnded(2)
	q.listen(6, joined.Meta, uris(of("lib", ".")))
	q.failed(6, -32602, "no more watches] (limit_reached)")
	// What is too much is not even looked at, though all of it would be refused; the same URI again is not more.
	q.listen(7, joined.Meta, uris(of("app", "none"), of("nobody", "x"), of("lib", ".env")))
	q.failed(7, -32602, "one listen has 2 subscriptions at most] (limit_reached)")
	q.listen(8, joined.Meta, uris(of("app", "none"), of("app", "none"), of("app", "none")))
	q.failed(8, -32602, "Resource not found")
}

// Many changes become one of the whole.
func TestManyChangesAreOne(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	st := &stream{hub: w.hub, wake: make(chan struct{}, 1), subs: map[string]*subscription{}}
	s := &subscription{stream: st}
	for i := range maxPaths {
		s.told(strings.Repeat("x", i+1), false)
	}
	if _, paths, _ := st.take(); len(paths) != maxPaths {
		t.Fatalf("%d paths", len(paths))
	}
	for i := range 2 * maxPaths {
		s.told(strings.Repeat("x", i+1), false)
	}
	if _, paths, _ := st.take(); len(paths) != 1 || !paths[""] {
		t.Fatalf("%v", paths)
	}
	if s, _, _ := st.take(); s != nil {
		t.Fatal("queued twice")
	}
}

// A watch that ends by itself is made anew, or the subscription ends with it.
func TestWatchThatEnds(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p, q := w.legacy(), w.dial()
	p.subscribed(2, of("app", "sub"))
	q.listening(2, uris(of("app", "sub")))
	w.say("app/sub", "", true)
	p.updated(of("app", "sub"), nil)
	q.updated(of("app", "sub"), 2.0)
	w.when("watched anew", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.watches) == 4 })
	w.watched("app/sub", "app/sub")
	w.remove("app/sub")
	w.say("app/sub", "", true)
	p.updated(of("app", "sub"), nil)
	q.updated(of("app", "sub"), 2.0)
	w.watched("app", "app") // where it will be seen to come back
	w.say("app", "other", false)
	w.write("app/sub/b.txt", "again")
	w.say("app", "sub", false)
	p.updated(of("app", "sub"), nil)
	q.updated(of("app", "sub"), 2.0)
	w.watched("app/sub", "app/sub")
}

// What cannot be waited for is told as lost: by the list, or by the end of a listen that hears of no list.
func TestWhatIsLostIsSaid(t *testing.T) {
	for _, c := range []struct{ name, at, watched string }{{"no watch left", "sub/b.txt", "app/sub/b.txt"}, {"by a link", "link/b.txt", "app/sub/b.txt"}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, mcpscope.Options{}, Options{})
			w.link("app/sub", "app/link")
			p, q, r := w.legacy(), w.dial(), w.dial()
			p.subscribed(2, of("app", c.at))
			q.listening(2, uris(of("app", c.at), of("lib", ".")))
			r.listening(2, `{"resourceSubscriptions":["`+of("app", c.at)+`","rootbound://lib/"],"resourcesListChanged":true}`)
			w.mu.Lock()
			w.full = c.name == "no watch left"
			w.mu.Unlock()
			w.remove("app/sub/b.txt")
			w.say(c.watched, "", true)
			p.updated(of("app", c.at), nil)
			p.notified("notifications/resources/list_changed", "", nil)
			q.updated(of("app", c.at), 2.0)
			q.listenEnded(2)
			r.updated(of("app", c.at), 2.0)
			if c.name == "by a link" {
				r.notified("notifications/resources/list_changed", "", 2.0)
				w.watched("lib")
				return
			}
			r.listenEnded(2)
			w.watched()
		})
	}
}

// A failure to go on after a switch is told, unlike a rule.
func TestWhatCannotGoOnIsSaid(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	q := w.dial()
	q.listening(1, uris(of("app", "a.txt"), of("lib", ".")))
	w.mu.Lock()
	w.unable = true
	w.mu.Unlock()
	if err := w.ceiling.Activate([]rootbound.RootID{"app"}); err != nil {
		t.Fatal(err)
	}
	q.listenEnded(1)
	w.watched()
}
