package subscribe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tap is what the hub needs of the SDK and has no door for: to send a notification to one session, to hear of changes of
// the server's lists, and to learn the id of a listen, which the SDK keeps in its context.
//
// The last two go by a session of our own that no client is behind. The SDK tells it of changed lists like any session, and
// what it tells this session goes no further than sending. A listen is put to the SDK once in that session's name, to see
// the acknowledgement it would send: the id and the lists the server can tell of. So the SDK's registry never knows a
// client's listen.
//
// What the SDK tells legacy sessions of changed lists is taken from it too: it writes to one session after the other, so that
// one which does not read would hold it back from all the rest. Each is told by its own stream instead.
type tap struct {
	server  *mcp.Server
	changed func(kinds)                     // of listens
	legacy  func(*mcp.ServerSession, kinds) // of one session
	out     mcp.MethodHandler               // the SDK's own way out

	mu      sync.Mutex
	session *mcp.ServerSession
	closed  bool
}

type askKey struct{}

// ask is one listen put to the SDK.
type ask struct {
	cancel context.CancelFunc
	ack    *mcp.SubscriptionsAcknowledgedParams
}

func asked(ctx context.Context) *ask {
	a, _ := ctx.Value(askKey{}).(*ask)
	return a
}

// sending keeps what the SDK sends to our own session, and what it tells of changed lists.
func (t *tap) sending(next mcp.MethodHandler) mcp.MethodHandler {
	t.out = next
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		t.mu.Lock()
		ours := t.session != nil && req.GetSession() == mcp.Session(t.session)
		t.mu.Unlock()
		k := listOf(req.GetParams())
		ack, isAck := req.GetParams().(*mcp.SubscriptionsAcknowledgedParams)
		switch {
		case k != 0 && ours:
			if req.GetParams().GetMeta()[mcp.MetaKeySubscriptionID] == nil { // what is told to a listen of it is the same once more
				t.changed(k)
			}
		case k != 0:
			if ss, ok := req.GetSession().(*mcp.ServerSession); ok {
				t.legacy(ss, k)
			}
		case ours && isAck:
			if a := asked(ctx); a != nil {
				a.ack = ack
				a.cancel()
			}
		default:
			return next(ctx, method, req)
		}
		return nil, nil
	}
}

// listOf is the list that a notification says has changed; 0: it is another.
func listOf(p mcp.Params) kinds {
	switch p.(type) {
	case *mcp.ToolListChangedParams:
		return tools
	case *mcp.PromptListChangedParams:
		return prompts
	case *mcp.ResourceListChangedParams:
		return resources
	}
	return 0
}

// send hands a notification to a session. Over HTTP ctx tells which request's answer it is part of.
func (t *tap) send(ctx context.Context, ss *mcp.ServerSession, method string, params mcp.Params) error {
	_, err := t.out(ctx, method, &mcp.ServerRequest[mcp.Params]{Session: ss, Params: params})
	return err
}

// introduce learns a listen's id, and which of the lists it asks for the server tells of.
func (t *tap) introduce(ctx context.Context, req *mcp.SubscriptionsListenRequest, next mcp.MethodHandler) (id any, agreed mcp.NotificationSubscriptions, err error) {
	ss, err := t.connected()
	if err != nil {
		return nil, agreed, err
	}
	n := req.Params.Notifications
	lists := &mcp.NotificationSubscriptions{ToolsListChanged: n.ToolsListChanged, PromptsListChanged: n.PromptsListChanged, ResourcesListChanged: n.ResourcesListChanged}
	a := &ask{}
	ctx, a.cancel = context.WithCancel(context.WithValue(ctx, askKey{}, a))
	defer a.cancel()
	_, err = next(ctx, "subscriptions/listen", &mcp.SubscriptionsListenRequest{
		Session: ss, Params: &mcp.SubscriptionsListenParams{Meta: req.Params.Meta, Notifications: lists}, Extra: req.Extra,
	})
	switch {
	case err != nil:
		return nil, agreed, err
	case a.ack == nil || a.ack.Meta[mcp.MetaKeySubscriptionID] == nil:
		return nil, agreed, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the listen was not acknowledged"}
	}
	return a.ack.Meta[mcp.MetaKeySubscriptionID], a.ack.Notifications, nil
}

// connected is our own session, made when it is first needed.
func (t *tap) connected() (*mcp.ServerSession, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosing
	}
	if t.session == nil {
		ss, err := t.server.Connect(context.Background(), &nowhere{pings: make(chan jsonrpc.Message, 1), closed: make(chan struct{})}, nil)
		if err != nil {
			return nil, err
		}
		t.session = ss
	}
	return t.session, nil
}

func (t *tap) close() {
	t.mu.Lock()
	ss := t.session
	t.closed = true
	t.mu.Unlock()
	if ss != nil {
		_ = ss.Close() // nobody is behind it
	}
}

// nowhere is a transport without a client: nothing comes from it, and it answers pings.
type nowhere struct {
	pings  chan jsonrpc.Message
	once   sync.Once
	closed chan struct{}
}

// Connect implements mcp.Transport.
func (n *nowhere) Connect(context.Context) (mcp.Connection, error) { return n, nil }

// SessionID implements mcp.Connection.
func (n *nowhere) SessionID() string { return "" }

// Read implements mcp.Connection.
func (n *nowhere) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-n.pings:
		return msg, nil
	case <-n.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection.
func (n *nowhere) Write(_ context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil
	}
	select {
	case n.pings <- &jsonrpc.Response{ID: req.ID, Result: json.RawMessage("{}")}:
		return nil
	default:
		return errors.New("nobody is here")
	}
}

// Close implements mcp.Connection. Idempotent.
func (n *nowhere) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}
