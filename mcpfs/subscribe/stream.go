package subscribe

import (
	"context"
	"errors"
	"path"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/resource"
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

	watch  Watch
	paths  map[string]bool // that changed, below path
	queued bool
	lost   bool // the watch has ended by itself
	closed bool
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

// put registers s in place of one of the same URI, which is to be closed.
func (st *stream) put(s *subscription) (old *subscription, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	old = st.subs[s.uri]
	switch {
	case st.over:
		return nil, errClosing
	case old == nil && len(st.subs) >= st.hub.opt.Subscriptions:
		return nil, st.full()
	}
	st.subs[s.uri] = s
	return old, nil
}

func (st *stream) room(uri string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.subs[uri] != nil || len(st.subs) < st.hub.opt.Subscriptions
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

// turn tells what there is to tell now. What needs an authority that is not there waits for the next generation.
func (st *stream) turn(ctx context.Context) {
	if st.group.waits() && !st.standing.Blind() {
		if err := st.standing.Look(ctx, nothing); err != nil {
			st.tellLists(ctx, tools|prompts)
			return
		}
	}
	st.tellLists(ctx, tools|prompts|resources)
	st.settle(ctx)
	for {
		s, paths, lost := st.take()
		if s == nil {
			return
		}
		if !st.tell(ctx, s, paths, lost) {
			return
		}
	}
}

func nothing(context.Context) error { return nil }

// take is the next subscription with something to tell.
func (st *stream) take() (s *subscription, paths map[string]bool, lost bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for len(st.due) > 0 {
		s = st.due[0]
		st.due = st.due[1:]
		s.queued = false
		if !s.closed && !st.over {
			paths, s.paths = s.paths, nil
			lost, s.lost = s.lost, false
			return s, paths, lost
		}
	}
	return nil, nil, false
}

// again puts back what could not be judged now.
func (st *stream) again(s *subscription, paths map[string]bool, lost bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s.closed {
		return
	}
	s.lost = s.lost || lost
	for rel := range paths {
		s.add(rel)
	}
}

// tell tells the changes of one subscription. false: there is no authority to judge them by.
func (st *stream) tell(ctx context.Context, s *subscription, paths map[string]bool, lost bool) bool {
	said := map[string]bool{}
	for rel := range paths {
		uri, err := st.judge(ctx, s, rel)
		if err != nil && mcpscope.Waits(err) {
			st.again(s, paths, lost)
			return false
		}
		delete(paths, rel)
		if err == nil && !said[uri] {
			said[uri] = true
			st.send(ctx, "notifications/resources/updated", &mcp.ResourceUpdatedNotificationParams{Meta: st.meta(), URI: uri})
		}
	}
	if lost {
		return st.anew(ctx, s)
	}
	return true
}

// judge finds what is to be told of a change at rel: the object itself if it can be read or listed now, by its own URI; of
// what is gone, the directory it was in, so that nothing is told of a name nobody could look at. Errors are those of the
// guard; nothing is told then.
func (st *stream) judge(ctx context.Context, s *subscription, rel string) (uri string, err error) {
	for {
		err = st.standing.Look(ctx, func(ctx context.Context) error {
			_, err := st.hub.guard.Decide(ctx, request(s.home.project, path.Join(s.path, rel), nil))
			return err
		})
		switch {
		case err == nil, rel == "" && rootbound.ReasonOf(err) == rootbound.NotFound:
			if rel == "" {
				return s.uri, nil
			}
			return resource.URI(s.home.project, path.Join(s.path, rel)), nil
		case rel != "" && gone(err):
			if rel = path.Dir(rel); rel == "." {
				rel = ""
			}
		default:
			return "", err
		}
	}
}

func gone(err error) bool {
	switch rootbound.ReasonOf(err) {
	case rootbound.NotFound, rootbound.ParentMissing, rootbound.NotADirectory:
		return true
	}
	return false
}

// request is how a resource is looked at: a file is read, a directory listed.
func request(project rootbound.RootID, path string, invalid error) guard.Request {
	return guard.Request{Op: rootbound.OpRead, Root: string(project), Path: path, Contained: true, Decoded: true, Listing: true, Invalid: invalid}
}

// anew watches again what lost its watch, or drops it if it is not there any more. What is there and cannot be watched is
// dropped too, but not in silence: a listen ends, and a session is told to look at its list.
func (st *stream) anew(ctx context.Context, s *subscription) bool {
	err := st.standing.Look(ctx, func(ctx context.Context) error { return st.hub.subscribe(ctx, st, s.uri) })
	switch {
	case err == nil:
		return true
	case mcpscope.Waits(err):
		st.again(s, map[string]bool{"": true}, true)
		return false
	}
	st.remove(s.uri)
	if unable := new(failure); errors.As(err, &unable) {
		if st.listen() {
			st.finish()
		} else {
			st.changed(resources)
		}
	}
	return true
}

// settle lets the watches go on under the generation that has begun and drops what it denies: what resume could tell
// without a look at the disk is gone already.
func (st *stream) settle(ctx context.Context) {
	st.mu.Lock()
	var all []*subscription
	if st.review {
		for _, s := range st.subs {
			all = append(all, s)
		}
	}
	st.review = false
	st.mu.Unlock()
	for _, s := range all {
		err := st.standing.Look(ctx, func(ctx context.Context) error { return st.hub.renew(ctx, s) })
		switch {
		case err != nil && mcpscope.Waits(err):
			st.mu.Lock()
			st.review = true
			st.mu.Unlock()
			return
		case err != nil:
			st.mu.Lock()
			if st.subs[s.uri] == s {
				delete(st.subs, s.uri)
			}
			st.mu.Unlock()
			s.close()
		}
	}
}

// tellLists tells which lists changed. That of the resources depends on the authority: it is told when the client can
// list them again.
func (st *stream) tellLists(ctx context.Context, which kinds) {
	st.mu.Lock()
	k := st.lists & which
	st.lists &^= k
	st.mu.Unlock()
	if k&tools != 0 {
		st.send(ctx, "notifications/tools/list_changed", &mcp.ToolListChangedParams{Meta: st.meta()})
	}
	if k&prompts != 0 {
		st.send(ctx, "notifications/prompts/list_changed", &mcp.PromptListChangedParams{Meta: st.meta()})
	}
	if k&resources == 0 {
		return
	}
	if !st.standing.Blind() {
		if err := st.standing.Look(ctx, nothing); err != nil {
			st.mu.Lock()
			st.lists |= resources
			st.mu.Unlock()
			return
		}
	}
	st.send(ctx, "notifications/resources/list_changed", &mcp.ResourceListChangedParams{Meta: st.meta()})
}

func (st *stream) meta() mcp.Meta {
	if st.id == nil {
		return nil
	}
	return mcp.Meta{mcp.MetaKeySubscriptionID: st.id}
}

// send hands a notification over. An error means that the client is gone, which ends the stream by another way.
func (st *stream) send(ctx context.Context, method string, params mcp.Params) {
	_ = st.hub.tap.send(ctx, st.session, method, params)
}
