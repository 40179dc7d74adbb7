package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs/cache"
)

// speaker is a client that speaks lines to a Service in this process.
type speaker struct {
	b     *testing.B
	out   io.WriteCloser
	lines *bufio.Reader
	end   func()
}

func speak(b *testing.B, o Options) *speaker {
	b.Helper()
	o.Version = "bench"
	s, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Stdio(context.Background(), in, out) }()
	c := &speaker{b: b, out: toServer, lines: bufio.NewReaderSize(fromServer, 1<<20)}
	c.end = func() {
		toServer.Close()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		if err := s.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	c.call("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	return c
}

func (c *speaker) call(method, params string) string {
	if _, err := fmt.Fprintf(c.out, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", method, params); err != nil {
		c.b.Fatal(err)
	}
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.b.Fatal(err)
	}
	return line
}

// BenchmarkRead is read_text_file of 4 KiB over pipes inside this process: raw lines in, raw lines out.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(dir+"/a.txt", []byte(strings.Repeat("0123456789abcde\n", 256)), 0o644); err != nil {
		b.Fatal(err)
	}
	c := speak(b, Options{Projects: []rootbound.Project{{ID: "p", Dir: dir, Rights: rootbound.ReadWrite}}})
	defer c.end()
	b.ReportAllocs()
	for b.Loop() {
		if line := c.call("tools/call", `{"name":"read_text_file","arguments":{"path":"a.txt"}}`); len(line) < 8000 {
			b.Fatal(line)
		}
	}
}

// BenchmarkPages goes through a text of 32 MiB by read_text_file, 2,000 lines at a time, with the cache and without it. The
// file is older than what the cache leaves alone.
func BenchmarkPages(b *testing.B) {
	dir := b.TempDir()
	const lines, page = 1 << 20, 2000
	if err := os.WriteFile(dir+"/long.txt", []byte(strings.Repeat("All work and no play makes 32 B\n", lines)), 0o644); err != nil {
		b.Fatal(err)
	}
	projects := []rootbound.Project{{ID: "p", Dir: dir, Rights: rootbound.ReadOnly}}
	kept, bare := speak(b, Options{Projects: projects}), speak(b, Options{Projects: projects, Cache: -1})
	defer kept.end()
	defer bare.end()
	time.Sleep(cache.Age + time.Second) // a benchmark, not a test: the clock cannot be asked to run ahead
	var with, without []time.Duration
	at := 0
	for b.Loop() {
		params := fmt.Sprintf(`{"name":"read_text_file","arguments":{"path":"long.txt","line":%d,"lines":%d}}`, at*page+1, page)
		t := time.Now()
		one := kept.call("tools/call", params)
		with = append(with, time.Since(t))
		t = time.Now()
		other := bare.call("tools/call", params)
		without = append(without, time.Since(t))
		if one != other || len(one) < page*32 {
			b.Fatalf("page %d: %d bytes and %d", at, len(one), len(other))
		}
		at = (at + 1) % (lines / page)
	}
	b.ReportMetric(sum(with)/sum(without), "ratio")
	b.ReportMetric(sum(with)/float64(len(with))*1000, "ms/page")
}

func sum(d []time.Duration) (s float64) {
	for _, d := range d {
		s += d.Seconds()
	}
	return s
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
