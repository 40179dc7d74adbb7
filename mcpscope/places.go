package mcpscope

import (
	"context"
	"fmt"
	"net/http"
)

// places are those of legacy sessions over HTTP, and of requests that may become one. All of it is under Scope.mu.
type places struct {
	all  int
	each map[string]int // by principal
}

// place is that of a request which has no session yet.
type place struct {
	principal string
	given     bool // back
}

type placeKey struct{}

func (l *places) hold(principal string) {
	if l.each == nil {
		l.each = map[string]int{}
	}
	l.all++
	l.each[principal]++
}

func (l *places) free(principal string) {
	l.all--
	if l.each[principal]--; l.each[principal] == 0 {
		delete(l.each, principal)
	}
}

func (l *places) give(p *place) {
	if !p.given {
		p.given = true
		l.free(p.principal)
	}
}

// admitted serves a request that makes a session, if there is a place for it. The SDK keeps the session if it was initialized;
// its place is counted until then by the request, and from then on by the session.
func (s *Scope) admitted(w http.ResponseWriter, r *http.Request, principal string, next http.Handler) {
	p := &place{principal: principal}
	s.mu.Lock()
	own, all := s.places.each[principal] < s.opt.Sessions, s.places.all < s.opt.AllSessions
	if own && all {
		s.places.hold(principal)
	}
	s.mu.Unlock()
	switch {
	case !own:
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("too many sessions: you have %d, which is the most; end one that you no longer need with DELETE and its Mcp-Session-Id, or go on in one of them", s.opt.Sessions), http.StatusTooManyRequests)
		return
	case !all:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many sessions are open on this server: try again later", http.StatusServiceUnavailable)
		return
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.places.give(p)
	}()
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), placeKey{}, p)))
}
