package unread

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime/metrics"
	"strings"
	"time"
)

// piece is how much is written by one deadline: who reads slowly has one for each.
const piece = 32 << 10

// answer is what goes to a client for one request. Fields without a word are under Bounds.mu.
type answer struct {
	b       *Bounds
	w       http.ResponseWriter
	control *http.ResponseController
	session string // of the legacy era

	client  *client
	who     string
	reading int64     // bytes held of the request, or kept for it
	writing int64     // bytes that are being written
	works   bool      // it takes one of the places of its principal
	moved   time.Time // when something was taken last; zero: nothing is being written
	hurried bool      // its deadline is the short one
	urgent  bool      // and will be
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.w.WriteHeader(status) }

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.w }

// FlushError is for http.ResponseController.
func (a *answer) FlushError() error {
	a.b.mu.Lock()
	a.b.arms(a)
	a.moved = time.Now()
	a.b.mu.Unlock()
	err := a.control.Flush()
	a.b.mu.Lock()
	a.b.rests(a)
	a.b.mu.Unlock()
	return err
}

// Write implements http.ResponseWriter. Events are written through to the connection, so that one that cannot be written
// is an error: the SDK looks at no other.
func (a *answer) Write(p []byte) (n int, err error) {
	b := a.b
	b.mu.Lock()
	b.leaves(a)
	a.moved = time.Now()
	b.reads(a, 0)
	b.writes(a, int64(len(p)))
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.rests(a)
		b.writes(a, 0)
	}()
	events := strings.HasPrefix(a.w.Header().Get("Content-Type"), "text/event-stream")
	for first := true; first || n < len(p); first = false {
		b.mu.Lock()
		a.moved = time.Now()
		b.arms(a)
		b.mu.Unlock()
		k, err := a.w.Write(p[n:min(n+piece, len(p))])
		n += k
		if err == nil && events {
			if err = a.control.Flush(); errors.Is(err, http.ErrNotSupported) {
				err = nil
			}
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// body is a request that is read when there is room for it. A call with a large answer begins when its principal may have one
// more at work; what a client answers, announces or cancels never waits for that.
type body struct {
	io.ReadCloser
	ctx    context.Context
	a      *answer
	length int64 // -1: not known
	came   int64
	begun  bool
	over   bool
	text   []byte // what came, as far as it is short
}

// short is how much of a request is looked at. A longer one is taken for a call.
const short = 64 << 10

// heavy tells calls whose answers may be large.
func (r *body) heavy() bool {
	var m map[string]json.RawMessage // by their exact names, as the SDK has it: a field of a struct would take Method too
	var method string
	if len(r.text) >= short || json.Unmarshal(r.text, &m) != nil { // a batch, too
		return true
	}
	if of := m["method"]; of != nil && json.Unmarshal(of, &method) != nil {
		return true
	}
	return method == "tools/call" || method == "resources/read"
}

// Read implements io.Reader.
func (r *body) Read(p []byte) (int, error) {
	a, b := r.a, r.a.b
	if !r.begun {
		r.begun = true
		if err := b.fits(r.ctx, a, r.length); err != nil {
			return 0, err
		}
		_ = a.control.SetReadDeadline(time.Now().Add(b.opt.Stall)) // as in hurries
	}
	n, err := r.ReadCloser.Read(p)
	r.came += int64(n)
	b.mu.Lock()
	if err == nil {
		b.reads(a, max(a.reading, r.came))
	} else if !r.over {
		b.reads(a, r.came)
	}
	b.mu.Unlock()
	r.text = append(r.text, p[:min(n, short-len(r.text))]...)
	if err == io.EOF && !r.over {
		r.over = true
		_ = a.control.SetReadDeadline(time.Time{}) // or the stream that answers would end by it
		heavy := r.heavy()
		r.text = nil
		if !heavy {
			return n, err
		}
		if err := b.enters(r.ctx, a); err != nil {
			return n, err
		}
	}
	return n, err
}

// light reports that little memory is used: what the last collection found.
func light() bool {
	const little = 48 << 20
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() < little
}
