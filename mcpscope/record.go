package mcpscope

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// describeSession fills what initialize told. Everything a client says of itself is for the record only.
func (p *party) describeSession() {
	o := &p.origin
	o.Era = "legacy"
	if o.Session = p.session.ID(); o.Session == "" {
		o.Session = rand.Text()
	}
	init := p.session.InitializeParams()
	o.Protocol = init.ProtocolVersion
	o.ClientName, o.ClientVersion = clientOf(init.ClientInfo)
	capability := p.capability()
	o.RootsDeclared, o.RootsListChanged = capability.Declared, capability.ListChanged
}

func clientOf(i *mcp.Implementation) (name, version string) {
	if i == nil {
		return "", ""
	}
	return echo(i.Name), echo(i.Version)
}

// describe is the origin of one call.
func (c *call) describe() rootbound.Origin {
	o := c.party.origin
	o.Method, o.Tool = c.method, echo(c.target.name)
	if c.modern {
		o.Era, o.Protocol = "modern", metaVersion(c.req)
		if name, version := clientInfo(c.req); name != "" {
			o.ClientName, o.ClientVersion = name, version
		}
		if c.party.session == nil {
			o.RootsDeclared = declares(c.req)
		}
	}
	header := func(string) string { return "" }
	if x := c.req.GetExtra(); x != nil && x.Header != nil {
		header = x.Header.Get
		if id := pipe.RequestID(x.Header); id != "" {
			o.RequestID = echo(id)
		}
	}
	o.CorrelationID = echo(first(metaText(c.req, "claudecode/toolUseId"), header("X-Correlation-Id"), header("X-Request-Id")))
	o.TraceID = traceOf(first(metaText(c.req, "traceparent"), header("Traceparent")))
	return o
}

func first(of ...string) string {
	for _, s := range of {
		if s != "" {
			return s
		}
	}
	return ""
}

func echo(s string) string { return pipe.Bounded(s, rootbound.MaxEcho) }

// traceOf is the trace id of a W3C traceparent: version-trace-parent-flags.
func traceOf(parent string) string {
	f := strings.Split(parent, "-")
	if len(f) < 4 || len(f[1]) != 32 || strings.Trim(f[1], "0123456789abcdef") != "" {
		return ""
	}
	return f[1]
}

// note takes the events of an authority into the record. A publication has every root of the answer with its verdict. A
// ceiling that goes on being in force because nobody was asked is no event: it would be one for each modern call.
func (p *party) note(e authority.Event) {
	if e.Kind == decision.Confirmed && e.Snapshot != nil && e.Snapshot.Source == "ceiling" {
		return
	}
	r := p.scope.blank(p, &p.origin, e.Kind)
	if snap := e.Snapshot; snap != nil {
		r.Authority.ID, r.Authority.Generation, r.Authority.Source = snap.Authority, snap.Generation, snap.Source
		r.Authority.Declared, r.Authority.ListChanged = snap.Capability.Declared, snap.Capability.ListChanged
		r.Authority.RootsDigest, r.Authority.PolicyDigest = snap.RootsDigest, snap.PolicyDigest
	}
	r.Reason = e.Why
	var refusal *rootbound.Error
	if errors.As(e.Err, &refusal) {
		r.Reason, r.Detail = refusal.Reason, pipe.Bounded(refusal.Detail, pipe.MaxErrorText)
	}
	for _, v := range e.Verdicts {
		r.Roots = append(r.Roots, decision.Root{URI: v.URI, Root: v.Root, Reason: v.Reason, Detail: v.Detail, Warn: v.Warn})
	}
	p.scope.opt.Sink.Event(r)
}

// stateAfter is the state an event leaves its authority in.
func stateAfter(kind string) string {
	switch kind {
	case decision.Asked, decision.Answered:
		return "pending"
	case decision.Published, decision.Confirmed:
		return "current"
	case decision.Stale, decision.Revoked:
		return "stale"
	case decision.Unavailable:
		return "unavailable"
	case decision.Closed:
		return "closed"
	}
	return ""
}

func (s *Scope) blank(p *party, o *rootbound.Origin, phase string) *decision.Record {
	r := &decision.Record{ID: s.ids.Next(), Phase: phase, Time: now().UTC(), Server: s.opt.Server, Enforced: true}
	r.SetOrigin(o)
	r.Authority.State = stateAfter(phase)
	if p != nil && p.auth != nil {
		r.Authority.ID = p.auth.ID()
	}
	return r
}

// eventOf records something that happened to a call and returns the record's id.
func (s *Scope) eventOf(c *call, phase string, why rootbound.Reason, detail string) string {
	r := s.eventFor(c, phase, why, detail)
	s.opt.Sink.Event(r)
	return r.ID
}

// refused records a refusal that no guard has recorded, with what was sent like one of the guard's (contract §7).
func (s *Scope) refused(c *call, e *rootbound.Error) string {
	r := s.eventFor(c, decision.Refused, e.Reason, decision.Facts(e.Detail))
	r.Decision = decision.Verdict(e)
	if s.opt.Sent != nil {
		sent := s.opt.Sent(c.req)
		r.Operation, r.PathSent, r.DestSent = sent.Op, sent.Path, sent.Dest
		if sent.Op != "" {
			r.Canonical = "refused"
		}
	}
	s.opt.Sink.Event(r)
	return r.ID
}

func (s *Scope) eventFor(c *call, phase string, why rootbound.Reason, detail string) *decision.Record {
	o := c.origin
	if o.Method == "" {
		o.Method, o.Transport = c.method, s.opt.Transport
	}
	r := s.blank(c.party, &o, phase)
	r.Reason, r.Detail = why, pipe.Bounded(detail, pipe.MaxErrorText)
	if c.use != nil {
		snap := c.use.Snapshot()
		r.Authority.Generation, r.Authority.Source = snap.Generation, snap.Source
	}
	return r
}

// joined records one half of a question of the modern era; both halves have the state's nonce as correlation id.
func (s *Scope) joined(c *call, phase, nonce string) {
	o := c.origin
	o.CorrelationID = nonce
	s.opt.Sink.Event(s.blank(c.party, &o, phase))
}

// Status is what is in force for one request.
type Status struct {
	authority.Status
	Origin  rootbound.Origin
	Held    bool             // the request has a hold: what is shown is what it may touch, not what was in force last
	Refused *rootbound.Error // of an Informed call: why there is no hold
}

// Status tells what is in force for a request that is being served; ctx is its handler's.
func (s *Scope) Status(ctx context.Context, req mcp.Request) Status {
	s.mu.Lock()
	c := s.calls[req]
	s.mu.Unlock()
	if c == nil {
		return Status{}
	}
	st := Status{Status: c.party.auth.Status(), Origin: c.origin, Refused: c.refused}
	if use, err := authority.From(ctx); err == nil { // of the modern era a call may have a snapshot of its own
		snap := use.Snapshot()
		st.Held = use.Stale() == nil
		st.State, st.Generation, st.Source = "current", snap.Generation, snap.Source
		st.Grants, st.Verdicts, st.Err = snap.Grants, snap.Verdicts, nil
	}
	return st
}

// All lists every authority, for people.
func (s *Scope) All() []Status {
	var out []Status
	for _, p := range s.parties() {
		out = append(out, Status{Status: p.auth.Status(), Origin: p.origin})
	}
	return out
}
