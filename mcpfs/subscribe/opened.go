package subscribe

import "net/http"

// sessionHeader names a legacy session over HTTP.
const sessionHeader = "Mcp-Session-Id"

// Streams stands before the handler that keeps legacy sessions over Streamable HTTP, behind Scope.Sessions. Such a session
// hears by a stream of its own, which its client opens with GET. What is to be told while there is none waits, bounded like
// what is not read, and is told as soon as it is opened. What was written to a stream that ended may never have arrived: it
// is told once more. Without this handler what waits is told with the next change after that.
func (h *Hub) Streams(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get(sessionHeader); r.Method == http.MethodGet && id != "" {
			w = &opening{ResponseWriter: w, opened: func() { h.opened(id) }}
		}
		next.ServeHTTP(w, r)
	})
}

func (h *Hub) opened(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, st := range h.named[session] {
		st.opened()
	}
}

// opened lets the stream tell what waits and what may be lost.
func (st *stream) opened() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.lists |= st.sent
	for _, s := range st.subs {
		if s.sent {
			s.add("")
		}
	}
	st.nudge()
}

// opening notices that a stream begins: the SDK sends its header and a comment at once, and nothing else before it can tell
// something by it.
type opening struct {
	http.ResponseWriter
	opened func() // nil: it did, or will not
}

// WriteHeader implements http.ResponseWriter.
func (o *opening) WriteHeader(status int) {
	if status != http.StatusOK {
		o.opened = nil
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (o *opening) Write(p []byte) (int, error) {
	n, err := o.ResponseWriter.Write(p)
	if f := o.opened; f != nil && err == nil {
		o.opened = nil
		f()
	}
	return n, err
}

// Unwrap is for http.ResponseController.
func (o *opening) Unwrap() http.ResponseWriter { return o.ResponseWriter }
