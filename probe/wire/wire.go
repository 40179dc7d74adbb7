// Package wire is a client of MCP for judging servers: raw JSON-RPC over a child's pipes or over Streamable HTTP.
//
// It is no SDK, because a judge needs what an SDK forbids: answers that come late, malformed or never, messages written
// behind each other in one piece, paths that are not UTF-8. It trusts the server with nothing: lines, messages and
// patience are bounded, and when a Conn is closed nothing that the server started is left running.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Revisions that stand for the two eras.
const (
	Legacy = "2025-11-25"
	Modern = "2026-07-28"
)

const (
	defaultLine = 16 << 20         // bytes of one message; the largest answer a client should ever have to take
	unasked     = 20000            // messages that answer nothing, before a server counts as flooding
	questions   = 1000             // of the server that are not answered yet, before it counts as flooding
	replying    = 10 * time.Second // for what the client writes by itself
	holding     = 5 * time.Second  // how long a grandchild that holds stderr is listened to
	parting     = 6 * time.Second  // between a pipe that breaks and the word on how the process ended
)

// What can end a connection. Each comes wrapped in a text that says more.
var (
	ErrGone    = errors.New("the server ended")
	ErrGarbage = errors.New("the server wrote what is no JSON-RPC message")
	ErrFlood   = errors.New("the server wrote without bound")
	ErrSilent  = errors.New("no answer")
	ErrDeaf    = errors.New("the server does not read its input")
	ErrReach   = errors.New("the server cannot be reached over HTTP")
)

// Answer is what the client says when it is asked for its roots. The zero value is an empty list.
type Answer struct {
	Roots  []string        // URIs, in order
	Raw    json.RawMessage // the whole result instead of Roots
	Code   int             // a JSON-RPC error instead of a result
	Silent bool            // never answer
}

func (a Answer) result() any {
	if a.Raw != nil {
		return a.Raw
	}
	roots := make([]map[string]json.RawMessage, len(a.Roots))
	for i, u := range a.Roots {
		roots[i] = map[string]json.RawMessage{"uri": Text(u)}
	}
	return map[string]any{"roots": roots}
}

// Options say how a server is reached and what the client declares.
type Options struct {
	Argv []string // the server's command; with URL: started first, then reached there
	Dir  string
	Env  []string // whole environment
	URL  string   // Streamable HTTP; empty: the child's pipes

	Version string               // Legacy or Modern; empty: Legacy
	Roots   func(ask int) Answer // nil: roots are not declared; ask counts from 0; may block
	Line    int                  // largest message in bytes; 0: 16 MiB
	See     func(in bool, message []byte)
	Hear    func(b []byte) // what comes beside messages: standard error, headers, bodies that are no message; may be nil
}

// RPCError is a JSON-RPC error answer.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *RPCError       `json:"error,omitempty"`
}

// carrier moves messages. send gets whole lines, more than one if they are to arrive in one piece.
type carrier interface {
	send(ctx context.Context, lines ...[]byte) error
	close(patience time.Duration) string // how the server ended
	stderr() string
}

// Conn is one client of one server. Safe for concurrent use.
type Conn struct {
	o      Options
	line   carrier
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	next   atomic.Int64
	asks   atomic.Int64

	mu     sync.Mutex
	wait   map[int64]chan message
	idle   int // messages that answered nothing
	err    error
	gone   chan struct{} // closed when err is set
	asked  chan struct{} // closed and replaced at each question for roots
	corked [][]byte
	cork   bool
	open   int // questions of the server that are not answered yet
	busy   sync.WaitGroup
}

// Open starts or reaches the server. Close must be called.
func Open(ctx context.Context, o Options) (*Conn, error) {
	if o.Version == "" {
		o.Version = Legacy
	}
	if o.Line == 0 {
		o.Line = defaultLine
	}
	c := &Conn{o: o, wait: map[int64]chan message{}, gone: make(chan struct{}), asked: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if o.URL != "" {
		c.line, err = dial(ctx, c)
	} else {
		c.line, err = spawn(c)
	}
	if err != nil {
		c.cancel()
		return nil, err
	}
	return c, nil
}

// Close ends the connection and everything the server started, and says how the server ended.
func (c *Conn) Close(patience time.Duration) string {
	end := c.line.close(patience)
	c.cancel()
	c.fail(ErrGone)
	c.busy.Wait()
	return end
}

// Stderr is the last part of what the server wrote there.
func (c *Conn) Stderr() string { return c.line.stderr() }

// Err is why the connection ended; nil while it lives.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.gone)
	}
}

// take is called by carriers with each message that came.
func (c *Conn) take(raw []byte) {
	if c.o.See != nil {
		c.o.See(true, raw)
	}
	var m message
	if err := json.Unmarshal(raw, &m); err != nil || m.Method == "" && m.Result == nil && m.Error == nil {
		c.fail(fmt.Errorf("%w: %q", ErrGarbage, clip(raw, 80)))
		return
	}
	if m.Method != "" && len(m.ID) > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case c.err != nil:
		case c.open == questions:
			c.err = fmt.Errorf("%w: %d questions before it reads an answer", ErrFlood, c.open)
			close(c.gone)
		default:
			c.open++
			c.busy.Add(1)
			go c.answer(m) // an answer may be late on purpose; the reader goes on
		}
		return
	}
	var id int64
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Method == "" && json.Unmarshal(m.ID, &id) == nil && c.wait[id] != nil {
		c.wait[id] <- m
		delete(c.wait, id)
		return
	}
	if c.idle++; c.idle > unasked && c.err == nil {
		c.err = fmt.Errorf("%w: %d messages that answer nothing", ErrFlood, c.idle)
		close(c.gone)
	}
}

// answer serves a request of the server.
func (c *Conn) answer(m message) {
	defer c.busy.Done()
	defer func() {
		c.mu.Lock()
		c.open--
		c.mu.Unlock()
	}()
	reply := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	switch {
	case m.Method == "ping":
		reply["result"] = struct{}{}
	case m.Method == "roots/list" && c.o.Roots != nil:
		a := c.ask()
		switch {
		case a.Silent:
			return
		case a.Code != 0:
			reply["error"] = RPCError{Code: a.Code, Message: "roots are not available"}
		default:
			reply["result"] = a.result()
		}
	default:
		reply["error"] = RPCError{Code: -32601, Message: "method not found"}
	}
	ctx, stop := context.WithTimeout(c.ctx, replying)
	defer stop()
	c.send(ctx, reply)
}

// ask lets the script answer one question for roots.
func (c *Conn) ask() Answer {
	n := int(c.asks.Add(1) - 1)
	c.mu.Lock()
	close(c.asked)
	c.asked = make(chan struct{})
	c.mu.Unlock()
	return c.o.Roots(n)
}

// Asks is how often the server asked for the roots; the channel is closed at the next question.
func (c *Conn) Asks() (int, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int(c.asks.Load()), c.asked
}

func (c *Conn) send(ctx context.Context, v any) error {
	line, err := encode(v)
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.cork {
		c.corked = append(c.corked, line)
		c.mu.Unlock()
		return nil
	}
	c.mu.Unlock()
	return c.write(ctx, line)
}

func (c *Conn) write(ctx context.Context, lines ...[]byte) error {
	if c.o.See != nil {
		for _, l := range lines {
			c.o.See(false, l)
		}
	}
	if err := c.line.send(ctx, lines...); err != nil {
		if errors.Is(err, ErrDeaf) {
			if had := c.Err(); had != nil {
				return had
			}
			if c.ctx.Err() == nil {
				c.fail(err) // part of a message may have been taken: whatever follows would be no message
			}
			return err
		}
		select { // who reads its output knows more of its end than a broken pipe tells
		case <-c.gone:
			return c.Err()
		case <-ctx.Done():
		case <-time.After(parting + time.Second):
		}
		return fmt.Errorf("%w: %v", ErrGone, err)
	}
	return nil
}

// Cork holds back what is sent until Uncork, which writes it in one piece.
func (c *Conn) Cork() {
	c.mu.Lock()
	c.cork = true
	c.mu.Unlock()
}

// Uncork writes what was held back.
func (c *Conn) Uncork() error {
	c.mu.Lock()
	lines := c.corked
	c.cork, c.corked = false, nil
	c.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	return c.write(c.ctx, lines...)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Text is a JSON string that holds the bytes of s as they are, also where they are no UTF-8; encoding/json would replace
// them.
func Text(s string) json.RawMessage {
	const hex = "0123456789abcdef"
	out := append(make([]byte, 0, len(s)+2), '"')
	for _, b := range []byte(s) {
		switch {
		case b == '"' || b == '\\':
			out = append(out, '\\', b)
		case b < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		default:
			out = append(out, b)
		}
	}
	return append(out, '"')
}

func clip(b []byte, n int) []byte {
	if len(b) > n {
		return b[:n]
	}
	return b
}
