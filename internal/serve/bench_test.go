package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

// BenchmarkRead is read_text_file of 4 KiB over pipes inside this process: raw lines in, raw lines out.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(dir+"/a.txt", []byte(strings.Repeat("0123456789abcde\n", 256)), 0o644); err != nil {
		b.Fatal(err)
	}
	s, err := New(Options{Version: "bench", Projects: []rootbound.Project{{ID: "p", Dir: dir, Rights: rootbound.ReadWrite}}})
	if err != nil {
		b.Fatal(err)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Stdio(context.Background(), in, out) }()
	lines := bufio.NewReaderSize(fromServer, 1<<20)
	call := func(method, params string) string {
		if _, err := fmt.Fprintf(toServer, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", method, params); err != nil {
			b.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		return line
	}
	call("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if line := call("tools/call", `{"name":"read_text_file","arguments":{"path":"a.txt"}}`); len(line) < 8000 {
			b.Fatal(line)
		}
	}
	toServer.Close()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	if err := s.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkNew is what a start costs beside the process itself: hosts that probe start a server twice.
func BenchmarkNew(b *testing.B) {
	dir := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		s, err := New(Options{Version: "bench", Projects: []rootbound.Project{{ID: "p", Dir: dir, Rights: rootbound.ReadWrite}}})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
