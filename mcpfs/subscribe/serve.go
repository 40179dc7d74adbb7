package subscribe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/resource"
	"github.com/rootbound/rootbound/mcpscope"
)

// receiving answers the methods of subscriptions. It stands inside the scope's middleware and before the SDK.
func (h *Hub) receiving(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.SubscribeRequest:
			return h.subscribed(ctx, r, next)
		case *mcp.UnsubscribeRequest:
			return h.unsubscribed(ctx, r, next)
		case *mcp.SubscriptionsListenRequest:
			if asked(ctx) != nil { // our own, to the SDK
				break
			}
			return h.listen(ctx, r, next)
		default:
			h.legacy(req)
		}
		return next(ctx, method, req)
	}
}

// modern is decided by the request alone; the SDK has refused unknown revisions before.
func modern(p mcp.Params) bool {
	_, ok := p.GetMeta()[mcp.MetaKeyProtocolVersion]
	return ok
}

// legacy is the stream of a legacy session, made at its first request: it hears of changed lists without subscribing to
// anything. nil: the request belongs to no such session, or the hub is closed.
func (h *Hub) legacy(req mcp.Request) *stream {
	ss, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return nil
	}
	h.mu.Lock()
	st := h.sessions[ss]
	h.mu.Unlock()
	if st != nil {
		return st
	}
	standing := h.scope.Standing(req)
	if standing == nil || !standing.Legacy() {
		return nil
	}
	st = h.stream(ss, standing)
	st.wants = tools | prompts | resources
	if h.join(st) != nil {
		return nil
	}
	h.mu.Lock()
	other := h.sessions[ss]
	if other == nil {
		h.sessions[ss] = st
		h.name(st)
	}
	h.mu.Unlock()
	if other != nil {
		h.leave(st)
		return other
	}
	go func() { // ends with the session
		defer h.leave(st)
		defer func() { _ = recover() }() // then nothing more is told here
		st.run(context.Background())
	}()
	return st
}

func (h *Hub) subscribed(ctx context.Context, req *mcp.SubscribeRequest, next mcp.MethodHandler) (mcp.Result, error) {
	st := h.legacy(req)
	if st == nil || req.Params == nil {
		return nil, errClosing
	}
	if err := h.subscribe(ctx, st, req.Params.URI, nil); err != nil {
		return nil, refusal(err, false)
	}
	return empty(ctx, req.Session, next)
}

// unsubscribed answers the same whether or not there was such a subscription.
func (h *Hub) unsubscribed(ctx context.Context, req *mcp.UnsubscribeRequest, next mcp.MethodHandler) (mcp.Result, error) {
	if st := h.legacy(req); st != nil && req.Params != nil {
		st.remove(req.Params.URI)
	}
	return empty(ctx, req.Session, next)
}

// empty is the result without anything in it, whose type the SDK keeps to itself: ping has it too.
func empty(ctx context.Context, ss *mcp.ServerSession, next mcp.MethodHandler) (mcp.Result, error) {
	return next(ctx, "ping", &mcp.ServerRequest[*mcp.PingParams]{Session: ss, Params: &mcp.PingParams{}})
}

// listen stays until the client or the server ends it. What is refused of its resources is left out of what it
// acknowledges; the request fails if there is nothing else in it.
func (h *Hub) listen(ctx context.Context, req *mcp.SubscriptionsListenRequest, next mcp.MethodHandler) (mcp.Result, error) {
	if req.Params == nil || !modern(req.Params) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: `"subscriptions/listen" is not supported in this protocol version`}
	}
	if req.Params.Notifications == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "missing required 'notifications' field"}
	}
	standing := h.scope.Standing(req)
	if standing == nil {
		return nil, errClosing
	}
	id, agreed, err := h.tap.introduce(ctx, req, next)
	if err != nil {
		return nil, err
	}
	st := h.stream(req.Session, standing)
	st.id, st.wants = id, kindsOf(agreed)
	uris := slices.Clone(req.Params.Notifications.ResourceSubscriptions)
	slices.Sort(uris)
	if int64(len(slices.Compact(uris))) > h.most.Load() { // each would be judged and recorded, however many are refused
		return nil, st.full()
	}
	if err := h.join(st); err != nil {
		return nil, err
	}
	defer h.leave(st)
	var refused error
	for _, uri := range req.Params.Notifications.ResourceSubscriptions {
		if st.has(uri) {
			continue
		}
		err := refusal(h.subscribe(ctx, st, uri, nil), true)
		var e *rootbound.Error
		switch {
		case err == nil:
			agreed.ResourceSubscriptions = append(agreed.ResourceSubscriptions, uri)
		case errors.As(err, &e), errors.Is(err, errClosing):
			return nil, err
		default:
			refused = err
		}
	}
	if refused != nil && st.empty() {
		return nil, refused
	}
	during := standing.Last()
	ack := &mcp.SubscriptionsAcknowledgedParams{Meta: st.meta(), Notifications: agreed}
	if err := h.tap.send(during, req.Session, "notifications/subscriptions/acknowledged", ack); err != nil {
		return nil, fmt.Errorf("sending the acknowledgement: %w", err)
	}
	if !st.empty() {
		st.run(during)
	}
	return &mcp.SubscriptionsListenResult{Meta: st.meta()}, nil
}

func kindsOf(n mcp.NotificationSubscriptions) (k kinds) {
	for bit, is := range map[kinds]bool{tools: n.ToolsListChanged, prompts: n.PromptsListChanged, resources: n.ResourcesListChanged} {
		if is {
			k |= bit
		}
	}
	return k
}

// subscribe judges a URI under the hold of ctx, watches what it names and registers the subscription. instead: in place of
// that one, if it is not nil and is still there.
func (h *Hub) subscribe(ctx context.Context, st *stream, uri string, instead *subscription) error {
	use, err := authority.From(ctx)
	if err != nil {
		return err
	}
	if !st.room(uri) {
		return st.full()
	}
	project, path, invalid := resource.Parse(uri)
	if invalid == nil && st.spelled(project, path, uri) {
		return st.twice()
	}
	s := &subscription{stream: st, uri: uri, project: project, path: path}
	var begun started
	err = h.guard.Do(ctx, request(project, path, invalid), func(ctx context.Context, t *guard.Target) error {
		need := rootbound.Read
		if t.Object().IsDir() {
			need = rootbound.List
		}
		s.home = homeIn(use.Snapshot(), project, path, t.Project().ID, t.Path(), need)
		w, err := h.opt.Watch(ctx, t, t.Object().IsDir(), s.told)
		if err != nil {
			begun.fail(err)
			return err
		}
		return begun.put(w)
	})
	var unable error
	if s.watch, unable = begun.take(); err != nil && unable != nil {
		err = &failure{err}
	}
	var old *subscription
	if err == nil {
		old, err = st.group.keep(s, instead, use)
	}
	if err != nil {
		s.close()
		return err
	}
	if old != nil {
		old.close()
	}
	return nil
}

// renew judges a subscription in the generation of ctx. A refusal is no denial of a call: it is neither recorded nor
// counted, what goes on is.
func (h *Hub) renew(ctx context.Context, s *subscription) error {
	r := request(s.home.project, s.path, nil)
	d, err := h.guard.Decide(ctx, r)
	switch {
	case err != nil:
		return err
	case d.Project != s.home.inner:
		return &rootbound.Error{Reason: rootbound.ProjectUnknown}
	}
	return h.guard.Do(ctx, r, func(_ context.Context, t *guard.Target) error { return s.watch.Renew(t) })
}

// started hands a watch from the guard's worker to who waits for it, if he still does: a worker that was given up on may
// come back later.
type started struct {
	mu   sync.Mutex
	w    Watch
	err  error
	left bool
}

func (b *started) put(w Watch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left {
		w.Close()
		return &rootbound.Error{Reason: rootbound.Cancelled}
	}
	b.w = w
	return nil
}

func (b *started) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *started) take() (Watch, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = true
	return b.w, b.err
}

// failure is an error of the watch: what it was to watch may be seen.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

func (st *stream) has(uri string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.subs[uri] != nil
}

// twice refuses another spelling of a URI: each would cost watches of its own.
func (st *stream) twice() error {
	return &rootbound.Error{
		Reason: rootbound.LimitReached, Detail: "this resource is subscribed to already by another spelling of its URI",
		Next: "Use one URI for one resource.",
	}
}

// full refuses one subscription more.
func (st *stream) full() error {
	what := "session"
	if st.listen() {
		what = "listen"
	}
	return &rootbound.Error{
		Reason: rootbound.LimitReached, Detail: fmt.Sprintf("one %s has %d subscriptions at most", what, st.hub.most.Load()),
		Next: "Unsubscribe from what is no longer needed, or subscribe to a directory: it is told of what is below it.",
	}
}

// refusal makes denied, unknown and missing look the same, as in resources/read. What lies in the server or in the
// authority stays as it is: it says nothing of the object.
func refusal(err error, modern bool) error {
	if f := new(failure); errors.As(err, &f) {
		return err
	}
	switch rootbound.ReasonOf(err) {
	case "", rootbound.LimitReached, rootbound.InternalError, rootbound.Cancelled:
		return err
	}
	if mcpscope.Waits(err) {
		return err
	}
	return mcpscope.ResourceRefusal(modern)
}
