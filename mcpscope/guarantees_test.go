package mcpscope

import (
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
)

// A panic ends its own call, in both eras and every method, says nothing of its cause, and the session goes on.
func TestG24PanicsAreContained(t *testing.T) {
	incidents := map[string]string{}
	w := open(t, Options{Panic: func(id string, value any, stack []byte) {
		incidents[id] = value.(string)
		if !strings.Contains(string(stack), "scope_test.go") {
			t.Errorf("the stack does not lead to the handler:\n%s", stack)
		}
	}}, "app")
	quiet := func(m joined.Message) {
		t.Helper()
		if strings.Contains(m.Line, "secret") || strings.Contains(m.Line, "passwd") || strings.Contains(m.Line, "goroutine") {
			t.Errorf("it tells: %s", m.Line)
		}
	}
	p := w.legacy(true)
	p.call(1, "boom")
	p.answer(p.expectAsk(), w.roots("app"))
	r := p.refused(1, rootbound.InternalError)
	if incidents[r.StructuredContent.Error.Decision] != panicText {
		t.Errorf("no incident %q: %v", r.StructuredContent.Error.Decision, incidents)
	}
	for i, c := range []struct{ method, params string }{
		{"resources/read", `"uri":"test://boom"`},
		{"prompts/get", `"name":"boom"`},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"scope"},"argument":{"name":"x","value":"y"}`},
		{"resources/subscribe", `"uri":"test://boom"`},
	} {
		p.Send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, 10+i, c.method, c.params)
		quiet(p.failed(10+i, -32603))
	}
	p.Send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`) // its handler panics too
	p.call(2, "scope")
	p.expect(2, "roots app")
	q := w.dial()
	q.callModern(1, joined.Meta, "boom", "")
	m := q.Recv()
	quiet(m)
	if r := replyOf(t, m); !r.IsError || r.StructuredContent.Error.Reason != rootbound.InternalError || r.ResultType != "complete" {
		t.Errorf("got %s", m.Line)
	}
	q.callModern(2, joined.Meta, "scope", "")
	q.expect(2, "ceiling app")
	p.call(3, "commit-boom")
	if r := p.refused(3, rootbound.InternalError); !strings.Contains(r.StructuredContent.Error.Detail, "the change was made") {
		t.Errorf("a committed change is told as refused: %+v", r)
	}
}

// Roots are asked between a call and its reply, and at no other time; the question ends with its call.
func TestG26AskedDuringTheCall(t *testing.T) {
	w := open(t, Options{}, "app")
	p := w.legacy(true)
	for i, c := range []struct{ method, params string }{
		{"ping", ``}, {"tools/list", ``}, {"resources/list", ``}, {"resources/templates/list", ``}, {"prompts/list", ``},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"other"},"argument":{"name":"x","value":"y"}`},
		{"resources/subscribe", `"uri":"test://scope"`}, {"resources/unsubscribe", `"uri":"test://scope"`},
		{"logging/setLevel", `"level":"info"`},
	} {
		p.Send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, 100+i, c.method, c.params)
		if m := p.Recv(); m.Method != "" {
			t.Errorf("%s: the server asks: %s", c.method, m.Line)
		}
		p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	}
	p.Send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`) // what list_changed had caused would be before this
	if m := p.Recv(); string(m.ID) != "1" {
		t.Errorf("unasked: %s", m.Line)
	}
	for i, c := range []struct{ method, params string }{
		{"tools/call", `"name":"scope","arguments":{}`}, {"resources/read", `"uri":"test://scope"`}, {"prompts/get", `"name":"scope"`},
	} {
		p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		p.Send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, 200+i, c.method, c.params)
		p.answer(p.expectAsk(), w.roots("app"))
		if m := p.Recv(); m.Error != nil || !strings.Contains(m.Line, "roots app") {
			t.Errorf("%s: %s", c.method, m.Line)
		}
	}
	p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	p.call(2, "scope")
	ask := p.expectAsk()
	p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	cancelled := false
	for range 2 { // the reply to the call and the end of the question, in any order
		m := p.Recv()
		cancelled = cancelled || m.Method == "notifications/cancelled" && strings.Contains(m.Line, `"requestId":`+ask)
	}
	if !cancelled {
		t.Error("the question outlives its call")
	}
}

// A modern request on a pipe that was initialised as legacy is bounded by the session: its roots, stale, revoked.
func TestG31ModernRequestsDoNotEscapeALegacySession(t *testing.T) {
	for name, meta := range map[string]string{"roots declared": joined.MetaRoots, "roots not declared": joined.Meta} {
		t.Run(name, func(t *testing.T) {
			w := open(t, Options{}, "app", "lib")
			p := w.legacy(true)
			p.callModern(1, meta, "scope", "") // unasked: the session is asked, in the session's way
			p.answer(p.expectAsk(), w.roots("app/sub"))
			p.expect(1, "roots app/sub")
			p.callModern(2, meta, "scope", retry("rb1.forged", w.roots("app", "lib")))
			p.expect(2, "roots app/sub")
			p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
			p.callModern(3, meta, "scope", "")
			p.answer(p.expectAsk(), w.roots())
			p.refused(3, rootbound.RootsEmpty)
			p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
			p.callModern(4, meta, "scope", "")
			p.answer(p.expectAsk(), w.roots("app"))
			p.expect(4, "roots app")
			w.scope.Revoke(Who{}, "app", "lib")
			p.callModern(5, meta, "scope", "")
			for { // it may ask once more, or know already
				m := p.Recv()
				if m.Method == "roots/list" {
					p.answer(string(m.ID), w.roots("app"))
					continue
				}
				if r := replyOf(t, m); !r.IsError || r.StructuredContent.Error.Reason != rootbound.RevokedByUser {
					t.Errorf("after the revocation: %s", m.Line)
				}
				break
			}
		})
	}
}

// A requestState of another generation is not laundered: generation_stale, even if the roots would fit again.
func TestG10OldPlanIsNotLaundered(t *testing.T) {
	w := open(t, Options{}, "app", "lib")
	p := w.dial()
	p.callModern(1, joined.MetaRoots, "scope", "")
	old := p.asked(1)
	w.scope.Revoke(Who{}, "lib")
	p.callModern(2, joined.MetaRoots, "scope", retry(old, w.roots("app")))
	p.refused(2, rootbound.GenerationStale)
	w.scope.Unrevoke(Who{}, "lib")
	p.callModern(3, joined.MetaRoots, "scope", retry(old, w.roots("app")))
	p.refused(3, rootbound.GenerationStale)
	p.callModern(4, joined.MetaRoots, "scope", "")
	p.callModern(5, joined.MetaRoots, "scope", retry(p.asked(4), w.roots("app")))
	p.expect(5, "roots app")

	// Nor does a question that was asked before the projects changed, even if they are the same again.
	p.callModern(6, joined.MetaRoots, "scope", "")
	before := p.asked(6)
	for _, ids := range [][]rootbound.RootID{{"app"}, nil} {
		if err := w.scope.ceiling.Activate(ids); err != nil {
			t.Fatal(err)
		}
		p.callModern(7, joined.MetaRoots, "scope", retry(before, w.roots("app")))
		p.refused(7, rootbound.GenerationStale)
	}
}
