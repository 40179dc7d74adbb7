package mcpscope

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/internal/rig/joined"
)

// agreeing adds a tool that asks for agreement to what its argument "what" names.
func (w *world) agreeing(until time.Duration) {
	addTool(w.srv, "agree", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var a struct{ What string }
		_ = json.Unmarshal(req.Params.Arguments, &a) // absent: asks for nothing in particular
		c, err := w.scope.Agree(ctx, req, Question{Message: "sure?", Binds: a.What, Until: time.Now().Add(until)})
		use, uerr := authority.From(ctx)
		switch {
		case err != nil:
			return nil, err
		case uerr != nil:
			return nil, uerr
		case c.Ask != nil:
			return c.Ask, nil
		case c.Agreed != (use.Agreed == authority.ByElicitation):
			return nil, fmt.Errorf("agreed %v, the request says %q", c.Agreed, use.Agreed)
		}
		return say(fmt.Sprintf("asked %v agreed %v %s", c.Asked, c.Agreed, w.granted(ctx))), nil
	})
}

const elicits2 = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

func (p *peer) agreeModern(id int, what, rest string) {
	p.t.Helper()
	p.Send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"agree","arguments":{"what":%q}%s,%s}}`, id, what, rest, elicits2)
}

// askedToAgree is the reply to id, which must ask the user, and its state.
func (p *peer) askedToAgree(id int) string {
	p.t.Helper()
	m := p.Recv()
	r := replyOf(p.t, m)
	if string(m.ID) != fmt.Sprint(id) || r.ResultType != "input_required" || r.RequestState == "" || r.InputRequests[agreeKey] == nil {
		p.t.Fatalf("want a question to the user, got %s", m.Line)
	}
	return r.RequestState
}

func agreed(state, result string) string {
	return fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:%s}`, state, agreeKey, result)
}

const yesPlease = `{"action":"accept","content":{"agree":true}}`

// An answer counts for the very question that was asked, and for nothing else.
func TestAgreeModern(t *testing.T) {
	w := open(t, Options{}, "app", "lib")
	w.agreeing(time.Minute)
	p := w.dial()
	p.agreeModern(1, "this", "")
	state := p.askedToAgree(1)
	p.agreeModern(2, "this", agreed(state, yesPlease))
	p.expect(2, "asked true agreed true ceiling app lib")
	for name, result := range map[string]string{
		"decline": `{"action":"decline"}`, "cancel": `{"action":"cancel"}`, "unticked": `{"action":"accept","content":{"agree":false}}`,
		"not a boolean": `{"action":"accept","content":{"agree":"true"}}`, "nothing": `{"action":"accept"}`,
	} {
		p.agreeModern(3, "this", agreed(state, result))
		if got := replyOf(t, p.Recv()).text(); !strings.HasPrefix(got, "asked true agreed false") {
			t.Errorf("%s: %s", name, got)
		}
	}
	// Nobody asked this, so it is asked now.
	p.agreeModern(4, "that", agreed(state, yesPlease))
	p.askedToAgree(4)
	p.agreeModern(5, "this", fmt.Sprintf(`,"inputResponses":{%q:%s}`, agreeKey, yesPlease))
	p.askedToAgree(5)
	p.agreeModern(6, "this", agreed("mine", yesPlease))
	p.askedToAgree(6)
	p.agreeModern(7, "this", agreed(state[:len(state)-2]+"AA", yesPlease))
	p.askedToAgree(7)
	// Roots of the same call: a state for them agrees to nothing.
	p.callModern(8, joined.MetaRoots, "agree", "")
	roots := p.asked(8)
	p.agreeModern(9, "", agreed(roots, yesPlease))
	p.askedToAgree(9)
	// A client that cannot ask is not asked.
	p.callModern(10, joined.Meta, "agree", "")
	p.expect(10, "asked false agreed false ceiling app lib")
}

func TestAgreeModernEnds(t *testing.T) {
	w := open(t, Options{}, "app")
	w.agreeing(-time.Second) // too late before it began
	p := w.dial()
	p.agreeModern(1, "this", "")
	p.agreeModern(2, "this", agreed(p.askedToAgree(1), yesPlease))
	p.askedToAgree(2)

	w = open(t, Options{}, "app")
	w.agreeing(time.Minute)
	p = w.dial()
	p.agreeModern(1, "this", "")
	state := p.askedToAgree(1)
	w.scope.Invalidate(rootbound.GenerationStale)
	p.agreeModern(2, "this", agreed(state, yesPlease))
	p.refused(2, rootbound.GenerationStale)
}

// In the legacy era the roots count as they are when the answer comes.
func TestAgreeLegacy(t *testing.T) {
	w := open(t, Options{}, "app", "lib")
	w.agreeing(time.Minute)
	p := w.dial()
	p.Initialize("2025-11-25", `{"elicitation":{},"roots":{"listChanged":true}}`)
	begin := func(id int, roots string) string {
		t.Helper()
		p.call(id, "agree")
		m := p.Recv()
		if m.Method == "roots/list" {
			p.answer(string(m.ID), roots)
			m = p.Recv()
		}
		if m.Method != "elicitation/create" || !strings.Contains(m.Line, "sure?") {
			t.Fatalf("want a question to the user, got %s", m.Line)
		}
		return string(m.ID)
	}
	p.answer(begin(1, w.roots("app")), yesPlease)
	p.answer(p.expectAsk(), w.roots("app"))
	p.expect(1, "asked true agreed true roots app")
	p.answer(begin(2, ""), `{"action":"decline"}`)
	p.expect(2, "asked true agreed false roots app")

	// What was announced before the answer ends it, whichever of the two is looked at first.
	ask := begin(3, "")
	p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	p.answer(ask, yesPlease)
	for {
		m := p.Recv()
		if m.Method == "notifications/cancelled" { // the question is withdrawn
			continue
		}
		if m.Method == "roots/list" { // or was answered before, and the roots are asked anew
			p.answer(string(m.ID), w.roots("lib"))
			continue
		}
		if r := replyOf(t, m); string(m.ID) != "3" || !strings.Contains(r.text(), "generation_stale") {
			t.Errorf("got %s", m.Line)
		}
		break
	}

	// Without list_changed the client is asked once more for its roots.
	q := w.dial()
	q.Initialize("2025-11-25", `{"elicitation":{},"roots":{}}`)
	q.call(1, "agree")
	q.answer(q.expectAsk(), w.roots("app"))
	m := q.Recv()
	if m.Method != "elicitation/create" {
		t.Fatalf("got %s", m.Line)
	}
	q.answer(string(m.ID), yesPlease)
	q.answer(q.expectAsk(), w.roots("lib"))
	q.refused(1, rootbound.GenerationStale)

	// A client that cannot ask is not asked.
	r := w.legacy(true)
	r.call(1, "agree")
	r.answer(r.expectAsk(), w.roots("app"))
	r.expect(1, "asked false agreed false roots app")
}

// Both questions travel together where the client has roots too, and the roots count anew each time.
func TestAgreeModernWithRoots(t *testing.T) {
	w := open(t, Options{}, "app", "lib")
	w.agreeing(time.Minute)
	p := w.dial()
	meta := strings.Replace(elicits2, `"elicitation"`, `"roots":{},"elicitation"`, 1)
	p.callModern(1, meta, "agree", "")
	p.callModern(2, meta, "agree", retry(p.asked(1), w.roots("app")))
	m := p.Recv()
	r := replyOf(t, m)
	if r.InputRequests[agreeKey] == nil || r.InputRequests["roots"] == nil {
		t.Fatalf("want both questions, got %s", m.Line)
	}
	both := func(state, roots string) string {
		return fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:%s,"roots":%s}`, state, agreeKey, yesPlease, roots)
	}
	p.callModern(3, meta, "agree", both(r.RequestState, w.roots("app")))
	p.expect(3, "asked true agreed true roots app")

	p.callModern(4, meta, "agree", "")
	p.callModern(5, meta, "agree", retry(p.asked(4), w.roots("app")))
	state := replyOf(t, p.Recv()).RequestState
	p.callModern(6, meta, "agree", both(state, w.roots("lib")))
	p.refused(6, rootbound.GenerationStale)
}
