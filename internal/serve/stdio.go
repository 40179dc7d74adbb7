package serve

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// A client that sends and does not read: no more is taken from it while this many bytes of answers wait to be written, and
// its session ends if nothing at all could be written for Stall.
const (
	Backlog = 64 << 20
	Stall   = time.Minute
)

// Grace is how long calls that are under way may still take after the client closed its end.
const Grace = 2 * time.Second

// Stdio serves one client over a pair of pipes until the client closes its end or ctx ends; both are no error. A client
// that writes everything and closes gets its answers: what is under way then may finish within Grace. A client that has
// stopped reading cannot hold Stdio longer than that.
func (s *Service) Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	t := &lingering{Transport: &pipe.Pipe{Reader: in, Writer: out, Unfit: s.scope.Unfit}, valve: &s.valve, gone: make(chan struct{})}
	s.valve.open()
	session, err := s.Connect(ctx, t)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }() // ends with the process at the latest
	select {
	case err = <-ended:
	case <-ctx.Done():
	case <-t.gone:
		wait := time.NewTimer(Grace / 4) // all was answered, or cannot be
		defer wait.Stop()
		select {
		case err = <-ended:
		case <-ctx.Done():
		case <-wait.C:
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// lingering is a transport whose end of input reaches the SDK only when the calls that came before it are answered, or
// Grace is over: the SDK drops what it has not answered when its input ends.
type lingering struct {
	mcp.Transport
	valve *valve
	gone  chan struct{} // closed when input has ended and nothing more is waited for
}

func (t *lingering) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &lingeringConn{Connection: c, transport: t, open: map[jsonrpc.ID]int{}, heavy: map[jsonrpc.ID]int{}, answered: make(chan struct{}, 1)}, nil
}

type lingeringConn struct {
	mcp.Connection
	transport *lingering
	answered  chan struct{} // something was answered

	mu      sync.Mutex
	open    map[jsonrpc.ID]int // calls without an answer
	heavy   map[jsonrpc.ID]int // those of them that pass the valve
	waiting int                // bytes of answers that are being written
	written int                // answers that were
	ended   bool
}

func (c *lingeringConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	if err := c.backlog(ctx); err != nil {
		return nil, err
	}
	msg, err := c.Connection.Read(ctx)
	if err != nil {
		c.linger(ctx)
		return msg, err
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && req.Method != "subscriptions/listen" {
		c.mu.Lock()
		c.open[req.ID]++
		if heavy(req.Method) {
			c.heavy[req.ID]++
		}
		c.mu.Unlock()
	}
	return msg, nil
}

func (c *lingeringConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	res, ok := msg.(*jsonrpc.Response)
	if ok {
		c.mu.Lock()
		c.waiting += len(res.Result)
		passed := c.heavy[res.ID] > 0
		if c.heavy[res.ID]--; c.heavy[res.ID] <= 0 {
			delete(c.heavy, res.ID)
		}
		c.mu.Unlock()
		c.transport.valve.writing(len(res.Result))
		if passed {
			c.transport.valve.handed()
		}
	}
	err := c.Connection.Write(ctx, msg)
	if ok {
		c.mu.Lock()
		c.waiting -= len(res.Result)
		c.written++
		if c.open[res.ID]--; c.open[res.ID] <= 0 {
			delete(c.open, res.ID)
		}
		c.mu.Unlock()
		c.transport.valve.writing(-len(res.Result))
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

// backlog waits until what is to be written is little enough to take more.
func (c *lingeringConn) backlog(ctx context.Context) error {
	state := func() (full bool, written int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.waiting > Backlog, c.written
	}
	full, written := state()
	if !full {
		return nil
	}
	stall := time.NewTimer(Stall)
	defer stall.Stop()
	for full {
		select {
		case <-c.answered:
		case <-ctx.Done():
			return ctx.Err()
		case <-stall.C:
			_, now := state()
			if now == written {
				return errStalled
			}
			written = now
			stall.Reset(Stall)
		}
		full, _ = state()
	}
	return nil
}

var errStalled = errors.New("the client does not read its answers")

func (c *lingeringConn) linger(ctx context.Context) {
	c.mu.Lock()
	first := !c.ended
	c.ended = true
	c.mu.Unlock()
	if !first {
		return
	}
	defer close(c.transport.gone)
	wait := time.NewTimer(Grace)
	defer wait.Stop()
	for {
		c.mu.Lock()
		n := len(c.open)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-c.answered:
		case <-wait.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
