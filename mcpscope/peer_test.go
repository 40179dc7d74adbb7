package mcpscope

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// patience is how long a test waits for what must come. It is not a measure of anything.
const patience = 20 * time.Second

// peer is a client that speaks lines.
type peer struct {
	t     *testing.T
	w     io.WriteCloser
	lines chan string // closed when the server closes its side
	ss    *mcp.ServerSession
}

// dial connects a raw peer to srv, over a Pipe or over the SDK's own transport.
func dial(t *testing.T, srv *mcp.Server, ours bool) *peer {
	t.Helper()
	return connect(t, srv, func(r io.ReadCloser, w io.WriteCloser) mcp.Transport {
		if ours {
			return &pipe.Pipe{Reader: r, Writer: w}
		}
		return &mcp.IOTransport{Reader: r, Writer: w}
	})
}

func connect(t *testing.T, srv *mcp.Server, over func(io.ReadCloser, io.WriteCloser) mcp.Transport) *peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ss, err := srv.Connect(context.Background(), over(inR, outW), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, w: inW, lines: make(chan string, 4096), ss: ss}
	go func() {
		defer close(p.lines)
		r := bufio.NewReaderSize(outR, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			p.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return p
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	line := format
	if len(args) > 0 {
		line = fmt.Sprintf(format, args...)
	}
	if _, err := io.WriteString(p.w, line+"\n"); err != nil {
		p.t.Fatalf("sending %s: %v", line, err)
	}
}

// recv is the next line the server sends.
func (p *peer) recv() message {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server closed the connection")
		}
		return p.parse(line)
	case <-time.After(patience):
		p.t.Fatal("no line came")
	}
	return message{}
}

func (p *peer) parse(line string) message {
	p.t.Helper()
	m := message{line: line}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		p.t.Fatalf("the server sent %q: %v", line, err)
	}
	return m
}

// ended waits for the server to close the connection.
func (p *peer) ended() {
	p.t.Helper()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return
			}
			p.t.Logf("before the end: %s", line)
		case <-time.After(patience):
			p.t.Fatal("the connection is still open")
		}
	}
}

// message is a line the server sent.
type message struct {
	line   string
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// tool is a tools/call result.
type toolReply struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	IsError           bool                       `json:"isError"`
	ResultType        string                     `json:"resultType"`
	RequestState      string                     `json:"requestState"`
	InputRequests     map[string]json.RawMessage `json:"inputRequests"`
	StructuredContent struct {
		Content any   `json:"content"`
		Error   Facts `json:"error"`
	} `json:"structuredContent"`
}

func (m message) tool(t *testing.T) toolReply {
	t.Helper()
	var r toolReply
	if m.Error != nil || json.Unmarshal(m.Result, &r) != nil {
		t.Fatalf("not a tool result: %s", m.line)
	}
	return r
}

func (r toolReply) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

const (
	modernMeta      = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	modernMetaRoots = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`
)

// initialize makes the pipe a legacy session and checks the answer's version.
func (p *peer) initialize(version, capabilities string) message {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"raw","version":"1"}}}`, version, capabilities)
	m := p.recv()
	if m.Error != nil {
		p.t.Fatalf("initialize: %s", m.line)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
}

// addTool registers a tool without schema checks.
func addTool(srv *mcp.Server, name string, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	srv.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
