package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The rival of the benchmark: a server of the bare SDK whose one tool gives a prepared reply of the same shape and size.
func echoServer() {
	text := strings.Repeat("0123456789abcde\n", 256)
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.AddTool(&mcp.Tool{Name: "read_text_file", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}},
				StructuredContent: map[string]any{"content": text, "version": "Mt6aiiIgXU0lq7KKcPJmVA"}}, nil
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

// driver sends raw lines, so that the client costs the same for both.
type driver struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func drive(tb testing.TB, env string, args ...string) *driver {
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "ROOTBOUND_TEST_AS="+env, "ROOTBOUND_STATE_DIR="+tb.TempDir())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	d := &driver{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	d.call(tb, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return d
}

func (d *driver) call(tb testing.TB, method, params string) string {
	d.id++
	if _, err := fmt.Fprintf(d.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", d.id, method, params); err != nil {
		tb.Fatal(err)
	}
	line, err := d.out.ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return line
}

// BenchmarkReadAgainstEcho reports the ratio of the medians of rounds that take turns.
func BenchmarkReadAgainstEcho(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(dir+"/a.txt", []byte(strings.Repeat("0123456789abcde\n", 256)), 0o644); err != nil {
		b.Fatal(err)
	}
	ours, echo := drive(b, "rootbound", "serve", "--confine=off", dir), drive(b, "echo")
	const params = `{"name":"read_text_file","arguments":{"path":"a.txt"}}`
	if line := ours.call(b, "tools/call", params); !strings.Contains(line, `0123456789abcde\n`) || strings.Contains(line, "isError") {
		b.Fatal(line)
	}
	var t [2][]time.Duration
	for b.Loop() {
		for i, d := range []*driver{ours, echo} {
			for range 20 {
				start := time.Now()
				d.call(b, "tools/call", params)
				t[i] = append(t[i], time.Since(start))
			}
		}
	}
	for i := range t {
		slices.Sort(t[i])
	}
	median := func(i int) time.Duration { return t[i][len(t[i])/2] }
	b.ReportMetric(float64(median(0).Nanoseconds()), "read-ns")
	b.ReportMetric(float64(median(1).Nanoseconds()), "echo-ns")
	b.ReportMetric(float64(median(0))/float64(median(1)), "ratio")
	b.ReportMetric(0, "ns/op")
}
