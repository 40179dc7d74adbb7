package subscribe

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope"
)

// Each trap of go-sdk v1.8.0 that the handlers here counter: the subtest "sdk" pins
// what the SDK does by itself, "ours" that the counter works. When an upgrade turns an "sdk" red, its counter may go.

// bare is a server of the SDK with its own subscriptions.
func bare() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, &mcp.ServerOptions{
		Capabilities:       &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{Subscribe: true}},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	srv.AddResource(&mcp.Resource{URI: "test://x", Name: "x"}, nil)
	return srv
}

func addTool(srv *mcp.Server, name string) {
	srv.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
}

// Of two listens on one pipe the one that ends takes the other's changes of lists with it, and only one of them is told
// of an update.
func TestTrapAListenEndsAnother(t *testing.T) {
	t.Run("sdk", func(t *testing.T) {
		srv := bare()
		p := dial(t, srv, joined.SDK)
		p.listening(1, `{"toolsListChanged":true}`)
		p.listening(2, `{"toolsListChanged":true}`)
		p.cancel(2)
		p.ok(2)
		addTool(srv, "one")
		// The SDK tells legacy sessions after the same delay: when this one has heard, all have.
		q := dial(t, srv, joined.SDK)
		q.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		q.Recv()
		addTool(srv, "two")
		for m := q.Recv(); m.Method != "notifications/tools/list_changed"; m = q.Recv() {
		}
		p.listen(3, joined.Meta, `{}`)
		p.acknowledged(3.0, `{}`) // before anything else
	})
	t.Run("sdk updates", func(t *testing.T) {
		srv := bare()
		p := dial(t, srv, joined.SDK)
		p.listening(1, uris("test://x"))
		p.listening(2, uris("test://x"))
		if err := srv.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: "test://x"}); err != nil {
			t.Fatal(err)
		}
		p.updated("test://x", 2.0)
		p.listen(3, joined.Meta, `{}`)
		p.acknowledged(3.0, `{}`)
	})
	t.Run("ours", func(t *testing.T) {
		w := newWorld(t, mcpscope.Options{}, Options{})
		p := w.dial()
		p.listening(1, `{"resourceSubscriptions":["rootbound://app/a.txt"],"toolsListChanged":true}`)
		p.listening(2, `{"resourceSubscriptions":["rootbound://app/a.txt"],"toolsListChanged":true}`)
		p.cancel(2)
		p.listenEnded(2)
		w.changeTools()
		p.notified("notifications/tools/list_changed", "", 1.0)
		w.say("app/a.txt", "", false)
		p.updated(of("app", "a.txt"), 1.0)
	})
}

// An update reaches every subscriber of a URI, whatever he may see by now.
func TestTrapAnUpdateReachesEverySubscriber(t *testing.T) {
	t.Run("sdk", func(t *testing.T) {
		srv := bare()
		var peers []*peer
		for range 2 {
			p := dial(t, srv, joined.SDK)
			p.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			p.Recv()
			p.subscribed(2, "test://x")
			peers = append(peers, p)
		}
		if err := srv.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: "test://x"}); err != nil {
			t.Fatal(err)
		}
		for _, p := range peers {
			p.updated("test://x", nil)
		}
	})
	t.Run("ours", func(t *testing.T) {
		w := newWorld(t, mcpscope.Options{}, Options{})
		p, q := w.legacy("app"), w.legacy("app")
		p.subscribed(2, of("app", "sub/b.txt"))
		q.subscribed(2, of("app", "sub/b.txt"))
		q.rootsChanged()
		q.call(3, "lib", "l.txt")
		q.answer(w.roots("lib"))
		q.answeredAndListed(3)
		w.say("app/sub/b.txt", "", false)
		p.updated(of("app", "sub/b.txt"), nil)
		q.silent(4)
		w.watched("app/sub/b.txt")
	})
}

// What the hub learns from the SDK in the name of its own session: without these it could not answer a listen.
func TestWhatTheSDKTellsTheTap(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p := w.dial()
	p.listening(1, `{"toolsListChanged":true}`)
	if ss, err := w.hub.tap.connected(); err != nil || ss.InitializeParams() != nil {
		t.Errorf("our own session is initialized: %v", err)
	}
	for ss := range w.srv.Sessions() {
		if ss != w.hub.tap.session && ss != p.Session {
			t.Error("a session more")
		}
	}
	w.changeTools()
	m := p.Recv()
	if m.Method != "notifications/tools/list_changed" || strings.Count(m.Line, "subscriptionId") != 1 {
		t.Errorf("got %s", m.Line)
	}
	if err := w.hub.tap.session.Ping(context.Background(), nil); err != nil { // keep-alive must not end it
		t.Error(err)
	}
}
