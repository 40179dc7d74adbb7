package subscribe

import (
	"context"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope"
)

// G46: streams that nobody reads, in both eras, hold up neither a switch nor what others are told of it, of changed lists and
// of their resources, nor calls.
func TestG46UnreadStreamsHoldNoOneUp(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	const clients = 10
	for range clients {
		d := w.deaf()
		d.listen(1, joined.Meta, `{"resourceSubscriptions":["rootbound://app/sub"],"resourcesListChanged":true}`)
		d.line()
		d = w.deaf()
		d.Send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
		d.line()
		d.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		d.subscribe(1, of("app", "sub"))
		d.line()
	}
	w.say("app/sub", "b.txt", false)
	w.eventually("all are written to", func() bool {
		n := 0
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		for _, g := range w.hub.groups {
			g.mu.Lock()
			n += len(g.writing)
			g.mu.Unlock()
		}
		return n == 2*clients
	})
	old, modern := w.legacy(), w.dial() // they come last, and the SDK would tell them last
	modern.listening(1, `{"resourceSubscriptions":["rootbound://lib/l.txt"],"resourcesListChanged":true,"toolsListChanged":true}`)
	old.subscribed(1, of("lib", "l.txt"))

	w.changeTools()
	old.notified("notifications/tools/list_changed", "", nil)
	modern.notified("notifications/tools/list_changed", "", 1.0)
	if err := w.ceiling.Activate([]rootbound.RootID{"lib"}); err != nil {
		t.Fatal(err)
	}
	old.notified("notifications/resources/list_changed", "", nil)
	modern.notified("notifications/resources/list_changed", "", 1.0)
	w.say("lib/l.txt", "", false)
	old.updated(of("lib", "l.txt"), nil)
	modern.updated(of("lib", "l.txt"), 1.0)
	old.call(2, "lib", "l.txt")
	old.ok(2)
	modern.callModern(2, "lib", "l.txt")
	modern.ok(2)

	// Nor do they hold up the end of the server for longer than is asked for.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.hub.Close(ctx); err == nil {
		t.Error("nobody was unread")
	}
	modern.listenEnded(1)
}

// A switch that cannot be completed yet, since a change of the generation before is still being committed, is told when it
// can be, although nobody calls.
func TestSwitchIsToldWhenTheLastCommitIsOver(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	p := w.legacy()
	p.subscribed(1, of("app", "a.txt"))
	st := w.only()
	held, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- st.standing.Look(context.Background(), func(ctx context.Context) error {
			use, err := authority.From(ctx)
			if err != nil {
				return err
			}
			return use.Commit(func() error { close(held); <-release; return nil })
		})
	}()
	<-held
	if err := w.ceiling.Activate([]rootbound.RootID{"app"}); err != nil {
		t.Fatal(err)
	}
	w.eventually("it was looked at too early", func() bool {
		st.mu.Lock()
		defer st.mu.Unlock()
		return st.later
	})
	close(release)
	p.notified("notifications/resources/list_changed", "", nil)
	if err := <-done; rootbound.ReasonOf(err) != rootbound.GenerationStale {
		t.Errorf("the look that committed: %v", err)
	}
}
