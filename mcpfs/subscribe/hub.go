package subscribe

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpscope"
)

// Watch is what Options.Watch started.
type Watch interface {
	// Renew goes on under the generation that t was judged in, which is of the same object. An error: it cannot.
	Renew(t *guard.Target) error
	Close()
}

// Options of a Hub.
type Options struct {
	// Watch watches what a target reached, with tree a directory with all that is below it, and tells nothing once the target's
	// generation has ended, until it is renewed. told gets the path of what changed, below the target and "" for itself;
	// ended: nothing more will be told. It is called by one goroutine at a time, may be called before Watch returns, and does
	// not block. Errors are *rootbound.Error; they reach the client. Required; see Watching.
	Watch func(ctx context.Context, t *guard.Target, tree bool, told func(rel string, ended bool)) (Watch, error)

	Subscriptions int // of one session or listen: 1,000
	Listens       int // of one session or principal at a time: 100
}

// Hub keeps the subscriptions of one server. Safe for concurrent use.
type Hub struct {
	opt   Options
	most  atomic.Int64 // subscriptions of one session or listen
	guard *guard.Guard
	scope *mcpscope.Scope
	tap   tap

	mu       sync.Mutex
	closed   bool
	groups   map[string]*group // by authority
	sessions map[*mcp.ServerSession]*stream
	named    map[string][]*stream // the same of those that have an id, which is one nearly always: a server may give them itself
	running  sync.WaitGroup       // one goroutine a legacy session, and listens
}

// New makes a Hub. Give its Mark and Drop to the scope, then Add it to the server.
func New(o Options) *Hub {
	if o.Listens <= 0 {
		o.Listens = 100
	}
	h := &Hub{opt: o, groups: map[string]*group{}, sessions: map[*mcp.ServerSession]*stream{}, named: map[string][]*stream{}}
	h.Limit(o.Subscriptions)
	return h
}

// Limit sets another Options.Subscriptions, 0 for the default. What is subscribed to already stays. Safe for concurrent use.
func (h *Hub) Limit(subscriptions int) {
	if subscriptions <= 0 {
		subscriptions = 1000
	}
	h.most.Store(int64(subscriptions))
}

// Add puts the handlers on the server. Call it before the scope's middleware is added, which must stay outermost. The
// server should advertise the capability resources with subscribe and listChanged.
func (h *Hub) Add(server *mcp.Server, g *guard.Guard, s *mcpscope.Scope) {
	h.guard, h.scope = g, s
	h.tap.server = server
	h.tap.changed, h.tap.legacy = h.listChanged, h.sessionChanged
	server.AddSendingMiddleware(h.tap.sending)
	server.AddReceivingMiddleware(h.receiving)
}

// Mark suspends the subscriptions of an authority whose generation has ended. See authority.Options.
func (h *Hub) Mark(id string, ended rootbound.Generation) {
	if g := h.group(id); g != nil {
		g.suspend(ended)
	}
}

// Drop decides what goes on in the next generation. See authority.Options.
func (h *Hub) Drop(old, next *authority.Snapshot) {
	switch {
	case next != nil:
		if g := h.group(next.Authority); g != nil {
			g.resume(next, old != nil)
		}
	case old != nil:
		if g := h.group(old.Authority); g != nil {
			g.end()
		}
	}
}

// Close ends all listens with their result and all subscriptions, and waits for what runs until ctx ends: a goroutine
// that writes to a client which does not read ends with that client's connection.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	all := make([]*group, 0, len(h.groups))
	for _, g := range h.groups {
		all = append(all, g)
	}
	h.mu.Unlock()
	for _, g := range all {
		g.end()
	}
	h.tap.close()
	done := make(chan struct{})
	go func() { h.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Count tells how many listens and legacy sessions there are, and how many subscriptions.
func (h *Hub) Count() (streams, subscriptions int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.groups {
		for _, st := range g.all() {
			streams++
			subscriptions += st.count()
		}
	}
	return streams, subscriptions
}

func (h *Hub) group(id string) *group {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.groups[id]
}

// join adds a stream to the group of its authority, unless the hub is closed or there are too many listens.
func (h *Hub) join(st *stream) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosing
	}
	id := st.standing.Authority()
	g := h.groups[id]
	if g == nil {
		g = &group{streams: map[*stream]bool{}}
		h.groups[id] = g
	}
	if !g.add(st, h.opt.Listens) {
		return &rootbound.Error{Reason: rootbound.LimitReached, Detail: "too many listens at once", Next: "End one of them, or listen to more resources with one."}
	}
	st.group = g
	h.running.Add(1)
	return nil
}

// leave is called once for each join.
func (h *Hub) leave(st *stream) {
	st.close()
	h.mu.Lock()
	if st.group.remove(st) {
		delete(h.groups, st.standing.Authority())
	}
	if h.sessions[st.session] == st {
		delete(h.sessions, st.session)
		h.unname(st)
	}
	h.mu.Unlock()
	h.running.Done()
}

// name lets a session be found by its id. h.mu is held.
func (h *Hub) name(st *stream) {
	if id := st.session.ID(); id != "" { // over a pipe there is none
		h.named[id] = append(h.named[id], st)
	}
}

// unname is called once for each name. h.mu is held.
func (h *Hub) unname(st *stream) {
	id := st.session.ID()
	left := slices.DeleteFunc(h.named[id], func(o *stream) bool { return o == st })
	if h.named[id] = left; len(left) == 0 {
		delete(h.named, id)
	}
}

// listChanged is told by the tap that the server's own lists changed.
func (h *Hub) listChanged(k kinds) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.groups {
		for _, st := range g.all() {
			if st.listen() {
				st.changed(k)
			}
		}
	}
}

// sessionChanged is told by the tap that one legacy session is to hear that a list changed. One that has sent no request yet
// knows no list.
func (h *Hub) sessionChanged(ss *mcp.ServerSession, k kinds) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if st := h.sessions[ss]; st != nil {
		st.changed(k)
	}
}

// errLeft: there is nothing to go on with.
var errLeft = &rootbound.Error{Reason: rootbound.NotFound}

var errClosing = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server is closing"}
