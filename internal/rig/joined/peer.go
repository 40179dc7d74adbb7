package joined

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/mcpscope/pipe"
)

// Patience is how long a test waits for what must come. It is not a measure of anything.
const Patience = 30 * time.Second

// What a request of the era of 2026-07-28 carries in its parameters: from a client without roots, and from one with them.
const (
	Meta      = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	MetaRoots = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`
)

// Over makes the server's side of a connection.
type Over = func(io.ReadCloser, io.WriteCloser) mcp.Transport

// Pipe is an Over of this module's own transport.
func Pipe(r io.ReadCloser, w io.WriteCloser) mcp.Transport { return &pipe.Pipe{Reader: r, Writer: w} }

// SDK is an Over of the SDK's own transport.
func SDK(r io.ReadCloser, w io.WriteCloser) mcp.Transport {
	return &mcp.IOTransport{Reader: r, Writer: w}
}

// Ends connects a server over pipes and gives the client's ends, which are closed when the test is over.
func Ends(tb testing.TB, connect Connect, over Over) (in io.WriteCloser, out *io.PipeReader, s *mcp.ServerSession) {
	tb.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s, err := connect(context.Background(), over(inR, outW))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { inW.Close(); outR.Close() })
	return inW, outR, s
}

// Peer is a client that speaks lines. One goroutine uses it, except that any may write to In.
type Peer struct {
	TB      testing.TB
	In      io.WriteCloser
	Lines   chan string // without their ends; closed when the server closes its side
	Session *mcp.ServerSession
}

// Dial is a Peer that reads what comes whether it is asked to or not.
func Dial(tb testing.TB, connect Connect, over Over) *Peer {
	tb.Helper()
	in, out, s := Ends(tb, connect, over)
	p := &Peer{TB: tb, In: in, Lines: make(chan string, 4096), Session: s}
	done := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(p.Lines)
		for r := bufio.NewReaderSize(out, 1<<20); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			select {
			case p.Lines <- strings.TrimSuffix(line, "\n"):
			case <-done:
				return
			}
		}
	})
	tb.Cleanup(func() { in.Close(); out.Close(); close(done); reading.Wait() })
	return p
}

// Send sends a line: format as it is if there are no args.
func (p *Peer) Send(format string, args ...any) {
	p.TB.Helper()
	line := format
	if len(args) > 0 {
		line = fmt.Sprintf(format, args...)
	}
	if _, err := io.WriteString(p.In, line+"\n"); err != nil {
		p.TB.Fatalf("sending %s: %v", line, err)
	}
}

// Recv is the next line the server sends.
func (p *Peer) Recv() Message {
	p.TB.Helper()
	select {
	case line, ok := <-p.Lines:
		if !ok {
			p.TB.Fatal("the server closed the connection")
		}
		return Parse(p.TB, line)
	case <-time.After(Patience):
		p.TB.Fatal("no line came")
	}
	return Message{}
}

// Ended waits for the server to close the connection.
func (p *Peer) Ended() {
	p.TB.Helper()
	for {
		select {
		case line, ok := <-p.Lines:
			if !ok {
				return
			}
			p.TB.Logf("before the end: %s", line)
		case <-time.After(Patience):
			p.TB.Fatal("the connection is still open")
		}
	}
}

// Initialize makes the connection a legacy session. It is the server's answer, which is no error.
func (p *Peer) Initialize(version, capabilities string) Message {
	p.TB.Helper()
	p.Send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"raw","version":"1"}}}`, version, capabilities)
	m := p.Recv()
	if m.Error != nil {
		p.TB.Fatalf("initialize: %s", m.Line)
	}
	p.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

// Message is a line that a server sent.
type Message struct {
	Line   string          `json:"-"`
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta          map[string]any             `json:"_meta"`
		URI           string                     `json:"uri"`
		Notifications map[string]json.RawMessage `json:"notifications"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// Parse reads a line.
func Parse(tb testing.TB, line string) Message {
	tb.Helper()
	m := Message{Line: line}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		tb.Fatalf("the server sent %q: %v", line, err)
	}
	return m
}
