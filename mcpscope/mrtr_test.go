package mcpscope

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/authority/token"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/internal/rig/joined"
)

// Every row of the table of incoming states: who may use one, for what, how long, and what is said otherwise.
func TestRequestStates(t *testing.T) {
	w := open(t, Options{}, "app", "lib")
	p := w.dial()
	fresh := func() string {
		t.Helper()
		p.callModern(1, joined.MetaRoots, "scope", "")
		return p.asked(1)
	}
	app := w.roots("app")

	t.Run("good", func(t *testing.T) {
		p.callModern(2, joined.MetaRoots, "scope", retry(fresh(), app))
		p.expect(2, "roots app")
	})
	t.Run("blanks in the arguments do not matter", func(t *testing.T) {
		p.Send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"scope","arguments":{  }%s,%s}}`, retry(fresh(), app), joined.MetaRoots)
		p.expect(2, "roots app")
	})
	t.Run("no state with an answer", func(t *testing.T) {
		p.callModern(2, joined.MetaRoots, "scope", `,"inputResponses":{"roots":`+app+`}`)
		p.asked(2)
	})
	t.Run("broken seal", func(t *testing.T) {
		s := []byte(fresh())
		s[len(s)-5] ^= 1
		p.callModern(2, joined.MetaRoots, "scope", retry(string(s), app))
		if m := p.failed(2, -32602); m.Error.Message != errForged.Message {
			t.Error(m.Line)
		}
	})
	t.Run("not ours", func(t *testing.T) {
		for _, s := range []string{"x", "rb1.", "rb1.AAAA", "/", "null", strings.Repeat("a", 20000)} {
			p.callModern(2, joined.MetaRoots, "scope", retry(s, app))
			m := p.Recv()
			if s == "/" { // nothing of ours before the mark: no state
				if replyOf(t, m).RequestState == "" {
					t.Error(m.Line)
				}
				continue
			}
			if m.Error == nil || m.Error.Message != errForged.Message {
				t.Errorf("%.20q: %s", s, m.Line)
			}
		}
	})
	t.Run("other tool", func(t *testing.T) {
		p.callModern(2, joined.MetaRoots, "os", retry(fresh(), app))
		p.failed(2, -32602)
	})
	t.Run("other arguments", func(t *testing.T) {
		p.Send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"scope","arguments":{"path":"x"}%s,%s}}`, retry(fresh(), app), joined.MetaRoots)
		p.failed(2, -32602)
	})
	t.Run("other method", func(t *testing.T) {
		p.Send(`{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"scope"%s,%s}}`, retry(fresh(), app), joined.MetaRoots)
		p.failed(2, -32602)
	})
	t.Run("something behind it", func(t *testing.T) {
		p.callModern(2, joined.MetaRoots, "scope", retry(fresh()+"/inner", app))
		p.failed(2, -32602)
	})
	t.Run("spent by a tool that may change something", func(t *testing.T) {
		s := fresh()
		p.callModern(2, joined.MetaRoots, "scope", retry(s, app))
		p.expect(2, "roots app")
		p.callModern(3, joined.MetaRoots, "scope", retry(s, app))
		p.asked(3)
	})
	t.Run("not spent by a read", func(t *testing.T) {
		ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":%%d,"method":"resources/read","params":{"uri":"test://scope"%%s,%s}}`, joined.MetaRoots)
		p.Send(ask, 2, "")
		s := p.asked(2)
		for i := range 2 {
			p.Send(ask, 3+i, retry(s, app))
			if m := p.Recv(); !strings.Contains(m.Line, "roots app") {
				t.Error(m.Line)
			}
		}
	})
	t.Run("answer missing", func(t *testing.T) {
		p.callModern(2, joined.MetaRoots, "scope", fmt.Sprintf(`,"requestState":%q`, fresh()))
		again := p.asked(2)
		p.callModern(3, joined.MetaRoots, "scope", fmt.Sprintf(`,"requestState":%q`, again))
		p.refused(3, rootbound.AuthorityUnavailable)
		p.callModern(4, joined.MetaRoots, "scope", retry(again, app))
		p.expect(4, "roots app")
	})
	t.Run("answer of another kind", func(t *testing.T) {
		p.callModern(2, joined.MetaRoots, "scope", fmt.Sprintf(`,"requestState":%q,"inputResponses":{"roots":{"action":"accept"},"other":%s}`, fresh(), app))
		p.asked(2)
	})
	t.Run("answer malformed", func(t *testing.T) {
		long := `{"roots":[{"uri":"file:///` + strings.Repeat("a", 4<<10) + `"}]}`
		many := `{"roots":[` + strings.Repeat(`{"uri":"file:///a"},`, 256) + `{"uri":"file:///a"}]}`
		for _, answer := range []string{`{"roots":[null]}`, `{"roots":[{"name":"x"}]}`, `{"roots":null}`, long, many} {
			p.callModern(2, joined.MetaRoots, "scope", retry(fresh(), answer))
			m := p.Recv()
			if answer == `{"roots":null}` { // the SDK cannot tell its kind and refuses the call itself
				if m.Error == nil && replyOf(t, m).StructuredContent.Error.Reason != rootbound.RootsMalformed {
					t.Error(m.Line)
				}
				continue
			}
			if r := replyOf(t, m); r.StructuredContent.Error.Reason != rootbound.RootsMalformed {
				t.Errorf("%.40s: %s", answer, m.Line)
			}
		}
	})
	t.Run("empty", func(t *testing.T) {
		p.callModern(2, joined.MetaRoots, "scope", retry(fresh(), `{"roots":[]}`))
		p.refused(2, rootbound.RootsEmpty)
	})
	t.Run("roots no longer declared", func(t *testing.T) { // each request declares for itself
		p.callModern(2, joined.Meta, "scope", retry(fresh(), app))
		p.expect(2, "ceiling app lib")
	})
	t.Run("key of an earlier life", func(t *testing.T) {
		other := open(t, Options{}, "app", "lib")
		q := other.dial()
		q.callModern(1, joined.MetaRoots, "scope", "")
		p.callModern(2, joined.MetaRoots, "scope", retry(q.asked(1), app))
		p.asked(2)
	})
	t.Run("other authority under one key", func(t *testing.T) {
		ring, err := token.NewRing(token.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		a, b := open(t, Options{Ring: ring}, "app").dial(), open(t, Options{Ring: ring}, "app").dial()
		a.callModern(1, joined.MetaRoots, "scope", "")
		b.callModern(2, joined.MetaRoots, "scope", retry(a.asked(1), app))
		b.failed(2, -32602)
	})
}

// A state that has outlived its time is asked for again, and so is its successor's answer accepted.
func TestRequestStateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{StateTTL: time.Minute}, "app")
		p := w.dial()
		p.callModern(1, joined.MetaRoots, "scope", "")
		old := p.asked(1)
		time.Sleep(time.Minute) // the bubble's clock
		p.callModern(2, joined.MetaRoots, "scope", retry(old, w.roots("app")))
		p.callModern(3, joined.MetaRoots, "scope", retry(p.asked(2), w.roots("app")))
		p.expect(3, "roots app")
		p.In.Close()
	})
}

// A state belongs to its principal.
func TestRequestStateOfSomebodyElse(t *testing.T) {
	w := open(t, Options{Principal: func(req mcp.Request) (string, error) {
		name, _ := meta(req)["test/principal"].(string)
		return name, nil
	}}, "app")
	p := w.dial()
	as := func(name string) string {
		return strings.Replace(joined.MetaRoots, `"_meta":{`, `"_meta":{"test/principal":"`+name+`",`, 1)
	}
	p.callModern(1, as("ann"), "scope", "")
	s := p.asked(1)
	p.callModern(2, as("bob"), "scope", retry(s, w.roots("app")))
	p.failed(2, -32602)
	p.callModern(3, as("ann"), "scope", retry(s, w.roots("app")))
	p.expect(3, "roots app")
	w.scope.Revoke(Who{Principal: "ann"})
	p.callModern(4, as("ann"), "scope", "")
	p.callModern(5, as("ann"), "scope", retry(p.asked(4), w.roots("app")))
	p.refused(5, rootbound.RevokedByUser)
	p.callModern(6, as("bob"), "scope", "")
	p.callModern(7, as("bob"), "scope", retry(p.asked(6), w.roots("app")))
	p.expect(7, "roots app")
}

// --ask-modern=never and the modes that never ask.
func TestModernWithoutAsking(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"never", Options{NeverAskModern: true}, "ceiling app"},
		{"ignore", Options{Mode: authority.Ignore}, "ceiling app"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, c.o, "app").dial()
			p.callModern(1, joined.MetaRoots, "scope", "")
			p.expect(1, c.want)
		})
	}
	t.Run("require and never", func(t *testing.T) {
		p := open(t, Options{Mode: authority.Require, NeverAskModern: true}, "app").dial()
		p.callModern(1, joined.MetaRoots, "scope", "")
		p.refused(1, rootbound.NoScope)
	})
	t.Run("client and not declared", func(t *testing.T) {
		p := open(t, Options{Mode: authority.Client}).dial()
		p.callModern(1, joined.Meta, "scope", "")
		p.refused(1, rootbound.NoScope)
	})
}

// The halves of a question are joined by the state's nonce.
func TestAskedAndAnsweredAreJoined(t *testing.T) {
	w := open(t, Options{}, "app")
	p := w.dial()
	p.callModern(1, joined.MetaRoots, "scope", "")
	p.callModern(2, joined.MetaRoots, "scope", retry(p.asked(1), w.roots("app", "elsewhere")))
	p.expect(2, "roots app")
	if _, err := w.log.Await(t.Context(), func(r *decision.Record) bool { return r.Phase == decision.Published }); err != nil {
		t.Fatal(err)
	}
	var asked, answered, published *decision.Record
	for _, r := range w.log.Records() {
		switch r.Phase {
		case decision.Asked:
			asked = &r
		case decision.Answered:
			answered = &r
		case decision.Published:
			published = &r
		}
	}
	if asked == nil || answered == nil || asked.Correlate == "" || asked.Correlate != answered.Correlate {
		t.Fatalf("asked %+v\nanswered %+v", asked, answered)
	}
	if asked.RequestID != "1" || answered.RequestID != "2" || asked.Session.Era != "modern" || asked.Session.Client != "raw" {
		t.Errorf("asked %+v", asked)
	}
	if published == nil || len(published.Roots) != 2 || published.Roots[0].Reason != "" || published.Roots[1].Reason == "" {
		t.Errorf("the publication does not judge both roots: %+v", published)
	}
}

// A tool that asks for input of its own is asked around: its state travels in ours and its roots are fresh each time.
func TestInputsOfAnAuthorsTool(t *testing.T) {
	w := open(t, Options{}, "app", "lib")
	addTool(w.srv, "confirm", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if ok, _ := req.Params.InputResponses["sure"].(*mcp.ElicitResult); ok != nil {
			return say(req.Params.RequestState + " " + ok.Action + " " + w.granted(ctx)), nil
		}
		if len(req.Params.InputResponses) != 0 || req.Params.RequestState != "" {
			t.Errorf("the tool sees inputs it never asked for: %+v", req.Params)
		}
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{Message: "sure?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}},
			RequestState:  "mine",
		}, nil
	})
	p := w.dial()
	p.callModern(1, joined.MetaRoots, "confirm", "")
	p.callModern(2, joined.MetaRoots, "confirm", retry(p.asked(1), w.roots("app")))
	m := p.Recv()
	r := replyOf(t, m)
	if r.InputRequests["sure"] == nil || r.InputRequests["roots"] == nil || r.ResultType != "input_required" || strings.Contains(r.RequestState, "app") {
		t.Fatalf("got %s", m.Line)
	}
	rest := func(state, roots string) string {
		return fmt.Sprintf(`,"requestState":%q,"inputResponses":{"sure":{"action":"accept"},"roots":%s}`, state, roots)
	}
	p.callModern(3, joined.MetaRoots, "confirm", rest(r.RequestState+"x", w.roots("app")))
	p.failed(3, -32602)
	p.callModern(4, joined.MetaRoots, "confirm", rest(r.RequestState, w.roots("lib")))
	p.expect(4, "mine accept roots lib")
	p.callModern(5, joined.Meta, "confirm", "") // roots not declared: nothing of ours in between
	if r := replyOf(t, p.Recv()); r.RequestState != "mine" || r.InputRequests["roots"] != nil {
		t.Errorf("got %+v", r)
	}
}

// The default principal is the token's subject.
func TestSubject(t *testing.T) {
	req := &mcp.CallToolRequest{}
	if name, err := subject(req); name != "" || err != nil {
		t.Error(name, err)
	}
	req.Extra = &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: "ann"}}
	if name, err := subject(req); name != "ann" || err != nil {
		t.Error(name, err)
	}
	req.Extra.TokenInfo.UserID = ""
	if _, err := subject(req); err == nil {
		t.Error("a token without a subject")
	}
}
