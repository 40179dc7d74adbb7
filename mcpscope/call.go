package mcpscope

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// call is one message on its way through the middleware.
type call struct {
	scope    *Scope
	method   string
	req      mcp.Request
	next     mcp.MethodHandler
	handling handling
	modern   bool

	target  target
	party   *party
	during  context.Context // ends with the request and its party
	lasting bool            // goes on beyond its generation
	origin  rootbound.Origin
	use     *authority.Use
	asked   bool // modern: the roots of this call came with it
	refused *rootbound.Error
}

// serve gives the message its authority and passes it on.
func (c *call) serve(ctx context.Context) (mcp.Result, error) {
	s := c.scope
	if c.method == "initialize" {
		negotiate(c.req)
	}
	principal, err := s.opt.Principal(c.req)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: pipe.Bounded(err.Error(), rootbound.MaxEcho)}
	}
	switch c.handling {
	case pass:
		res, err := c.pass(ctx)
		if err == nil && c.method == "initialize" {
			s.initialized(ctx, c.req, principal)
		}
		return res, err
	case changed:
		s.listChanged(c.req, principal)
		return c.pass(ctx)
	}
	if c.party, err = s.partyOf(c.req, c.modern, principal); err != nil {
		return nil, err
	}
	c.target, _ = targetOf(c.req)
	c.origin = c.describe()
	ctx, done := s.begin(ctx, c)
	defer done()
	c.during = ctx

	switch c.handling {
	case asks:
		return c.scoped(ctx)
	case required:
		if watches(c.req) {
			return c.held(ctx, c.passive(ctx))
		}
	case current:
		_ = c.passive(ctx) // without a hold the handler answers what holds for everybody, or nothing
		return c.held(ctx, nil)
	}
	return c.pass(ctx)
}

// pass hands the message on without a hold.
func (c *call) pass(ctx context.Context) (mcp.Result, error) {
	res, err := c.next(ctx, c.method, c.req)
	return c.judge(ctx, res, err)
}

// scoped serves the three methods that may ask.
func (c *call) scoped(ctx context.Context) (mcp.Result, error) {
	s, need := c.scope, c.scope.opt.Need(c.method, c.target.name)
	if need == Free {
		_ = c.passive(ctx)
		return c.held(ctx, nil)
	}
	if s.opt.Before != nil {
		if err := s.opt.Before(ctx, s.ceiling, c.req); err != nil {
			if s.opt.Denied != nil && c.party.auth != nil {
				s.opt.Denied(ctx, c.party.auth.ID(), err)
			}
			return c.refuse(ctx, refusalOf(err))
		}
	}
	var reply mcp.Result
	var err error
	if c.party.session != nil {
		c.use, err = c.party.auth.Acquire(ctx, s.opt.Mutates(c.method, c.target.name))
	} else {
		reply, err = c.acquireModern(ctx)
	}
	var e *rootbound.Error
	switch {
	case reply != nil:
		return reply, nil
	case errors.As(err, &e) && need == Informed:
		c.refused = e
		err = nil
	case err != nil && e == nil:
		return nil, err
	}
	return c.held(ctx, err)
}

// passive takes what is current without asking.
func (c *call) passive(ctx context.Context) (err error) {
	c.use, err = c.standing().current(ctx)
	return err
}

// held runs the handler under the hold, in a context that ends with the generation. err refuses instead.
func (c *call) held(ctx context.Context, err error) (mcp.Result, error) {
	if err != nil {
		return c.refuse(ctx, refusalOf(err))
	}
	if c.use == nil {
		return c.pass(ctx)
	}
	defer c.use.Release()
	c.use.Origin = &c.origin
	inner, done := authority.With(ctx, c.use)
	defer done()
	res, err := c.next(inner, c.method, c.req)
	res, err = c.judge(ctx, res, err)
	if err == nil {
		if err = c.again(res); err != nil {
			return nil, err
		}
		keepPrivate(res)
	}
	// The reply is handed over now: the last check of a read (contract §4.3). What was committed is reported as done.
	if stale := c.use.Stale(); stale != nil && !c.use.Committed() && !c.lasting {
		return c.refuse(ctx, c.overtaken(refusalOf(stale)))
	}
	return pipe.Result(res), err
}

// keepPrivate marks what was read under a hold: kept for any time it would outlive a revocation, and as "public", the
// SDK's default, it might reach another principal.
func keepPrivate(res mcp.Result) {
	if r, ok := res.(*mcp.ReadResourceResult); ok && r != nil {
		r.TTLMs, r.CacheScope = 0, "private"
	}
}

// overtaken prefers the refusal the handler itself came to, which knows path and decision, if it says the same.
func (c *call) overtaken(e *rootbound.Error) *rootbound.Error {
	if c.refused != nil && c.refused.Reason == e.Reason {
		return c.refused
	}
	return e
}

// judge turns what a handler returned into what may leave: refusals get their form, other errors lose what they repeat.
func (c *call) judge(ctx context.Context, res mcp.Result, err error) (mcp.Result, error) {
	if err != nil {
		if e := Refused(err); e != nil {
			return c.refuse(ctx, e)
		}
		return nil, c.scrub(err)
	}
	if r, ok := res.(*mcp.CallToolResult); ok && r != nil && r.IsError {
		if e := Refused(r.GetError()); e != nil {
			return c.refuse(ctx, e)
		}
	}
	return res, nil
}

// listChanged marks the session's roots stale before any later message of it is looked at. It is honoured even if the
// client did not declare it; without a legacy session there is nobody who may read what it marks.
func (s *Scope) listChanged(req mcp.Request, principal string) {
	if s.mode() == authority.Ignore {
		return
	}
	s.mu.Lock()
	p := s.legacyLocked(server(req), principal)
	s.mu.Unlock()
	if p != nil && p.principal == principal {
		p.auth.MarkStale(rootbound.GenerationStale, staleWait)
	}
}

// begin registers the call and gives it a context that also ends with its party: the SDK waits for the handlers of a
// session that is closed and does not cancel them.
func (s *Scope) begin(ctx context.Context, c *call) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.party.end, cancel)
	s.mu.Lock()
	s.calls[c.req] = c
	c.party.running++
	s.mu.Unlock()
	return ctx, func() {
		s.mu.Lock()
		delete(s.calls, c.req)
		c.party.running--
		c.party.used = now()
		s.mu.Unlock()
		stop()
		cancel()
	}
}
