// Package unread bounds what a client that does not read costs a go-sdk server over Streamable HTTP.
//
// What is written to a client who does not read waits in the server: the answer of a call with all it was made of, a
// notification, and whoever writes it. A pipe has one client, who hurts himself; over HTTP there are many, and the SDK
// writes without a deadline. So each piece of an answer has one here. A client who takes nothing of what is written for
// Stall has his connection cut, which the SDK takes as the end of it; where much waits, for Hurry. Calls of a principal for
// whom much waits, or many work already, are read and begun when there is room again. Nobody waits for another
// principal, and for the clients of his own Hurry at most.
package unread

import (
	"context"
	"net"
	"net/http"
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
	Bytes  int64         // of the requests and answers of one principal that wait: 16 MiB. What they were made of is some times that
	Total  int64         // of all principals, by which those are hurried who have more than their share: 64 MiB
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
	bytes   int64
	last    time.Time // when a call was let in
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
			r.Body = &body{ReadCloser: r.Body, ctx: r.Context(), a: a}
		}
		next.ServeHTTP(a, r)
	})
}

// Close hurries all that is written from now on. Call it before what waits for it: Scope.Close and Hub.Close.
func (b *Bounds) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.hurry(func(*answer) bool { return true })
}

// Waiting tells how many requests and streams are open and how many bytes of them wait.
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
	b.holds(a, 0)
	b.leaves(a)
	b.arms(a) // for what net/http writes last
	c := a.client
	delete(c.answers, a)
	if c.open--; c.open == 0 {
		delete(b.clients, a.who)
	}
}

// holds sets the bytes that wait by an answer. b.mu is held.
func (b *Bounds) holds(a *answer, n int64) {
	less := n < a.bytes
	b.total += n - a.bytes
	a.client.bytes += n - a.bytes
	a.bytes = n
	if less {
		b.more()
		return
	}
	if b.total > b.opt.Total || a.client.bytes > b.opt.Bytes {
		for _, c := range b.clients {
			if b.over(c) {
				for o := range c.answers {
					b.hurries(o)
				}
			}
		}
	}
}

// over reports that a principal has more than is good for the others. b.mu is held.
func (b *Bounds) over(c *client) bool {
	return c.bytes > b.opt.Bytes || b.total > b.opt.Total && c.bytes*int64(len(b.clients)) >= b.total
}

// more wakes who waits for room. b.mu is held.
func (b *Bounds) more() {
	close(b.room)
	b.room = make(chan struct{})
}

// fits waits until there is room for another request of a's principal.
func (b *Bounds) fits(ctx context.Context, a *answer) error {
	for {
		b.mu.Lock()
		over, room := b.over(a.client), b.room
		b.mu.Unlock()
		if !over {
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
	for {
		b.mu.Lock()
		c, room := a.client, b.room
		if c.working < b.opt.AtOnce || time.Since(c.last) >= escape && b.light() {
			c.working++
			c.last = time.Now()
			a.works = true
			b.mu.Unlock()
			return nil
		}
		b.mu.Unlock()
		select {
		case <-room:
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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

// arms gives what is written next its time. b.mu is held.
func (b *Bounds) arms(a *answer) {
	a.hurried = a.urgent || b.closed || b.over(a.client)
	limit := b.opt.Stall
	if a.hurried {
		limit = b.opt.Hurry
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(limit)) // as in hurries
}
