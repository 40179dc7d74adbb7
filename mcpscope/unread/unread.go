// Package unread bounds what a client that does not read costs a go-sdk server over Streamable HTTP.
//
// What is written to a client who does not read waits in the server: the answer of a call with all it was made of, a
// notification, and whoever writes it. A pipe has one client, who hurts himself; over HTTP there are many, and the SDK
// writes without a deadline. So each piece of an answer has one here. A client who takes nothing of what is written for
// Stall has his connection cut, which the SDK takes as the end of it; where much waits, for Hurry. Calls of a principal for
// whom much waits, or many work already, are read and begun when there is room again. Nobody waits for another
// principal, for clients of his own that do not read Hurry at most, and a long request for those that do not send Stall.
package unread

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// Options of Bounds. Zero fields have the defaults.
type Options struct {
	// Principal is whose a request is. Default: the bearer token's subject, without a token the host that it comes from.
	Principal func(*http.Request) string

	Stall  time.Duration // nothing was taken for so long, or a request did not come in whole: it is cut; one minute
	Hurry  time.Duration // the same where more than Bytes or Total wait, and after Close: 2 s
	Bytes  int64         // of the answers of one principal that are being written, and again of its requests: 16 MiB. What they are made of is some times that
	Total  int64         // of the answers of all principals, beyond which those are hurried who have more than their share: 64 MiB
	AtOnce int           // calls of one principal that work and have written nothing: 16; more where little memory is used
	Open   int           // requests and streams of one principal at a time: 1,000; further ones are refused with 503
}

// Bounds holds all that is open. Safe for concurrent use.
type Bounds struct {
	opt   Options
	light func() bool // little memory is used

	mu      sync.Mutex
	closed  bool
	total   int64
	clients map[string]*client // who have something open
	room    chan struct{}      // closed when something became less
}

// client is one principal. All of it is under Bounds.mu.
type client struct {
	open    int
	working int
	writing int64     // bytes of answers that are being written
	reading int64     // bytes of requests that are held, or may come
	waiting []*answer // whose calls wait to begin, in the order they came
	last    time.Time // when a call was let in
	pressed time.Time // when its answers were hurried
	answers map[*answer]bool
}

// New makes Bounds.
func New(o Options) *Bounds {
	if o.Principal == nil {
		o.Principal = subject
	}
	for _, d := range []struct {
		at   *time.Duration
		here time.Duration
	}{{&o.Stall, time.Minute}, {&o.Hurry, 2 * time.Second}} {
		if *d.at <= 0 {
			*d.at = d.here
		}
	}
	if o.Bytes <= 0 {
		o.Bytes = 16 << 20
	}
	if o.Total <= 0 {
		o.Total = 64 << 20
	}
	if o.AtOnce <= 0 {
		o.AtOnce = 16
	}
	if o.Open <= 0 {
		o.Open = 1000
	}
	return &Bounds{opt: o, light: light, clients: map[string]*client{}, room: make(chan struct{})}
}

func subject(r *http.Request) string {
	if t := auth.TokenInfoFromContext(r.Context()); t != nil {
		return "token " + t.UserID
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return "host " + host
}

// Handler bounds what next, a handler of the SDK, reads and writes. It stands behind authentication, and behind Scope.Sessions:
// a request that ends a session hurries what is written in it, for which the SDK waits.
func (b *Bounds) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{b: b, w: w, control: http.NewResponseController(w), session: r.Header.Get("Mcp-Session-Id")}
		if !b.begin(a, b.opt.Principal(r)) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests are open", http.StatusServiceUnavailable)
			return
		}
		defer b.end(a)
		switch {
		case r.Method == http.MethodDelete && a.session != "":
			b.hurry(func(o *answer) bool { return o.client == a.client && o.session == a.session })
		case r.Method == http.MethodPost && r.Body != nil:
			r = r.WithContext(r.Context())
			r.Body = &body{ReadCloser: r.Body, ctx: r.Context(), a: a, length: r.ContentLength}
		}
		next.ServeHTTP(a, r)
	})
}

// Protect sets on a server, before it serves, what is not set there: ReadHeaderTimeout, and how long a client of HTTP/2 may take
// nothing of its connection, both to Stall. A stream of HTTP/2 that is given up ends when its client is told so; one that reads
// nothing at all would keep all of its streams, with what waits in them.
func (b *Bounds) Protect(h *http.Server) {
	if h.ReadHeaderTimeout == 0 && h.ReadTimeout == 0 {
		h.ReadHeaderTimeout = b.opt.Stall
	}
	if h.HTTP2 == nil {
		h.HTTP2 = &http.HTTP2Config{}
	}
	if h.HTTP2.WriteByteTimeout == 0 {
		h.HTTP2.WriteByteTimeout = b.opt.Stall
	}
}

// Close hurries all that is written from now on. Call it before what waits for it: Scope.Close and Hub.Close.
func (b *Bounds) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.hurry(func(*answer) bool { return true })
}

// Waiting tells how many requests and streams are open and how many bytes of answers are being written.
func (b *Bounds) Waiting() (open int, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.clients {
		open += c.open
	}
	return open, b.total
}

func (b *Bounds) begin(a *answer, who string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.clients[who]
	if c == nil {
		c = &client{answers: map[*answer]bool{}}
		b.clients[who] = c
	}
	if c.open >= b.opt.Open {
		return false
	}
	c.open++
	c.answers[a] = true
	a.client, a.who = c, who
	return true
}

func (b *Bounds) end(a *answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads(a, 0)
	b.writes(a, 0)
	b.leaves(a)
	b.arms(a) // for what net/http writes last
	c := a.client
	delete(c.answers, a)
	if c.open--; c.open == 0 {
		delete(b.clients, a.who)
	}
}

// reads sets the bytes that are held of a request. b.mu is held.
func (b *Bounds) reads(a *answer, n int64) {
	a.client.reading += n - a.reading
	if a.reading, n = n, a.reading; a.reading < n {
		b.more()
	}
}

// writes sets the bytes of an answer that are being written. b.mu is held.
func (b *Bounds) writes(a *answer, n int64) {
	b.total += n - a.writing
	a.client.writing += n - a.writing
	if a.writing, n = n, a.writing; a.writing < n {
		b.more()
		return
	}
	if b.total > b.opt.Total || a.client.writing > b.opt.Bytes {
		for _, c := range b.clients {
			if b.over(c) {
				c.pressed = time.Now()
				for o := range c.answers {
					b.hurries(o)
				}
			}
		}
	}
}

// over reports that of a principal's answers more waits than is good for the others. b.mu is held.
func (b *Bounds) over(c *client) bool {
	return c.writing > b.opt.Bytes || b.total > b.opt.Total && c.writing*int64(len(b.clients)) >= b.total
}

// more wakes who waits for room. b.mu is held.
func (b *Bounds) more() {
	close(b.room)
	b.room = make(chan struct{})
}

// fits waits until another request of a's principal may be read, of that many bytes, and keeps the room for it: else many that
// are begun together would take far more. -1: nobody knows. One that is short may be what those that are held wait for, as the
// client's roots: it has as much room once more.
func (b *Bounds) fits(ctx context.Context, a *answer, length int64) error {
	most := b.opt.Bytes
	if length >= 0 && length < short {
		most *= 2
	}
	keep := b.opt.Bytes / 4 // of a longer one what comes counts
	if length >= 0 {
		keep = min(keep, length)
	}
	for {
		b.mu.Lock()
		full, room := a.client.reading > most, b.room
		if !full {
			b.reads(a, keep)
		}
		b.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// escape is after what time one call more is let in while little memory is used: calls that hang in a file system hold
// next to none, and shall hold up the others for that long only.
const escape = 25 * time.Millisecond

// enters waits until a may work.
func (b *Bounds) enters(ctx context.Context, a *answer) error {
	again := time.NewTicker(escape)
	defer again.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	c := a.client
	c.waiting = append(c.waiting, a)
	defer func() {
		c.waiting = slices.DeleteFunc(c.waiting, func(o *answer) bool { return o == a })
		b.more()
	}()
	for {
		if b.next(c) == a && !b.over(c) && (c.working < b.opt.AtOnce || time.Since(c.last) >= escape && b.light()) {
			c.working++
			c.last = time.Now()
			a.works = true
			return nil
		}
		room := b.room
		b.mu.Unlock()
		select {
		case <-room:
		case <-again.C:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// next is whose turn it is: who came first; where answers were not taken lately, who came last. Else calls whose answers
// nobody will read, and which wait in great number, would hold up a client who came to read. b.mu is held.
func (b *Bounds) next(c *client) *answer {
	if time.Since(c.pressed) < 10*b.opt.Hurry {
		return c.waiting[len(c.waiting)-1]
	}
	return c.waiting[0]
}

// leaves is called when a has something to write, or ends. b.mu is held.
func (b *Bounds) leaves(a *answer) {
	if a.works {
		a.works = false
		a.client.working--
		b.more()
	}
}

func (b *Bounds) hurry(which func(*answer) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.clients {
		for a := range c.answers {
			if which(a) {
				a.urgent = true
				b.hurries(a)
			}
		}
	}
}

// hurries gives what is being written less time. b.mu is held.
func (b *Bounds) hurries(a *answer) {
	if !a.moved.IsZero() && !a.hurried {
		a.hurried = true
		_ = a.control.SetWriteDeadline(a.moved.Add(b.opt.Hurry)) // a writer without deadlines is not bounded by them
	}
}

// rests takes the deadline back when something was written: HTTP/2 ends a stream by it even if nothing waits. b.mu is held.
func (b *Bounds) rests(a *answer) {
	a.moved = time.Time{}
	_ = a.control.SetWriteDeadline(time.Time{}) // as in hurries
}

// arms gives what is written next its time. b.mu is held.
func (b *Bounds) arms(a *answer) {
	a.hurried = a.urgent || b.closed || b.over(a.client)
	limit := b.opt.Stall
	if a.hurried {
		limit = b.opt.Hurry
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(limit)) // as in hurries
}
