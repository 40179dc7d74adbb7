package mcpscope

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionHeader names a legacy session over HTTP.
const sessionHeader = "Mcp-Session-Id"

// Sessions stands before the handler that serves legacy sessions over Streamable HTTP. A session is that of the principal
// who initialized it; to anybody else its id is an unknown one, whatever he sends with it. The middleware sees requests
// only, but by an id also the stream of a session can be opened, its questions answered, its calls cancelled and all of it
// ended; the SDK lets the holder of the id do so unless a bearer token with another subject is in force.
//
// Each session costs memory for as long as it lives, whether or not its client comes back. One principal has so many as
// Options.Sessions says, and all together Options.AllSessions; who begins one more is refused with 429, or 503, which say
// what to do. No session is ended to make room for another.
//
// DELETE ends what runs in the session before the SDK waits for it (see CloseSession). Authentication stands before it.
func (s *Scope) Sessions(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(sessionHeader)
		principal, err := s.principalOf(r)
		if id == "" {
			if r.Method == http.MethodPost { // it makes a session
				s.admitted(w, r, principal, next)
			} else {
				next.ServeHTTP(w, r)
			}
			return
		}
		if err != nil || !s.owns(principal, id) {
			http.Error(w, "session not found", http.StatusNotFound) // the SDK's words for an unknown one
			return
		}
		if r.Method != http.MethodDelete {
			next.ServeHTTP(w, r)
			return
		}
		ends, answer := s.closeSession(id), &ending{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		for _, p := range ends { // so that its place is free when the client has the answer
			if !answer.over {
				break
			}
			select {
			case <-p.gone:
			case <-r.Context().Done():
			}
		}
	})
}

// ending notices that the SDK has ended a session.
type ending struct {
	http.ResponseWriter
	over bool
}

// WriteHeader implements http.ResponseWriter.
func (e *ending) WriteHeader(status int) {
	e.over = status == http.StatusNoContent
	e.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (e *ending) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// principalOf is Options.Principal, before there is a message.
func (s *Scope) principalOf(r *http.Request) (string, error) {
	return s.opt.Principal(&mcp.ServerRequest[*mcp.PingParams]{
		Params: &mcp.PingParams{}, Extra: &mcp.RequestExtra{TokenInfo: auth.TokenInfoFromContext(r.Context()), Header: r.Header},
	})
}

// owns reports that there are sessions of an id and that they are this principal's.
func (s *Scope) owns(principal, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.named[id] {
		if p.session.ID() != id || p.principal != principal { // a session over a pipe has no id that a header could name
			return false
		}
	}
	return len(s.named[id]) > 0
}

// initialized makes the party of a session that has an id, so that it is its principal's from the first moment on.
func (s *Scope) initialized(ctx context.Context, req mcp.Request, principal string) {
	ss := server(req)
	if ss == nil || ss.ID() == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.legacyLocked(ss, principal) != nil {
		if p, ok := ctx.Value(placeKey{}).(*place); ok {
			s.places.give(p) // the session has one of its own
		}
	}
}
