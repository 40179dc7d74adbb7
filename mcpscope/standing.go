package mcpscope

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
)

// Standing is what remains of a request that asks for something later: a subscription. It holds no snapshot; each look
// takes what is in force then, without asking the client. Safe for concurrent use.
type Standing struct {
	party  *party
	origin rootbound.Origin
	call   *call
}

// Standing of a request that is being served. nil for one that has no authority to go by: a message outside any session.
func (s *Scope) Standing(req mcp.Request) *Standing {
	s.mu.Lock()
	c := s.calls[req]
	s.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.standing()
}

func (c *call) standing() *Standing {
	return &Standing{party: c.party, origin: c.origin, call: c}
}

// Authority is the id that Options.Mark and Options.Drop name it by.
func (st *Standing) Authority() string { return st.party.auth.ID() }

// Blind reports that no look of this request is allowed, as long as roots mean what they mean now: 2026-07-28 asks for
// them in other methods only, and these are what the request would have to bring.
func (st *Standing) Blind() bool {
	return st.party.session == nil && (st.call.wouldAsk() || st.call.scope.mode() == authority.Require)
}

// Legacy reports that the request came by a session that was initialised as legacy.
func (st *Standing) Legacy() bool { return st.party.session != nil }

// Ended is closed when the session or principal is gone, or the scope is closed.
func (st *Standing) Ended() <-chan struct{} { return st.party.end.Done() }

// Last is for a handler that stays until its client or the server ends it, as that of subscriptions/listen: it gives the
// request's hold back, and its context ends with the request and its party but not with the generation. Call it in the
// handler. What the handler returns then is not refused as stale.
func (st *Standing) Last() context.Context {
	st.call.lasting = true
	if st.call.use != nil {
		st.call.use.Release()
	}
	return st.call.during
}

// Look runs f under what is in force now, like a handler: authority.From gives its hold. The error is that of f, or a
// *rootbound.Error: authority_unavailable where the client would have to be asked, generation_stale or revoked_by_user if
// the generation ended before f returned. nil means that what f found may be handed over.
func (st *Standing) Look(ctx context.Context, f func(context.Context) error) error {
	use, err := st.current(ctx)
	if err != nil {
		return err
	}
	defer use.Release()
	origin := st.origin
	use.Origin = &origin
	inner, done := authority.With(ctx, use)
	defer done()
	err = f(inner)
	if stale := use.Stale(); stale != nil {
		return stale
	}
	return err
}

// current is a hold without asking. In the modern era nothing is current but what needs no answer: the ceiling, for a
// request whose roots would not be asked.
func (st *Standing) current(ctx context.Context) (*authority.Use, error) {
	switch {
	case st.party.session != nil:
		return st.party.auth.Current()
	case st.Blind():
		return nil, &rootbound.Error{Reason: rootbound.AuthorityUnavailable, Detail: "roots are not asked for this method",
			Next: "Listen to lists only, or start the server with --ask-modern=never."}
	}
	return st.party.auth.AcquireWith(ctx, authority.Capability{}, nil)
}

// Waits reports whether a Look failed for want of an authority, which may be there again later, and not for what it
// looked at.
func Waits(err error) bool {
	var e *rootbound.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Reason {
	case rootbound.AuthorityUnavailable, rootbound.GenerationStale, rootbound.RevokedByUser, rootbound.NoScope, rootbound.NoOverlap:
		return true
	}
	return false
}

// Passing reports whether a Look failed for want of time only: a change of the generation before is still being committed, or
// changes come too fast. Then nothing else may cause another look, so who waits for the next generation looks again, a
// moment later.
func Passing(err error) bool {
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Reason != rootbound.AuthorityUnavailable {
		return false
	}
	switch e.Detail {
	case "timeout", "overtaken", "a change is still being committed":
		return true
	}
	return false
}
