// Package rawmcp is a small MCP client that speaks JSON-RPC lines to a child process, for tests and measuring tools.
//
// It knows nothing of any SDK and of no other room of the module, so that what it shows is what is on the wire: both
// protocol eras, paths as raw bytes, answers of roots/list by script (a list, an error, silence, a late answer, a
// change), calls side by side. It is strict where a test wants to see a fault and adds nothing to a request.
package rawmcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
)

// Revisions a test names.
const (
	Legacy = "2025-11-25"
	Modern = "2026-07-28"
)

// Answer is what the client says when it is asked for its roots. The zero value is an empty list.
type Answer struct {
	Roots  []string        // URIs, in order
	Raw    json.RawMessage // the whole result instead of Roots
	Error  int             // JSON-RPC error code instead of a result (legacy only)
	Silent bool            // never answer
}

// Options say how a server is started and what the client declares. Argv is required.
type Options struct {
	Argv  []string
	Dir   string
	Env   []string // whole environment; nil: inherited
	Attr  *syscall.SysProcAttr
	Files []*os.File // become descriptors 3, 4, …

	Version     string                     // revision; empty: Legacy
	Roots       func(ask int) Answer       // nil: the capability is not declared; ask counts from 0; may block
	ListChanged bool                       // declared with the roots capability
	Raw         func(line []byte, in bool) // sees each line that goes in to or comes out of the server
}

// RPCError is a JSON-RPC error answer.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("rpc error %d: %s", e.Code, e.Message) }

// ErrGone means that the server ended or closed its side before it answered.
var ErrGone = errors.New("rawmcp: the server is gone")

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *RPCError       `json:"error,omitempty"`
}

// Client is one client on one server process. Safe for concurrent use.
type Client struct {
	o      Options
	cmd    *exec.Cmd
	in     io.WriteCloser
	wmu    sync.Mutex
	mu     sync.Mutex
	wait   map[int64]chan message
	gone   chan struct{} // closed when stdout ended
	exited chan struct{} // closed when the process was waited for
	exit   error
	next   atomic.Int64
	asks   atomic.Int64
	stderr buffer
	reader sync.WaitGroup
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Start starts the server and reads its answers until it ends. Close must be called.
func Start(o Options) (*Client, error) {
	if o.Version == "" {
		o.Version = Legacy
	}
	c := &Client{o: o, wait: map[int64]chan message{}, gone: make(chan struct{}), exited: make(chan struct{})}
	c.cmd = exec.Command(o.Argv[0], o.Argv[1:]...)
	c.cmd.Dir, c.cmd.Env, c.cmd.SysProcAttr, c.cmd.ExtraFiles = o.Dir, o.Env, o.Attr, o.Files
	c.cmd.Stderr = &c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in = in
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.reader.Go(func() { c.read(out) })
	go func() { // ends with the process; Close waits for it
		c.reader.Wait()
		c.exit = c.cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

func (c *Client) read(out io.Reader) {
	defer close(c.gone)
	r := bufio.NewReaderSize(out, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			c.take(line)
		}
		if err != nil {
			return
		}
	}
}

func (c *Client) take(line []byte) {
	if c.o.Raw != nil {
		c.o.Raw(line, false)
	}
	var m message
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch {
	case m.Method != "" && len(m.ID) > 0:
		go c.serve(m) // a script may block in its answer; the reader must go on
	case m.Method != "":
	default:
		var id int64
		if json.Unmarshal(m.ID, &id) != nil {
			return
		}
		c.mu.Lock()
		ch := c.wait[id]
		delete(c.wait, id)
		c.mu.Unlock()
		if ch != nil {
			ch <- m
		}
	}
}

// serve answers a request of the server.
func (c *Client) serve(m message) {
	var reply any
	switch {
	case m.Method == "ping":
		reply = map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": struct{}{}}
	case m.Method == "roots/list" && c.o.Roots != nil:
		a := c.o.Roots(int(c.asks.Add(1) - 1))
		switch {
		case a.Silent:
			return
		case a.Error != 0:
			reply = map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": RPCError{Code: a.Error, Message: "no roots"}}
		default:
			reply = map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": a.result()}
		}
	default:
		reply = map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": RPCError{Code: -32601, Message: "method not found"}}
	}
	c.send(reply)
}

func (a Answer) result() any {
	if a.Raw != nil {
		return a.Raw
	}
	roots := make([]map[string]string, len(a.Roots))
	for i, u := range a.Roots {
		roots[i] = map[string]string{"uri": u}
	}
	return map[string]any{"roots": roots}
}

func (c *Client) send(v any) error {
	line, err := encode(v)
	if err != nil {
		return err
	}
	return c.Line(line)
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

// Line sends a line as it is; a newline is added if it has none.
func (c *Client) Line(line []byte) error {
	if c.o.Raw != nil {
		c.o.Raw(line, true)
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if n := len(line); n == 0 || line[n-1] != '\n' {
		line = append(line[:n:n], '\n')
	}
	_, err := c.in.Write(line)
	return err
}

// Request sends one request and waits for its answer. A context that ends leaves the request unanswered and sends no
// cancellation. The error is an *RPCError, ErrGone or the context's.
func (c *Client) Request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id, ch, err := c.Post(method, params)
	if err != nil {
		return nil, err
	}
	return c.Await(ctx, id, ch)
}

// Answering is a request on its way.
type Answering = <-chan message

// Post sends a request without waiting.
func (c *Client) Post(method string, params any) (id int64, ch Answering, err error) {
	id = c.next.Add(1)
	answer := make(chan message, 1)
	c.mu.Lock()
	c.wait[id] = answer
	c.mu.Unlock()
	req := map[string]any{"jsonrpc": "2.0", "id": id, "method": method}
	if p := c.envelope(params); p != nil {
		req["params"] = p
	}
	if err := c.send(req); err != nil {
		return id, answer, fmt.Errorf("%w: %v", ErrGone, err)
	}
	return id, answer, nil
}

// Await waits for the answer of a posted request.
func (c *Client) Await(ctx context.Context, id int64, ch Answering) (json.RawMessage, error) {
	select {
	case m := <-ch:
		return done(m)
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.wait, id)
		c.mu.Unlock()
		return nil, ctx.Err()
	case <-c.gone:
		select {
		case m := <-ch:
			return done(m)
		default:
			return nil, ErrGone
		}
	}
}

func done(m message) (json.RawMessage, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	return m.Result, nil
}

// envelope adds what the modern era wants in each request.
func (c *Client) envelope(params any) any {
	if c.o.Version != Modern {
		return params
	}
	p, ok := params.(map[string]any)
	if !ok {
		p = map[string]any{}
		if params != nil {
			raw, _ := encode(params)
			json.Unmarshal(raw, &p)
		}
	}
	if _, ok := p["_meta"]; !ok {
		q := make(map[string]any, len(p)+1)
		for k, v := range p {
			q[k] = v
		}
		p = q
		p["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    Modern,
			"io.modelcontextprotocol/clientInfo":         map[string]string{"name": "rawmcp", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": c.capabilities(),
		}
	}
	return p
}

func (c *Client) capabilities() map[string]any {
	switch {
	case c.o.Roots == nil:
		return map[string]any{}
	case c.o.ListChanged && c.o.Version != Modern:
		return map[string]any{"roots": map[string]bool{"listChanged": true}}
	}
	return map[string]any{"roots": struct{}{}}
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) error {
	n := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		n["params"] = params
	}
	return c.send(n)
}

// Open does the handshake of the era: initialize and initialized, or server/discover. It returns the server's result.
func (c *Client) Open(ctx context.Context) (json.RawMessage, error) {
	if c.o.Version == Modern {
		return c.Request(ctx, "server/discover", map[string]any{})
	}
	res, err := c.Request(ctx, "initialize", map[string]any{
		"protocolVersion": c.o.Version,
		"capabilities":    c.capabilities(),
		"clientInfo":      map[string]string{"name": "rawmcp", "version": "1"},
	})
	if err != nil {
		return nil, err
	}
	return res, c.Notify("notifications/initialized", nil)
}

// RootsChanged tells a legacy server that the list changed; in the modern era each call asks anew.
func (c *Client) RootsChanged() error {
	if c.o.Version == Modern {
		return nil
	}
	return c.Notify("notifications/roots/list_changed", nil)
}

// Asks is how often the server asked for the roots.
func (c *Client) Asks() int { return int(c.asks.Load()) }
