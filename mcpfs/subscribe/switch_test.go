package subscribe

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope"
)

// heard is what a client of the SDK was told.
type heard struct {
	t  *testing.T
	ch chan string
}

func (h *heard) next(want string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), joined.Patience)
	defer cancel()
	select {
	case got := <-h.ch:
		if got != want {
			h.t.Fatalf("told %q, want %q", got, want)
		}
	case <-ctx.Done():
		h.t.Fatalf("%q was not told", want)
	}
}

func (h *heard) nothing() {
	h.t.Helper()
	select {
	case got := <-h.ch:
		h.t.Fatalf("told %q", got)
	default:
	}
}

// client is a client of the SDK, with roots if there are any: then of the legacy era.
func (w *world) client(version string, roots ...string) (*mcp.ClientSession, *mcp.Client, *heard) {
	w.t.Helper()
	h := &heard{w.t, make(chan string, 64)}
	o := &mcp.ClientOptions{
		Capabilities:               &mcp.ClientCapabilities{},
		ResourceUpdatedHandler:     func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { h.ch <- r.Params.URI },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { h.ch <- "list" },
	}
	if len(roots) > 0 {
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{ListChanged: true}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, o)
	for _, r := range roots {
		c.AddRoots(&mcp.Root{URI: w.uri(r)})
	}
	cs := joined.To(w.t, c, version, w.srv)
	w.t.Cleanup(func() { cs.Close() })
	return cs, c, h
}

func (w *world) read(cs *mcp.ClientSession, project, path string) {
	w.t.Helper()
	args, _ := json.Marshal(map[string]string{"project": project, "path": path})
	res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "read", Arguments: json.RawMessage(args)})
	if err != nil || res.IsError {
		w.t.Fatalf("reading %s/%s: %v %v", project, path, err, res)
	}
}

func (w *world) follow(cs *mcp.ClientSession, uri string) {
	w.t.Helper()
	if err := cs.Subscribe(context.Background(), &mcp.SubscribeParams{URI: uri}); err != nil {
		w.t.Fatal(err)
	}
}

// At a switch of the workspace nothing of the old generation is told any more, what cannot go on is gone before the next
// one is visible and stays gone when the client comes back, what can go on does, and the client is told to list again.
func TestG23SwitchingWorkspaceDropsCachesAndSubscriptions(t *testing.T) {
	// dropping notes what is watched when Drop returns, which is before anybody can see the next generation.
	dropping := func(t *testing.T) (*world, func(want ...string)) {
		w := newWorld(t, mcpscope.Options{}, Options{})
		at := make(chan []string, 16)
		w.afterDrop = func(next *authority.Snapshot) {
			if next != nil {
				at <- w.open()
			}
		}
		return w, func(want ...string) {
			t.Helper()
			for len(at) > 1 { // publications before this one
				<-at
			}
			if got := <-at; !slices.Equal(got, want) {
				t.Fatalf("when the next generation became visible %v was watched, want %v", got, want)
			}
		}
	}
	t.Run("legacy", func(t *testing.T) {
		w, left := dropping(t)
		cs, c, told := w.client("2025-11-25", "app", "lib")
		w.read(cs, "app", "a.txt")
		for _, uri := range []string{of("app", "a.txt"), of("app", "sub"), of("lib", "l.txt")} {
			w.follow(cs, uri)
		}
		w.say("app/a.txt", "", false)
		told.next(of("app", "a.txt"))

		c.RemoveRoots(w.uri("app")) // the switch
		w.when("the mark", func() bool { return w.suspended() == 1 })
		w.say("app/a.txt", "", false) // of the old generation
		w.say("lib/l.txt", "", false)
		if err := cs.Ping(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		told.nothing()
		w.read(cs, "lib", "l.txt")
		left("lib/l.txt")
		told.next("list")
		told.next(of("lib", "l.txt")) // remembered and judged anew

		c.AddRoots(&mcp.Root{URI: w.uri("app")}) // and back
		w.when("the mark", func() bool { return w.suspended() == 1 })
		w.read(cs, "app", "a.txt")
		left("lib/l.txt")
		told.next("list")
		if n := w.say("app/a.txt", "", false) + w.say("app/sub", "b.txt", false); n != 0 {
			t.Errorf("%d subscriptions came to life again", n)
		}
		w.say("lib/l.txt", "", false)
		told.next(of("lib", "l.txt"))
	})
	t.Run("modern", func(t *testing.T) { // rootbound use
		w, left := dropping(t)
		cs, _, told := w.client("")
		w.read(cs, "app", "a.txt")
		for _, uri := range []string{of("app", "a.txt"), of("app", "sub"), of("lib", "l.txt")} {
			w.follow(cs, uri)
		}
		w.watched("app/a.txt", "app/sub", "lib/l.txt")
		w.eventually("the listens of three resources and of the lists", func() bool { n, subs := w.hub.Count(); return n == 4 && subs == 3 })
		w.say("app/a.txt", "", false)
		told.next(of("app", "a.txt"))

		if err := w.ceiling.Activate([]rootbound.RootID{"lib"}); err != nil {
			t.Fatal(err)
		}
		told.next("list") // nobody has to be asked, so the next generation is here
		left("lib/l.txt")
		w.say("lib/l.txt", "", false)
		told.next(of("lib", "l.txt"))
		w.read(cs, "lib", "l.txt")

		if err := w.ceiling.Activate(nil); err != nil {
			t.Fatal(err)
		}
		told.next("list")
		left("lib/l.txt")
		if n := w.say("app/a.txt", "", false) + w.say("app/sub", "b.txt", false); n != 0 {
			t.Errorf("%d subscriptions came to life again", n)
		}
		w.say("lib/l.txt", "", false)
		told.next(of("lib", "l.txt"))
	})
}

// Narrower roots keep what they hold, and a rule or right that is taken away ends what it covers.
func TestSwitchKeepsWhatIsInside(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p := w.legacy("app")
	for i, path := range []string{".", "a.txt", "sub", "sub/b.txt", "sub/deep/c.txt"} {
		p.subscribed(10+i, of("app", path))
	}
	p.rootsChanged()
	p.call(20, "app", "sub/b.txt")
	p.answer(w.roots("app/sub"))
	p.answeredAndListed(20)
	w.watched("app/sub", "app/sub/b.txt", "app/sub/deep/c.txt")

	ps := w.ceiling.Projects()
	ps[0].Deny = []string{"sub/deep/**"}
	if err := w.ceiling.Replace(ps); err != nil {
		t.Fatal(err)
	}
	p.call(21, "app", "sub/b.txt")
	p.answer(w.roots("app/sub"))
	p.answeredAndListed(21)
	w.watched("app/sub", "app/sub/b.txt")
	w.say("app/sub", "deep/c.txt", false)
	w.say("app/sub", "b.txt", false)
	p.updated(of("app", "sub/b.txt"), nil)

	ps[0].Rights = rootbound.List | rootbound.Search
	if err := w.ceiling.Replace(ps); err != nil {
		t.Fatal(err)
	}
	p.Send(`{"jsonrpc":"2.0","id":22,"method":"tools/call","params":{"name":"read","arguments":{"project":"app","path":"sub"}}}`)
	p.answer(w.roots("app/sub"))
	p.answeredAndListed(22)
	w.watched("app/sub")
}

// A directory that takes a project's place is another project's, whatever its name.
func TestSwitchToAnotherDirectory(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	q := w.dial()
	q.listening(1, uris(of("app", "a.txt"), of("lib", ".")))
	w.write("new/a.txt", "n")
	ps := w.ceiling.Projects()
	ps[0].Dir = w.dir + "/new"
	if err := w.ceiling.Replace(ps); err != nil {
		t.Fatal(err)
	}
	w.watched("lib")
	if err := w.ceiling.Retarget("app"); err != nil {
		t.Fatal(err)
	}
	w.say("lib", "l.txt", false)
	q.updated(of("lib", "l.txt"), 1.0)
	w.watched("lib")
}

// What a person takes back is not told; a listen that has nothing left is ended by the server, with its result.
func TestRevocation(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p, q := w.legacy(), w.dial()
	p.subscribed(1, of("app", "a.txt"))
	p.subscribed(2, of("lib", "."))
	q.listening(1, uris(of("app", "a.txt")))
	q.listening(2, uris(of("lib", ".")))
	w.scope.Revoke(mcpscope.Who{}, "app")
	w.say("app/a.txt", "", false)
	q.listenEnded(1)
	p.notified("notifications/resources/list_changed", "", nil)
	w.watched("lib", "lib")
	w.scope.Unrevoke(mcpscope.Who{}, "app")
	p.notified("notifications/resources/list_changed", "", nil)
	w.say("app/a.txt", "", false)
	w.say("lib", "l.txt", false)
	p.updated(of("lib", "l.txt"), nil)
	q.updated(of("lib", "l.txt"), 2.0)

	w.scope.Revoke(mcpscope.Who{}) // everything: suspended until a person gives it back
	w.when("suspended", func() bool { return w.suspended() == 2 })
	w.say("lib", "l.txt", false)
	p.silent(5)
	w.scope.Unrevoke(mcpscope.Who{})
	if m := p.Recv(); m.Method != "notifications/resources/list_changed" {
		t.Fatalf("got %s", m.Line)
	}
	p.updated(of("lib", "l.txt"), nil)
	q.updated(of("lib", "l.txt"), 2.0)
}

// answeredAndListed: the reply of a call and the change of the list come in any order.
func (p *peer) answeredAndListed(id int) {
	p.t.Helper()
	var answered, listed bool
	for !answered || !listed {
		m := p.Recv()
		answered = answered || string(m.ID) == itoa(id)
		listed = listed || m.Method == "notifications/resources/list_changed"
		if m.Method != "" && m.Method != "notifications/resources/list_changed" {
			p.t.Fatalf("got %s", m.Line)
		}
	}
}

// A subscription that is made while its generation ends is refused, and nothing of it stays.
func TestSubscribingWhileTheGenerationEnds(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p := w.legacy()
	w.onWatch = func() {
		w.onWatch = nil
		if err := w.ceiling.Activate([]rootbound.RootID{"lib"}); err != nil {
			t.Error(err)
		}
	}
	p.subscribe(2, of("app", "a.txt"))
	for refused, listed := false, false; !refused || !listed; { // in any order
		m := p.Recv()
		switch {
		case m.Method == "notifications/resources/list_changed":
			listed = true
		case string(m.ID) == "2" && m.Error != nil && strings.Contains(m.Error.Message, "generation_stale"):
			refused = true
		default:
			t.Fatalf("got %s", m.Line)
		}
	}
	w.watched()
}

// The mark does not wait for a client that does not read: it is made in the receive loop of another.
func TestMarkDoesNotWaitForAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{Watch: nil})
		g := &group{streams: map[*stream]bool{}}
		st := &stream{hub: h, group: g, wake: make(chan struct{}, 1), done: make(chan struct{}), subs: map[string]*subscription{}}
		g.add(st, 1)
		h.groups["a"] = g
		for range 3 { // nobody takes what is to be told
			h.Mark("a", 1)
		}
		h.Mark("b", 1)
		if !g.waits() {
			t.Error("not suspended")
		}
		h.Drop(nil, &authority.Snapshot{Authority: "a", Generation: 2})
		h.Mark("a", 1) // of the generation before: it comes late
		if g.waits() {
			t.Error("a mark of an older generation suspends")
		}
		h.Mark("a", 2)
		if !g.waits() {
			t.Error("not suspended")
		}
		delete(h.groups, "a")
	})
}
