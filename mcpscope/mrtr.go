package mcpscope

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/authority/token"
	"github.com/rootbound/rootbound/decision"
)

// The keys of our question among a request's inputs; the second where an author's own tool uses the first otherwise.
const (
	rootsKey  = "roots"
	rootsKey2 = "rootbound.roots"
)

// innerMark parts our token from the requestState of an author's own tool. It is in no token.
const innerMark = "/"

// target is what the three asking methods have in common.
type target struct {
	name   string // tool, prompt or URI
	args   []byte // JSON
	inputs mcp.InputResponseMap
	state  string
}

func targetOf(req mcp.Request) (target, bool) {
	switch p := req.GetParams().(type) {
	case *mcp.CallToolParamsRaw:
		if p != nil {
			return target{p.Name, p.Arguments, p.InputResponses, p.RequestState}, true
		}
	case *mcp.ReadResourceParams:
		if p != nil {
			return target{p.URI, nil, p.InputResponses, p.RequestState}, true
		}
	case *mcp.GetPromptParams:
		if p != nil {
			args, _ := json.Marshal(p.Arguments) // a map of strings
			return target{p.Name, args, p.InputResponses, p.RequestState}, true
		}
	}
	return target{}, false
}

// digest binds a state to this request: method, name, arguments without blanks, the inner state, and which round it is.
func (t target) digest(method, inner, round string) string {
	args := t.args
	var b bytes.Buffer
	if json.Compact(&b, args) == nil {
		args = b.Bytes()
	}
	return token.Digest([]byte(method), []byte(t.name), args, []byte(inner), []byte(round))
}

// personFactor is how much longer a state lives that carries one of an author's tool, which may wait for a person.
const personFactor = 10

// Rounds of one question: a missing answer is asked for once more.
const (
	firstRound = "1"
	lastRound  = "2"
)

// wouldAsk: the request declares roots and they count.
func (c *call) wouldAsk() bool {
	t := c.scope.terms.Load()
	return declares(c.req) && t.Mode != authority.Ignore && !t.NeverAskModern
}

// errForged is what every state gets that is not ours, not this principal's or not this request's: one text for all.
var errForged = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requestState does not belong to this request; send the call without it to be asked anew"}

// errNeedsRoots is -32021 (SEP-2575).
var errNeedsRoots = &jsonrpc.Error{
	Code:    mcp.CodeMissingRequiredClientCapabilities,
	Message: "this server serves only clients that declare roots; declare the capability, or start the server with --roots=narrow",
	Data:    json.RawMessage(`{"requiredCapabilities":{"roots":{}}}`),
}

// acquireModern takes a hold for a request of 2026-07-28 or asks: then reply is the question. The rows are those of the
// specification's pattern for multi round-trip requests; the state decides before any answer is looked at.
func (c *call) acquireModern(ctx context.Context) (reply mcp.Result, err error) {
	s, a := c.scope, c.party.auth
	if !c.wouldAsk() {
		if s.mode() == authority.Require && !declares(c.req) {
			s.refused(c, &rootbound.Error{Reason: rootbound.NoScope, Detail: "roots not declared"})
			return nil, errNeedsRoots
		}
		c.use, err = a.AcquireWith(ctx, authority.Capability{}, nil)
		return nil, err
	}
	c.asked = true
	ours, inner, nested := strings.Cut(c.target.state, innerMark)
	if ours == "" { // an answer nobody asked for counts for nothing
		return c.question(firstRound, "")
	}
	round := firstRound
	claims, err := c.open(ours, inner, nested, round)
	if errors.Is(err, token.ErrNotThis) {
		round = lastRound
		claims, err = c.open(ours, inner, nested, round)
	}
	switch {
	case errors.Is(err, token.ErrAskAgain): // a restart is normal; the handler starts over too
		return c.question(firstRound, "")
	case errors.Is(err, token.ErrStale):
		return nil, &rootbound.Error{Reason: rootbound.GenerationStale, Retryable: true}
	case err != nil:
		s.refused(c, &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: "requestState: " + err.Error()})
		return nil, errForged
	}
	res, ok := c.answer()
	if !ok {
		if round == firstRound {
			return c.question(lastRound, c.target.state[len(ours):])
		}
		return nil, authority.Advise(&rootbound.Error{Reason: rootbound.AuthorityUnavailable, Detail: "asked twice without an answer", Retryable: true}, s.mode())
	}
	s.joined(c, decision.Answered, claims.Nonce)
	ans, err := answerOf(res)
	if err != nil {
		s.eventOf(c, decision.Unavailable, rootbound.RootsMalformed, err.Error())
		return nil, authority.Advise(&rootbound.Error{Reason: rootbound.RootsMalformed, Err: err}, s.mode())
	}
	if s.opt.Mutates(c.method, c.target.name) {
		switch err := s.opt.Spender.Spend(claims.Nonce, claims.Expiry); {
		case errors.Is(err, token.ErrSpent): // a replay, or a client that lost our reply: ask anew
			return c.question(firstRound, "")
		case err != nil:
			return nil, &rootbound.Error{Reason: rootbound.LimitReached, Detail: "requestState cannot be spent", Retryable: true, Err: err}
		}
	}
	c.unwrap(inner, nested)
	c.use, err = a.AcquireWith(ctx, authority.Capability{Declared: true}, ans)
	return nil, err
}

func (c *call) open(ours, inner string, nested bool, round string) (token.Claims, error) {
	want := c.claims(mark(inner, nested), round)
	return c.scope.opt.Ring.Verify(ours, want, now())
}

// mark tells an empty inner state from none.
func mark(inner string, nested bool) string {
	if nested {
		return innerMark + inner
	}
	return ""
}

func (c *call) claims(inner, round string) token.Claims {
	return token.Claims{
		Kind: token.State, Authority: c.party.auth.ID(), Generation: c.party.auth.Generation(),
		Principal: c.party.principal, PlanDigest: c.target.digest(c.method, inner, round),
	}
}

// state seals a fresh state; inner is "" or begins with innerMark and is carried along.
func (c *call) state(inner, round string) (string, error) {
	claims := c.claims(inner, round)
	life := c.scope.opt.StateTTL // short: clients answer at once, and what mutations spend is remembered for as long
	if inner != "" {
		life *= personFactor
	}
	claims.Expiry, claims.Nonce = now().Add(life), rand.Text()
	text, err := c.scope.opt.Ring.Seal(claims)
	if err != nil {
		return "", err
	}
	c.scope.joined(c, decision.Asked, claims.Nonce)
	return text + inner, nil
}

// question is the input_required result. It is decoded from JSON because resultType is an unexported field which the SDK
// sets only on what a handler returns, and a middleware is no handler.
func (c *call) question(round, inner string) (mcp.Result, error) {
	state, err := c.state(inner, round)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{
		"resultType":    "input_required",
		"requestState":  state,
		"inputRequests": map[string]any{rootsKey: map[string]any{"method": "roots/list", "params": map[string]any{}}},
	})
	if err != nil {
		return nil, err
	}
	var res mcp.Result
	switch c.method {
	case "tools/call":
		res = new(mcp.CallToolResult)
	case "resources/read":
		res = new(mcp.ReadResourceResult)
	default:
		res = new(mcp.GetPromptResult)
	}
	err = json.Unmarshal(text, res)
	keepPrivate(res)
	return res, err
}

// answer finds the roots among the inputs.
func (c *call) answer() (*mcp.ListRootsResult, bool) {
	for _, key := range [...]string{rootsKey, rootsKey2} {
		if res, ok := c.target.inputs[key].(*mcp.ListRootsResult); ok {
			return res, true
		}
	}
	return nil, false
}

// unwrap gives the handler its own state and inputs. A handler that asked for nothing sees nothing.
func (c *call) unwrap(inner string, nested bool) {
	inputs := c.target.inputs
	if !nested {
		inputs = nil
	}
	switch r := c.req.(type) {
	case *mcp.CallToolRequest:
		p := *r.Params
		p.InputResponses, p.RequestState = inputs, inner
		r.Params = &p
	case *mcp.ReadResourceRequest:
		p := *r.Params
		p.InputResponses, p.RequestState = inputs, inner
		r.Params = &p
	case *mcp.GetPromptRequest:
		p := *r.Params
		p.InputResponses, p.RequestState = inputs, inner
		r.Params = &p
	}
}

// again puts our question beside those of a handler that asks for input itself: after every await authority and path are
// evaluated anew, and the handler's state travels inside ours.
func (c *call) again(res mcp.Result) error {
	if !c.asked {
		return nil
	}
	var requests *mcp.InputRequestMap
	var state *string
	switch r := res.(type) { // a handler may return a nil pointer
	case *mcp.CallToolResult:
		if r != nil {
			requests, state = &r.InputRequests, &r.RequestState
		}
	case *mcp.ReadResourceResult:
		if r != nil {
			requests, state = &r.InputRequests, &r.RequestState
		}
	case *mcp.GetPromptResult:
		if r != nil {
			requests, state = &r.InputRequests, &r.RequestState
		}
	}
	if requests == nil || *requests == nil && *state == "" {
		return nil
	}
	sealed, err := c.state(innerMark+*state, firstRound)
	if err != nil {
		return err
	}
	all := maps.Clone(*requests)
	if all == nil {
		all = mcp.InputRequestMap{}
	}
	if _, taken := all[rootsKey]; !taken {
		all[rootsKey] = &mcp.ListRootsParams{}
	} else if _, same := all[rootsKey].(*mcp.ListRootsParams); !same {
		all[rootsKey2] = &mcp.ListRootsParams{}
	}
	*requests, *state = all, sealed
	return nil
}

func now() time.Time { return time.Now() }
