package mcpscope

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/authority/token"
)

// agreeKey is the key of the question among a request's inputs.
const agreeKey = "rootbound.agree"

// agreeSchema makes agreeing a deed of its own: a form that is sent off unread says nothing.
const agreeSchema = `{"type":"object","properties":{"agree":{"type":"boolean","title":"Agree","description":"Make these changes"}},"required":["agree"]}`

// Question is what the user of a client is asked to agree to.
type Question struct {
	Message string    // shown by the client
	Binds   string    // digest of what is agreed to; another one needs another answer
	Until   time.Time // an answer that comes later counts for nothing
}

// Consent is what came of a Question.
type Consent struct {
	Asked  bool                // false: the client cannot ask its user
	Agreed bool                // only where Asked
	Ask    *mcp.CallToolResult // 2026-07-28: what the handler is to return now; the call comes again with the answer
}

// Agree asks the user of the client that sent a tools/call, by elicitation: with a request to the client in the legacy
// era, inside the call in 2026-07-28. It tells what the client says of its user, no more. When it returns Agreed, the
// authority is as fresh as at the start of a call that changes something, and says of the request that it was agreed to
// (authority.Use.Agreed); everything else is to be judged anew.
//
// Errors: authority_unavailable and what Acquire refuses with, cancelled, io_error if the client answers with an error.
func (s *Scope) Agree(ctx context.Context, req *mcp.CallToolRequest, q Question) (Consent, error) {
	s.mu.Lock()
	c := s.calls[req]
	s.mu.Unlock()
	use, err := authority.From(ctx)
	if c == nil || err != nil {
		return Consent{}, &rootbound.Error{Reason: rootbound.NoScope}
	}
	if c.modern {
		return s.agreeModern(c, use, req, q)
	}
	if !elicits(req) {
		return Consent{}, nil
	}
	limited, done := context.WithDeadlineCause(ctx, q.Until, errLate)
	defer done()
	res, err := req.Session.Elicit(limited, &mcp.ElicitParams{Message: q.Message, RequestedSchema: json.RawMessage(agreeSchema)})
	if stale := use.Stale(); stale != nil {
		return Consent{}, stale
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return Consent{}, &rootbound.Error{Reason: rootbound.Cancelled, Err: err}
	case err != nil && errors.Is(context.Cause(limited), errLate):
		return Consent{Asked: true}, nil
	case err != nil:
		return Consent{}, &rootbound.Error{Reason: rootbound.IOError, Detail: "the client cannot ask its user", Err: err}
	case !yes(res):
		return Consent{Asked: true}, nil
	}
	// The client may have other roots by now; an announcement of them may come behind the answer.
	fresh, err := c.party.auth.Renew(ctx)
	if err != nil {
		return Consent{}, err
	}
	fresh.Release()
	if err := use.Stale(); err != nil {
		return Consent{}, err
	}
	use.Agreed = authority.ByElicitation
	return Consent{Asked: true, Agreed: true}, nil
}

var errLate = errors.New("the user did not answer in time")

// yes reports an answer that agrees.
func yes(r *mcp.ElicitResult) bool {
	return r != nil && r.Action == "accept" && r.Content["agree"] == true
}

// elicits reports that the client of a legacy session can ask its user by a form.
func elicits(req *mcp.CallToolRequest) bool {
	if req.Session == nil {
		return false
	}
	p := req.Session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // an empty object stands for forms
}

// agreeModern asks inside the call. What is agreed to stands in the sealed state, so that an answer to another question,
// or to none, counts for nothing.
func (s *Scope) agreeModern(c *call, use *authority.Use, req *mcp.CallToolRequest, q Question) (Consent, error) {
	if caps, _ := meta(req)[mcp.MetaKeyClientCapabilities].(map[string]any); caps["elicitation"] == nil {
		return Consent{}, nil
	}
	snap := use.Snapshot()
	want := token.Claims{Kind: token.State, Authority: snap.Authority, Generation: snap.Generation, Principal: c.party.principal,
		RootsDigest: snap.RootsDigest, PolicyDigest: snap.PolicyDigest, PlanDigest: token.Digest([]byte(agreeKey), []byte(c.target.name), []byte(q.Binds))}
	res, answered := req.Params.InputResponses[agreeKey].(*mcp.ElicitResult)
	if answered && req.Params.RequestState != "" {
		switch _, err := s.opt.Ring.Verify(req.Params.RequestState, want, now()); {
		case err == nil && yes(res):
			use.Agreed = authority.ByElicitation
			return Consent{Asked: true, Agreed: true}, nil
		case err == nil:
			return Consent{Asked: true}, nil
		case errors.Is(err, token.ErrStale):
			return Consent{}, &rootbound.Error{Reason: rootbound.GenerationStale, Retryable: true}
		}
		// Expired, or an answer to something else: asked anew.
	}
	want.Nonce, want.Expiry = rand.Text(), q.Until
	state, err := s.opt.Ring.Seal(want)
	if err != nil {
		return Consent{}, err
	}
	return Consent{Asked: true, Ask: &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{agreeKey: &mcp.ElicitParams{Message: q.Message, RequestedSchema: json.RawMessage(agreeSchema)}},
		RequestState:  state,
	}}, nil
}
