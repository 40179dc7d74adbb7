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
// negotiated, handlers that outlive their session, errors that repeat what was sent. traps_test.go pins each of them.
package mcpscope

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/decision"
)

// Need says what a tools/call, resources/read or prompts/get wants of the authority.
type Need uint8

const (
	Scoped   Need = iota // refused without an authority; roots are asked when they are needed
	Informed             // asks like Scoped, but the handler runs without a hold when refused: see Scope.Status
	Free                 // never asks: a hold if there is a current snapshot, else none
)

// Options of a Scope. The zero value: mode narrow, asks in both eras, 5 s, every call needs authority and may change
// something, refusals as in contract §6, no record.
type Options struct {
	Mode           authority.Mode    // --roots; default narrow
	NeverAskModern bool              // --ask-modern=never
	Timeout        time.Duration     // for all asks of one legacy call; default 5 s
	EmptyIsCeiling bool              // --on-empty=ceiling
	AllowWide      bool              // --allow-wide-roots
	ClientProject  rootbound.Project // mode client: rights, rules and policies of each root

	Key      []byte        // 32 bytes that seal requestState, shared by replicas; nil: random, then a restart asks again
	StateTTL time.Duration // life of a requestState; default 5 min

	// Principal names who sends a request. Default: the bearer token's subject, "" without a token; a token without a
	// subject is refused (the SDK would let another token use the session).
	Principal func(mcp.Request) (string, error)

	Need    func(method, name string) Need // default: Scoped for all
	Mutates func(method, name string) bool // may change something, so roots must be fresh; default: each tools/call

	// Before is asked before anything is asked of the client and without disk access whether the request can be inside the
	// ceiling at all (contract §2, last rule). A refusal ends the call. guard.Precheck does it for file operations.
	Before func(ctx context.Context, c *authority.Ceiling, req mcp.Request) error

	// Refuse turns a refusal into the reply. Default: Reply.
	Refuse func(ctx context.Context, req mcp.Request, e *rootbound.Error) (mcp.Result, error)

	Sink      decision.Sink   // events of the authorities; nil: none
	Server    decision.Server // identity written into each event
	Transport string          // "stdio" (default), "http", "memory": for the record only

	Drop  func(old, next *authority.Snapshot) // before next is visible; must not call back
	Panic func(id string, value any, stack []byte)
}

// Scope owns the authorities of one server. Safe for concurrent use.
type Scope struct{}

// New makes a Scope over c, which it does not close.
func New(c *authority.Ceiling, o Options) *Scope { panic("stub") }

// Middleware is to be the outermost receiving middleware: AddReceivingMiddleware called last, or its first argument.
func (s *Scope) Middleware() mcp.Middleware { panic("stub") }

// Who selects authorities. Empty fields match everything.
type Who struct {
	Principal string
	Session   string // Origin.Session
	Client    string // self-reported name; 2026-07-28: ignored, so a renamed client escapes nothing
}

// Revoke takes projects or roots back (no ids: everything) from all who match, now and later: revoked_by_user.
func (s *Scope) Revoke(w Who, ids ...rootbound.RootID) { panic("stub") }

// Unrevoke lifts what Revoke with equal arguments laid down.
func (s *Scope) Unrevoke(w Who, ids ...rootbound.RootID) { panic("stub") }

// Invalidate ends the current generation of all authorities, for a configuration that changed.
func (s *Scope) Invalidate(why rootbound.Reason) { panic("stub") }

// Status is what is in force for one request.
type Status struct {
	authority.Status
	Origin  rootbound.Origin
	Refused *rootbound.Error // Informed calls: why there is no hold
}

// Status tells what is in force for a request that is being served.
func (s *Scope) Status(req mcp.Request) Status { panic("stub") }

// All lists every authority, legacy sessions first.
func (s *Scope) All() []Status { panic("stub") }

// CloseSession cancels what runs in a legacy session and ends its authority. The SDK waits for handlers without
// cancelling them when a session is deleted over HTTP: call this first.
func (s *Scope) CloseSession(id string) { panic("stub") }

// Close cancels what runs, closes every authority and every session, and waits for them until ctx ends.
func (s *Scope) Close(ctx context.Context) error { panic("stub") }
