package mcpscope

import (
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
// DELETE ends what runs in the session before the SDK waits for it (see CloseSession). Authentication stands before it.
func (s *Scope) Sessions(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(sessionHeader)
		if id == "" {
			next.ServeHTTP(w, r)
			return
		}
		principal, err := s.principalOf(r)
		if err != nil || !s.owns(principal, id) {
			http.Error(w, "session not found", http.StatusNotFound) // the SDK's words for an unknown one
			return
		}
		if r.Method == http.MethodDelete {
			s.CloseSession(id)
		}
		next.ServeHTTP(w, r)
	})
}

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
func (s *Scope) initialized(req mcp.Request, principal string) {
	ss := server(req)
	if ss == nil || ss.ID() == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.legacyLocked(ss, principal)
	}
}
