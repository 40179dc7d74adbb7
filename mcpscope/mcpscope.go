// Package mcpscope gives each request of a go-sdk server its authority, in both protocol eras.
//
// An author adds one receiving middleware, outermost, and reads the request's hold with authority.From or hands the
// context to a guard:
//
//	scope := mcpscope.New(ceiling, mcpscope.Options{})
//	server.AddReceivingMiddleware(scope.Middleware())
//
// Legacy sessions (2024-11-05 to 2025-11-25) own one authority each; roots are asked by roots/list inside the call that
// needs them. Requests of 2026-07-28 share one authority for each principal; roots are asked by an input_required result
// whose requestState is sealed. The era is decided by the request's own _meta and by nothing else; on a pipe that was
// initialised as legacy, modern requests stay bounded by that session's authority.
//
// The middleware also counters what go-sdk v1.8.0 leaves to its users: panics, protocol versions that initialize never
// negotiated, handlers that outlive their session, errors that repeat what was sent. TestTrap… pins each of them.
package mcpscope

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/authority/token"
	"github.com/rootbound/rootbound/decision"
)

// Need says what a tools/call, resources/read or prompts/get wants of the authority.
type Need uint8

// What a call may need.
const (
	Scoped   Need = iota // refused without an authority; roots are asked when they are needed
	Informed             // asks like Scoped, but when refused the handler runs all the same, without a hold: see Scope.Status
	Free                 // never asks: a hold if there is a current snapshot, else none
)

// staleWait bounds how long a list_changed waits in the receive queue for commits under way (contract §4.3).
const staleWait = 250 * time.Millisecond

// Options of a Scope. The zero value: mode narrow, asks in both eras, 5 s, every call needs authority, every tool may
// change something, refusals as in contract §6, no record.
type Options struct {
	Mode           authority.Mode    // --roots; default narrow
	NeverAskModern bool              // --ask-modern=never
	Timeout        time.Duration     // for all asks of one legacy call; default 5 s
	EmptyIsCeiling bool              // --on-empty=ceiling
	AllowWide      bool              // --allow-wide-roots
	ClientProject  rootbound.Project // mode client: rights, rules and policies of each root

	Ring     *token.Ring   // seals requestState, shared by replicas; nil: a random key, then a restart asks again
	Spender  token.Spender // remembers the states that mutations used up; nil: in memory
	StateTTL time.Duration // life of a requestState; default 1 min, ten times as long while an author's own tool asks a person

	// Principal names who sends a request. Default: the bearer token's subject, "" without a token; a token without a
	// subject is refused, since the SDK would let any other token use its session.
	Principal func(mcp.Request) (string, error)

	Sessions    int // legacy sessions over HTTP of one principal: 100; one more is refused by Scope.Sessions
	AllSessions int // of all principals: 1,000

	Need    func(method, name string) Need // default: Scoped for all
	Mutates func(method, name string) bool // may change something, so roots must be fresh; default: each tools/call

	// Before is called before anything is asked of the client and without disk access: can the request be inside the
	// ceiling at all (contract §2, last rule)? An error ends the call. guard.Precheck answers it for file operations.
	Before func(ctx context.Context, c *authority.Ceiling, req mcp.Request) error

	// Denied is told what Before refused, and whom: guard.Denied counts it with the denials of the guard. nil: nobody is.
	Denied func(ctx context.Context, authority string, err error)

	// Sent tells what a request asks for, for the record of a refusal that comes before its handler. It must not touch the
	// file system. nil: the record does not say.
	Sent func(mcp.Request) Sent

	// Refuse turns a refusal into the reply. Default: ToolRefusal in the form that Form tells for tools/call, one constant
	// error for resources/read, an error with the refusal's text for everything else.
	Refuse func(ctx context.Context, req mcp.Request, e *rootbound.Error) (mcp.Result, error)

	// Form tells what the output schema of a tool leaves room for. Default: read from tools/list at the refusal.
	Form func(tool string) Form

	Sink      decision.Sink   // events of the authorities and refusals of the scope itself; nil: none
	Server    decision.Server // identity written into each of them
	Transport string          // "stdio" (default), "http" or "memory": for the record only

	Mark  func(id string, ended rootbound.Generation)    // see authority.Options; must not block or call back
	Drop  func(old, next *authority.Snapshot)            // before next is visible, see authority.Options; must not call back
	Panic func(incident string, value any, stack []byte) // a handler panicked; nil: not told
}

// Sent is what a request asks for, as it was sent; all of it may be empty.
type Sent struct {
	Op         rootbound.Operation
	Path, Dest string
}

// Scope owns the authorities of one server. Safe for concurrent use.
type Scope struct {
	ceiling *authority.Ceiling
	opt     Options
	terms   atomic.Pointer[Terms]
	ids     *decision.IDs
	process string // Origin.Session where the transport has no session of its own

	end    context.Context // ends with the scope
	finish context.CancelFunc

	mu       sync.Mutex
	closed   bool
	sessions map[*mcp.ServerSession]*party
	named    map[string][]*party // these by Origin.Session: a server that chooses the ids may give one twice
	subjects map[string]*party   // by principal
	places   places
	calls    map[mcp.Request]*call
	rules    []rule
	watchers sync.WaitGroup // one goroutine a legacy session, waits for its end
}

// New makes a Scope over c, which it does not close.
func New(c *authority.Ceiling, o Options) *Scope {
	if o.Ring == nil {
		o.Ring, _ = token.NewRing(token.NewKey()) // a fresh key is never refused
	}
	if o.Spender == nil {
		o.Spender = &token.Memory{}
	}
	if o.StateTTL <= 0 {
		o.StateTTL = time.Minute
	}
	if o.Principal == nil {
		o.Principal = subject
	}
	if o.Sessions <= 0 {
		o.Sessions = 100
	}
	if o.AllSessions <= 0 {
		o.AllSessions = 1000
	}
	if o.Need == nil {
		o.Need = func(string, string) Need { return Scoped }
	}
	if o.Mutates == nil {
		o.Mutates = func(method, _ string) bool { return method == "tools/call" }
	}
	if o.Sink == nil {
		o.Sink = decision.Discard{}
	}
	if o.Transport == "" {
		o.Transport = "stdio"
	}
	s := &Scope{
		ceiling: c, opt: o, ids: decision.NewIDs(), process: rand.Text(),
		sessions: map[*mcp.ServerSession]*party{}, named: map[string][]*party{}, subjects: map[string]*party{}, calls: map[mcp.Request]*call{},
	}
	s.terms.Store(filled(Terms{authority.Terms{Mode: o.Mode, Timeout: o.Timeout, EmptyIsCeiling: o.EmptyIsCeiling, AllowWide: o.AllowWide}, o.NeverAskModern}))
	s.end, s.finish = context.WithCancel(context.Background())
	return s
}

// subject is the default of Options.Principal.
func subject(req mcp.Request) (string, error) {
	x := req.GetExtra()
	if x == nil || x.TokenInfo == nil {
		return "", nil
	}
	if x.TokenInfo.UserID == "" {
		return "", errors.New("the token has no subject")
	}
	return x.TokenInfo.UserID, nil
}

// Middleware is to be the outermost receiving middleware: the last that is added, or the first argument of one call.
func (s *Scope) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			c := &call{scope: s, method: method, req: req, next: next, handling: handlingOf(method), modern: modern(req)}
			return c.contained(ctx)
		}
	}
}

// Close cancels what runs, closes every authority, ends every legacy session and waits for them until ctx ends. Later
// calls are refused.
func (s *Scope) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	all := s.partiesLocked()
	s.mu.Unlock()
	done := make(chan struct{})
	var ended sync.WaitGroup
	for _, p := range all {
		p.close()
		if p.session != nil { // Close waits for its handlers, which were cancelled just now
			ended.Go(func() { _ = p.session.Close() })
		}
	}
	s.finish() // after the authorities: who is stopped finds out why
	go func() { ended.Wait(); s.watchers.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
