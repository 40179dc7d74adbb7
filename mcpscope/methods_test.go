package mcpscope

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/internal/rig/joined"
)

// Every method the SDK serves has a place (contract §2): an upgrade that adds one must decide about it here.
func TestEveryMethodHasItsHandling(t *testing.T) {
	want := map[string]handling{
		"tools/call": asks, "resources/read": asks, "prompts/get": asks,
		"notifications/roots/list_changed": changed,
		"initialize":                       pass, "ping": pass, "server/discover": pass,
		"notifications/initialized": pass, "notifications/cancelled": pass, "notifications/progress": pass,
		"logging/setLevel": settled, "tools/list": settled, "prompts/list": settled,
		"resources/list": current, "resources/templates/list": current, "completion/complete": current, "resources/unsubscribe": current,
		"resources/subscribe": required, "subscriptions/listen": required,
	}
	served := rig.Methods(t)
	for _, m := range served {
		h, ok := want[m]
		if !ok {
			t.Errorf("the SDK serves %q: decide what it needs of the authority", m)
		} else if got := handlingOf(m); got != h {
			t.Errorf("%s: %d, want %d", m, got, h)
		}
		delete(want, m)
	}
	for m := range want {
		t.Errorf("the SDK no longer serves %q", m)
	}
	if handlingOf("acme/own") != current {
		t.Error("an author's own method gets what is current")
	}
}

// What is current reaches the methods that never ask; without it they answer nothing, or are refused.
func TestMethodsThatNeverAsk(t *testing.T) {
	w := open(t, Options{}, "app")
	complete := func(p *peer, id int, meta string) string {
		t.Helper()
		p.Send(`{"jsonrpc":"2.0","id":%d,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"other"},"argument":{"name":"x","value":"y"}%s}}`, id, meta)
		m := p.Recv()
		if m.Error != nil || m.Method != "" {
			t.Fatalf("completion: %s", m.Line)
		}
		return m.Line
	}
	subscribe := `{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"test://scope"}}`
	p := w.legacy(true)
	if line := complete(p, 1, ""); !strings.Contains(line, `"no hold"`) {
		t.Errorf("before any roots: %s", line)
	}
	p.Send(subscribe, 2)
	if m := p.failed(2, -32602); !strings.Contains(m.Line, string(rootbound.AuthorityUnavailable)) {
		t.Error(m.Line)
	}
	p.call(3, "scope")
	p.answer(p.expectAsk(), w.roots("app/sub"))
	p.expect(3, "roots app/sub")
	if line := complete(p, 4, ""); !strings.Contains(line, `"roots app/sub"`) {
		t.Errorf("with roots: %s", line)
	}
	p.Send(subscribe, 5)
	w.await("subscribed under roots app/sub")
	p.Recv()
	p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	if line := complete(p, 6, ""); !strings.Contains(line, `"no hold"`) {
		t.Errorf("stale: %s", line)
	}
	q := w.dial()
	if line := complete(q, 7, ","+joined.MetaRoots); !strings.Contains(line, `"no hold"`) {
		t.Errorf("modern, roots declared: %s", line)
	}
	if line := complete(q, 8, ","+joined.Meta); !strings.Contains(line, `"ceiling app"`) {
		t.Errorf("modern, none declared: %s", line)
	}
	listen := fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://scope"]},%s}}`, joined.MetaRoots)
	q.Send("%s", listen)
	q.failed(9, -32602)
}
