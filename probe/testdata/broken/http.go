package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"sync"
)

// web serves the same messages over Streamable HTTP: each request has a stream, on which the server also asks.
type web struct {
	mu      sync.Mutex
	streams map[string]chan []byte
}

func (w *web) send(id, method string, line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if method != "" { // a question: on every open stream would be wrong with several clients; here there is one
		for _, c := range w.streams {
			c <- line
			return
		}
		return
	}
	if c := w.streams[id]; c != nil {
		c <- line
		close(c)
		delete(w.streams, id)
	}
}

func (s *server) serveHTTP(address string) {
	w := &web{streams: map[string]chan []byte{}}
	s.web = w
	err := http.ListenAndServe(address, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		line, err := io.ReadAll(r.Body)
		var m message
		if r.Method != http.MethodPost || err != nil || json.Unmarshal(line, &m) != nil {
			http.Error(out, "no", http.StatusMethodNotAllowed)
			return
		}
		if m.Method == "" || len(m.ID) == 0 {
			s.take(line)
			out.WriteHeader(http.StatusAccepted)
			return
		}
		c := make(chan []byte, 64)
		w.mu.Lock()
		w.streams[string(m.ID)] = c
		w.mu.Unlock()
		out.Header().Set("Mcp-Session-Id", "one")
		out.Header().Set("Content-Type", "text/event-stream")
		out.(http.Flusher).Flush()
		s.take(line)
		for line := range c {
			io.WriteString(out, "data: "+string(line)+"\n\n")
			out.(http.Flusher).Flush()
		}
	}))
	io.WriteString(os.Stderr, err.Error())
	os.Exit(1)
}
