// Package pipe is a transport for go-sdk servers over a pipe, and the last look at what leaves through it.
package pipe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rootbound/rootbound"
)

// DefaultMaxLine is the longest line a Pipe takes, in bytes.
const DefaultMaxLine = 16 << 20

// idKey is where a Pipe leaves a request's JSON-RPC id for the middleware. The blank keeps it out of reach of HTTP: no
// header of a request can have this name.
const idKey = "rootbound request id"

// RequestID is the JSON-RPC id of a request that came through a Pipe, by its Extra.Header; empty: by another transport.
func RequestID(h http.Header) string {
	if id := h[idKey]; len(id) == 1 {
		return id[0]
	}
	return ""
}

// inputsKey is where a request of 2026-07-28 brings what the client was asked for.
const inputsKey = "inputResponses"

// Pipe is a newline-delimited JSON-RPC transport like mcp.IOTransport, with three differences. A bad line does not end
// it: it is answered with -32700 or -32600 and the next one is read. Error texts never repeat what was sent: the SDK
// quotes all parameters of a call it cannot decode, before any middleware sees it. And a middleware learns the
// ids of requests from it, for the record.
//
// Batches are taken only in the revisions that have them, 2024-11-05 and 2025-03-26.
type Pipe struct {
	Reader  io.ReadCloser
	Writer  io.WriteCloser
	MaxLine int // bytes of one line; 0: DefaultMaxLine. A longer line is answered with an error and skipped

	// Unfit is told of a request that is refused before any middleware sees it, because the SDK cannot decode its parameters:
	// a roots answer of 2026-07-28 among them. params are those of a request that brings such answers, else nil. What it
	// returns is the data of the error. nil: nobody is told. Called concurrently.
	Unfit func(method string, params json.RawMessage, id string) json.RawMessage
}

// Connect implements mcp.Transport. The goroutine that reads ends with the reader: at its end or error, or at Close if
// closing it wakes a blocked read.
func (p *Pipe) Connect(context.Context) (mcp.Connection, error) {
	if p.Reader == nil || p.Writer == nil {
		return nil, errors.New("pipe: it needs a Reader and a Writer")
	}
	c := &pipeConn{r: p.Reader, w: p.Writer, unfit: p.Unfit, max: p.MaxLine, incoming: make(chan incoming), closed: make(chan struct{})}
	if c.max <= 0 {
		c.max = DefaultMaxLine
	}
	go c.readLines()
	return c, nil
}

type incoming struct {
	msgs []jsonrpc.Message
	err  error
}

type pipeConn struct {
	r        io.ReadCloser
	w        io.WriteCloser
	unfit    func(string, json.RawMessage, string) json.RawMessage
	max      int
	incoming chan incoming
	queue    []jsonrpc.Message // rest of a batch; Read is never called concurrently

	writing sync.Mutex

	mu      sync.Mutex
	init    jsonrpc.ID // of the initialize request whose answer tells the revision
	version string     // negotiated by initialize
	open    map[jsonrpc.ID]unanswered
	batches map[jsonrpc.ID]*batch

	once   sync.Once
	closed chan struct{}
	err    error
}

// unanswered is what is kept of a request until it is answered.
type unanswered struct {
	method string
	inputs json.RawMessage // the parameters, if they bring inputs that the client was asked for
}

// batch collects the answers of one batch, which leave together.
type batch struct {
	open    int
	answers [][]byte
}

// SessionID implements mcp.Connection: a pipe has none.
func (c *pipeConn) SessionID() string { return "" }

// Close implements mcp.Connection. Idempotent.
func (c *pipeConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.err = errors.Join(c.r.Close(), c.w.Close())
	})
	return c.err
}

// Read implements mcp.Connection.
func (c *pipeConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(c.queue) == 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case in := <-c.incoming:
			if in.err != nil {
				return nil, in.err
			}
			c.queue = in.msgs
		}
	}
	msg := c.queue[0]
	c.queue = c.queue[1:]
	return msg, nil
}

func (c *pipeConn) readLines() {
	r := bufio.NewReaderSize(c.r, 64<<10)
	for {
		line, long, err := readLine(r, c.max)
		switch line = bytes.TrimSpace(line); {
		case long:
			c.reject(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("message longer than %d bytes", c.max))
		case len(line) == 0:
		default:
			if msgs := c.decode(line); len(msgs) > 0 {
				select {
				case c.incoming <- incoming{msgs: msgs}:
				case <-c.closed:
					return
				}
			}
		}
		if err != nil {
			select {
			case c.incoming <- incoming{err: err}:
			case <-c.closed:
			}
			return
		}
	}
}

// decode gives the messages of a line and answers what is none.
func (c *pipeConn) decode(line []byte) []jsonrpc.Message {
	if !json.Valid(line) {
		c.reject(nil, jsonrpc.CodeParseError, "the line is not JSON")
		return nil
	}
	if line[0] == '[' {
		return c.decodeBatch(line)
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.reject(idOf(line), jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message")
		return nil
	}
	if !c.note(msg) {
		return nil
	}
	return []jsonrpc.Message{msg}
}

func (c *pipeConn) decodeBatch(line []byte) []jsonrpc.Message {
	c.mu.Lock()
	version := c.version
	c.mu.Unlock()
	if version != "2024-11-05" && version != "2025-03-26" {
		c.reject(nil, jsonrpc.CodeInvalidRequest, "batches are not part of this protocol revision")
		return nil
	}
	var lines []json.RawMessage
	if err := json.Unmarshal(line, &lines); err != nil || len(lines) == 0 {
		c.reject(nil, jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 batch")
		return nil
	}
	var all []jsonrpc.Message
	ids := map[jsonrpc.ID]*batch{}
	for _, l := range lines {
		msg, err := jsonrpc.DecodeMessage(l)
		if err != nil {
			c.reject(idOf(l), jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message")
			continue
		}
		if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
			if _, twice := ids[req.ID]; twice {
				c.reject(nil, jsonrpc.CodeInvalidRequest, "an id occurs twice in the batch")
				return nil
			}
			ids[req.ID] = nil
		}
		all = append(all, msg)
	}
	clear(ids)
	var msgs []jsonrpc.Message
	b := &batch{}
	for _, msg := range all {
		if !c.note(msg) {
			continue
		}
		if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
			ids[req.ID] = b
			b.open++
		}
		msgs = append(msgs, msg)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.batches == nil {
		c.batches = map[jsonrpc.ID]*batch{}
	}
	for id := range ids {
		c.batches[id] = b
	}
	return msgs
}

// note leaves the id with a request and remembers which one is initialize. A request whose id still waits for an answer
// is rejected: the SDK would drop it, and its caller could not tell the answers apart. What is neither a request nor an
// answer is rejected too, but goes on: it may end the wait of whoever asked.
func (c *pipeConn) note(msg jsonrpc.Message) bool {
	switch m := msg.(type) {
	case *jsonrpc.Response:
		if m.Result == nil && m.Error == nil {
			id, err := json.Marshal(m.ID.Raw())
			if err != nil || len(id) > rootbound.MaxEcho || c.waits(m.ID) {
				id = nil // or it would be taken for another request's answer
			}
			c.reject(id, jsonrpc.CodeInvalidRequest, "neither a method nor a result")
		}
	case *jsonrpc.Request:
		if !m.IsCall() {
			break
		}
		if c.waits(m.ID) {
			c.reject(nil, jsonrpc.CodeInvalidRequest, "the id of a request that is not answered yet")
			return false
		}
		m.Extra = &mcp.RequestExtra{Header: http.Header{idKey: {fmt.Sprint(m.ID.Raw())}}}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open == nil {
			c.open = map[jsonrpc.ID]unanswered{}
		}
		u := unanswered{method: m.Method}
		if c.unfit != nil && bytes.Contains(m.Params, []byte(inputsKey)) {
			u.inputs = m.Params
		}
		c.open[m.ID] = u
		if m.Method == "initialize" && c.version == "" {
			c.init = m.ID
		}
	}
	return true
}

func (c *pipeConn) waits(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, waits := c.open[id]
	return waits
}

// Write implements mcp.Connection. It may be called concurrently. It blocks while the peer does not read.
func (c *pipeConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	res, isRes := msg.(*jsonrpc.Response)
	if isRes && res.Error != nil {
		told := scrub(res.Error)
		c.mu.Lock()
		u, legacy := c.open[res.ID], c.version != ""
		c.mu.Unlock()
		switch {
		case told.Message == ErrUnfit && c.unfit != nil && Unreadable(res.Error.Error()):
			told.Data = c.unfit(u.method, u.inputs, fmt.Sprint(res.ID.Raw()))
		case told.Code == jsonrpc.CodeMethodNotFound:
			told.Message += otherEra(u.method, legacy)
		}
		res = &jsonrpc.Response{ID: res.ID, Error: told}
		msg = res
	}
	c.writing.Lock() // before encoding: of many large answers that wait for the peer, only one is there twice
	defer c.writing.Unlock()
	line, err := encode(msg)
	if err != nil {
		return err
	}
	if isRes {
		if line = c.answered(res, line); line == nil {
			return nil
		}
	}
	_, err = c.w.Write(append(line, '\n'))
	return err
}

// answered learns the revision from initialize's answer and holds back the answers of a batch until it is complete: nil.
func (c *pipeConn) answered(res *jsonrpc.Response, line []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, res.ID)
	if c.init.IsValid() && c.init == res.ID && res.Error == nil {
		var v struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if json.Unmarshal(res.Result, &v) == nil {
			c.version = v.ProtocolVersion
		}
		c.init = jsonrpc.ID{}
	}
	b := c.batches[res.ID]
	if b == nil {
		return line
	}
	delete(c.batches, res.ID)
	b.answers = append(b.answers, line)
	if len(b.answers) < b.open {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(b.answers, []byte{','})...), ']')
}

func (c *pipeConn) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.w.Write(append(line, '\n'))
	return err
}

// reject answers a message the SDK never sees. An error of the write shows at the next one.
func (c *pipeConn) reject(id json.RawMessage, code int64, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	line, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: code, Message: text}})
	if err == nil {
		_ = c.writeLine(line)
	}
}

// idOf finds a usable id in a line that is no message, so that the caller's wait ends: a string or a number.
func idOf(line []byte) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &m) != nil || len(m.ID) == 0 || len(m.ID) > rootbound.MaxEcho {
		return nil
	}
	if m.ID[0] == '"' || m.ID[0] == '-' || (m.ID[0] >= '0' && m.ID[0] <= '9') {
		return m.ID
	}
	return nil
}
