package mcpscope

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
)

// maxSubjects is how many principals keep an authority while they are idle.
const maxSubjects = 4096

// party is whom an authority belongs to: a legacy session, or a principal of the modern era.
type party struct {
	scope     *Scope
	session   *mcp.ServerSession // nil for principals
	principal string
	origin    rootbound.Origin // what is the same for all its requests
	auth      *authority.Authority
	end       context.Context // ends what runs when the party is closed
	finish    context.CancelFunc
	gone      chan struct{} // of a session: closed when nothing of it is left here

	running int       // under Scope.mu
	used    time.Time // under Scope.mu: when the last call ended
}

var (
	errUninitialized = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the session is not initialized: send initialize first, or the protocol version with each request"}
	errPrincipal     = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the session belongs to somebody else"}
	errClosing       = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server is closing"}
)

// partyOf finds or makes the party of a request. A session that was initialised as legacy bounds everything that comes by
// it, modern requests too (contract §2); else modern requests belong to their principal, and legacy ones have no home.
func (s *Scope) partyOf(req mcp.Request, isModern bool, principal string) (*party, error) {
	ss := server(req)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosing
	}
	if p := s.legacyLocked(ss, principal); p != nil {
		if p.principal != principal {
			return nil, errPrincipal
		}
		return p, nil
	}
	if !isModern {
		return nil, errUninitialized
	}
	if p := s.subjects[principal]; p != nil {
		return p, nil
	}
	s.pruneLocked()
	p := s.newPartyLocked(nil, principal)
	s.subjects[principal] = p
	return p, nil
}

// legacyLocked is the party of a session that was initialised as legacy, or nil. The SDK keeps the parameters of
// initialize, whose version negotiate has made a legacy one; a session that began with a modern request keeps those.
func (s *Scope) legacyLocked(ss *mcp.ServerSession, principal string) *party {
	if ss == nil {
		return nil
	}
	if p := s.sessions[ss]; p != nil {
		return p
	}
	init := ss.InitializeParams()
	if init == nil || !legacyVersion(init.ProtocolVersion) {
		return nil
	}
	p := s.newPartyLocked(ss, principal)
	name := p.origin.Session
	s.sessions[ss], s.named[name] = p, append(s.named[name], p)
	if ss.ID() != "" {
		s.places.hold(principal)
	}
	p.gone = make(chan struct{})
	s.watchers.Go(func() { // ends with the session
		defer close(p.gone)
		_ = ss.Wait()
		p.close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, ss)
		if ss.ID() != "" {
			s.places.free(principal)
		}
		if s.named[name] = slices.DeleteFunc(s.named[name], func(q *party) bool { return q == p }); len(s.named[name]) == 0 {
			delete(s.named, name)
		}
	})
	return p
}

func (s *Scope) newPartyLocked(ss *mcp.ServerSession, principal string) *party {
	p := &party{scope: s, session: ss, principal: principal}
	p.end, p.finish = context.WithCancel(s.end)
	p.origin = rootbound.Origin{Transport: s.opt.Transport, Principal: principal, Era: "modern"}
	if s.opt.Transport != "http" {
		p.origin.Session = s.process
	}
	t := s.terms.Load()
	o := authority.Options{
		Mode: t.Mode, Timeout: t.Timeout, EmptyIsCeiling: t.EmptyIsCeiling, AllowWide: t.AllowWide,
		ClientProject: s.opt.ClientProject, Mark: s.opt.Mark, Drop: s.opt.Drop, Note: p.note,
	}
	if ss != nil {
		p.describeSession()
		o.Capability, o.Ask = p.capability, p.ask
	}
	p.auth = authority.New(s.ceiling, o)
	for _, r := range s.rules {
		if r.binds(p) {
			p.auth.Revoke(r.ids...)
		}
	}
	return p
}

// pruneLocked forgets principals that have been idle for longer than any requestState of theirs lives. What was revoked
// is kept in the rules and binds them again.
func (s *Scope) pruneLocked() {
	if len(s.subjects) < maxSubjects {
		return
	}
	for name, p := range s.subjects {
		if p.running == 0 && time.Since(p.used) > personFactor*s.opt.StateTTL {
			delete(s.subjects, name)
			p.close()
		}
	}
}

// close ends the authority and what runs, in this order, so that who is stopped finds out why. Idempotent.
func (p *party) close() {
	p.auth.Close()
	p.finish()
}

// capability is what the session declared in initialize.
func (p *party) capability() authority.Capability {
	init := p.session.InitializeParams()
	if init == nil || init.Capabilities == nil || init.Capabilities.RootsV2 == nil {
		return authority.Capability{}
	}
	return authority.Capability{Declared: true, ListChanged: init.Capabilities.RootsV2.ListChanged}
}

// ask is roots/list. ctx descends from the call that leads, so that over HTTP the question goes out on that call's own
// stream, and so that it ends with it.
func (p *party) ask(ctx context.Context) (*authority.Answer, error) {
	res, err := p.session.ListRoots(ctx, nil)
	if err != nil {
		var we *jsonrpc.Error
		switch {
		case errors.As(err, &we) && we.Code == jsonrpc.CodeMethodNotFound:
			return nil, errors.Join(authority.ErrUnsupported, err)
		case undecodable(err):
			return nil, errors.Join(authority.ErrMalformed, err)
		}
		return nil, err
	}
	return answerOf(res)
}

func (s *Scope) parties() []*party {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partiesLocked()
}

func (s *Scope) partiesLocked() []*party {
	all := make([]*party, 0, len(s.sessions)+len(s.subjects))
	for _, p := range s.sessions {
		all = append(all, p)
	}
	for _, p := range s.subjects {
		all = append(all, p)
	}
	return all
}
