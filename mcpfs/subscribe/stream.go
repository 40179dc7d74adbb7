package subscribe

import (
	"context"
	"path"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpscope"
)

// maxPaths is how many changed paths of one subscription wait to be told; more are told as one change of the whole.
const maxPaths = 128

// kinds are lists that may change.
type kinds uint8

const (
	tools kinds = 1 << iota
	prompts
	resources
)

// stream is where one listen or one legacy session hears. What is to be told waits here, as names and not as permissions,
// until the stream's own goroutine tells it.
type stream struct {
	hub      *Hub
	group    *group
	standing *mcpscope.Standing
	session  *mcp.ServerSession
	id       any   // of the listen; nil: a legacy session
	wants    kinds // lists whose change is told
	wake     chan struct{}
	done     chan struct{}

	mu     sync.Mutex
	over   bool // done is closed
	subs   map[string]*subscription
	due    []*subscription // with something to tell, in order
	lists  kinds           // to be told
	review bool            // a generation has begun: what its rules deny is to be dropped
}

// subscription is one URI of a stream. All but what it was made with is under stream.mu.
type subscription struct {
	stream *stream
	uri    string // as sent
	path   string // inside home.project, as sent
	home   home

	project rootbound.RootID // as sent

	watch  Watch
	paths  map[string]bool // that changed, below path
	queued bool
	lost   bool // the watch has ended by itself
	closed bool
	absent *absence
}

func (h *Hub) stream(session *mcp.ServerSession, st *mcpscope.Standing) *stream {
	return &stream{hub: h, standing: st, session: session, wake: make(chan struct{}, 1), done: make(chan struct{}), subs: map[string]*subscription{}}
}

func (st *stream) listen() bool { return st.id != nil }

func (st *stream) count() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.subs)
}

func (st *stream) nudge() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// finish lets the goroutine end.
func (st *stream) finish() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.over {
		st.over = true
		close(st.done)
	}
}

// close drops all subscriptions.
func (st *stream) close() {
	st.finish()
	st.mu.Lock()
	all := st.subs
	st.subs = map[string]*subscription{}
	st.mu.Unlock()
	for _, s := range all {
		s.close()
	}
}

// put registers s in place of one of the same URI, which is to be closed. instead: only in place of that one, if it is not
// nil.
func (st *stream) put(s, instead *subscription) (old *subscription, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	old = st.subs[s.uri]
	switch {
	case st.over:
		return nil, errClosing
	case instead != nil && old != instead:
		return nil, errLeft
	case st.other(s.project, s.path, s.uri):
		return nil, st.twice()
	case old == nil && len(st.subs) >= int(st.hub.most.Load()):
		return nil, st.full()
	}
	st.subs[s.uri] = s
	return old, nil
}

// other reports whether the same place is subscribed to by another URI. st.mu is held.
func (st *stream) other(project rootbound.RootID, at, uri string) bool {
	for _, s := range st.subs {
		if s.uri != uri && s.project == project && path.Clean(s.path) == path.Clean(at) {
			return true
		}
	}
	return false
}

func (st *stream) spelled(project rootbound.RootID, at, uri string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.other(project, at, uri)
}

func (st *stream) room(uri string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.subs[uri] != nil || len(st.subs) < int(st.hub.most.Load())
}

// remove drops the subscription to a URI, if there is one.
func (st *stream) remove(uri string) {
	st.mu.Lock()
	s := st.subs[uri]
	delete(st.subs, uri)
	st.mu.Unlock()
	if s != nil {
		s.close()
	}
}

// lose drops a subscription that cannot go on, and says so: by a change of the list, or by ending a listen that hears of
// none. end: any listen.
func (st *stream) lose(s *subscription, end bool) {
	st.mu.Lock()
	own := st.subs[s.uri] == s
	if own {
		delete(st.subs, s.uri)
	}
	st.mu.Unlock()
	if !own {
		return
	}
	s.close()
	if st.listen() && (end || st.wants&resources == 0) {
		st.finish()
	} else {
		st.changed(resources)
	}
}

func (st *stream) changed(k kinds) {
	st.mu.Lock()
	st.lists |= k & st.wants
	st.mu.Unlock()
	st.nudge()
}

// resume drops the subscriptions that do not go on and returns them.
func (st *stream) resume(goesOn func(*subscription) bool, changed bool) (dropped []*subscription) {
	st.mu.Lock()
	for uri, s := range st.subs {
		if !goesOn(s) {
			delete(st.subs, uri)
			dropped = append(dropped, s)
		}
	}
	if changed {
		st.lists |= resources & st.wants
	}
	st.review = true
	st.mu.Unlock()
	st.nudge()
	return dropped
}

// told is called by the watch.
func (s *subscription) told(rel string, ended bool) {
	st := s.stream
	st.mu.Lock()
	defer st.mu.Unlock()
	if s.closed {
		return
	}
	s.lost = s.lost || ended
	s.add(rel)
	st.nudge()
}

// add is called with stream.mu held.
func (s *subscription) add(rel string) {
	switch {
	case s.paths == nil:
		s.paths = map[string]bool{rel: true}
	case s.paths[""]:
	case rel == "", len(s.paths) >= maxPaths:
		clear(s.paths)
		s.paths[""] = true
	default:
		s.paths[rel] = true
	}
	if !s.queued {
		s.queued = true
		s.stream.due = append(s.stream.due, s)
	}
}

func (s *subscription) close() {
	s.stream.mu.Lock()
	s.closed, s.paths = true, nil
	w := s.watch
	s.stream.mu.Unlock()
	if w != nil {
		w.Close()
	}
}

// run tells what there is to tell until the stream or ctx ends. ctx carries what the transport routes by.
func (st *stream) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-st.done:
			return
		case <-st.standing.Ended():
			return
		case <-st.wake:
		}
		st.turn(ctx)
		if st.listen() && st.empty() {
			return
		}
	}
}

// empty: nothing more can come.
func (st *stream) empty() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.wants == 0 && len(st.subs) == 0
}
