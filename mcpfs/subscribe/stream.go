package subscribe

import (
	"container/list"
	"context"
	"path"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpscope"
)

// maxPaths is how many changed paths of one subscription wait to be told, and maxWaiting how many bytes all of a stream take,
// each with pathCost for itself: a client that does not read, or is asked and does not answer, keeps them there. More are told
// as one change of the whole.
const (
	maxPaths   = 128
	maxWaiting = 256 << 10
	pathCost   = 64
)

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

	mu      sync.Mutex
	over    bool // done is closed
	subs    map[string]*subscription
	places  map[place]*subscription // the same, by what is subscribed to
	due     []*subscription         // with something to tell, in order
	left    int                     // of due: closed meanwhile
	waiting int                     // what the paths of all subscriptions take; see maxWaiting
	lists   kinds                   // to be told
	sent    kinds                   // lists whose change was written to the client
	later   bool                    // it is to be nudged in a moment
	review  bool                    // a generation has begun: what its rules deny is to be dropped
	round   int                     // of reviews
	order   list.List               // of all subscriptions: who waits longest to be reviewed is first
}

// place is what a URI names, however it is spelled.
type place struct {
	project rootbound.RootID
	path    string
}

func placeOf(project rootbound.RootID, at string) place { return place{project, path.Clean(at)} }

// subscription is one URI of a stream. All but what it was made with is under stream.mu.
type subscription struct {
	stream *stream
	uri    string // as sent
	path   string // inside home.project, as sent
	home   home

	project rootbound.RootID // as sent

	watch  Watch
	paths  map[string]bool // that changed, below path
	size   int             // of stream.waiting
	queued bool
	lost   bool // the watch has ended by itself
	sent   bool // a change was written to the client
	closed bool
	absent *absence

	turn    *list.Element // in stream.order
	settled int           // the round in which it was renewed
}

func (h *Hub) stream(session *mcp.ServerSession, st *mcpscope.Standing) *stream {
	return &stream{hub: h, standing: st, session: session, wake: make(chan struct{}, 1), done: make(chan struct{}),
		subs: map[string]*subscription{}, places: map[place]*subscription{}}
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
	st.subs, st.places = map[string]*subscription{}, map[place]*subscription{}
	st.order.Init()
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
	case st.other(placeOf(s.project, s.path), s.uri):
		return nil, st.twice()
	case old == nil && len(st.subs) >= int(st.hub.most.Load()):
		return nil, st.full()
	}
	if old != nil {
		st.order.Remove(old.turn)
	}
	st.subs[s.uri], st.places[placeOf(s.project, s.path)] = s, s
	s.turn, s.settled = st.order.PushBack(s), st.round
	return old, nil
}

// forget takes s out, unless another has its place already, and reports whether it was there. st.mu is held.
func (st *stream) forget(s *subscription) bool {
	if st.subs[s.uri] != s {
		return false
	}
	delete(st.subs, s.uri)
	delete(st.places, placeOf(s.project, s.path))
	st.order.Remove(s.turn)
	return true
}

// other reports whether the same place is subscribed to by another URI. st.mu is held.
func (st *stream) other(at place, uri string) bool {
	s := st.places[at]
	return s != nil && s.uri != uri
}

func (st *stream) spelled(project rootbound.RootID, at, uri string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.other(placeOf(project, at), uri)
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
	if s != nil {
		st.forget(s)
	}
	st.mu.Unlock()
	if s != nil {
		s.close()
	}
}

// drop ends s, if it is still there.
func (st *stream) drop(s *subscription) bool {
	st.mu.Lock()
	own := st.forget(s)
	st.mu.Unlock()
	if own {
		s.close()
	}
	return own
}

// lose drops a subscription that cannot go on, and says so: by a change of the list, or by ending a listen that hears of
// none. end: any listen.
func (st *stream) lose(s *subscription, end bool) {
	if !st.drop(s) {
		return
	}
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
	for _, s := range st.subs {
		if !goesOn(s) {
			st.forget(s)
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
	st, cost := s.stream, len(rel)+pathCost
	switch {
	case s.paths[""], s.paths[rel]:
	case rel == "", len(s.paths) >= maxPaths, st.waiting+cost > maxWaiting:
		s.taken()
		s.paths = map[string]bool{"": true}
	default:
		if s.paths == nil {
			s.paths = map[string]bool{}
		}
		s.paths[rel] = true
		s.size += cost
		st.waiting += cost
	}
	if !s.queued {
		s.queued = true
		st.due = append(st.due, s)
	}
}

// taken gives the paths that wait, which do not any more. stream.mu is held.
func (s *subscription) taken() (paths map[string]bool) {
	s.stream.waiting -= s.size
	paths, s.paths, s.size = s.paths, nil, 0
	return paths
}

func (s *subscription) close() {
	st := s.stream
	st.mu.Lock()
	if s.taken(); s.queued && !s.closed {
		st.left++
	}
	s.closed = true
	if st.left > len(st.due)/2 { // or who subscribes and unsubscribes and never reads would make it long
		st.due = slices.DeleteFunc(st.due, func(s *subscription) bool { return s.closed })
		st.left = 0
	}
	w := s.watch
	st.mu.Unlock()
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
