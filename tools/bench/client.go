package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// peer is one server process and one caller that waits for each answer. It reads lines and decodes nothing, so that what
// is measured is the server.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func start(argv ...string) (*peer, error) {
	c := exec.Command(argv[0], argv[1:]...)
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &peer{cmd: c, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	if _, err := p.call("initialize", json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)); err != nil {
		p.stop()
		return nil, err
	}
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return p, err
}

func (p *peer) stop() {
	p.in.Close()
	done := make(chan struct{})
	go func() { p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(3 * time.Second):
		p.cmd.Process.Kill()
		<-done
	}
}

// call sends one request and returns the line that answers it.
func (p *peer) call(method string, params json.RawMessage) ([]byte, error) {
	p.id++
	mark := []byte(`"id":` + strconv.Itoa(p.id))
	if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", p.id, method, params); err != nil {
		return nil, err
	}
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: the server is gone: %w", method, err)
		}
		head, tail := line[:min(len(line), 64)], line[max(0, len(line)-64):]
		if !bytes.Contains(head, mark) && !bytes.Contains(tail, mark) || bytes.Contains(head, []byte(`"method"`)) {
			continue
		}
		if bytes.Contains(head, []byte(`"error":{"code"`)) || bytes.Contains(tail, []byte(`"isError":true`)) {
			return line, fmt.Errorf("%s is refused: %.300s", method, line)
		}
		return line, nil
	}
}

func (p *peer) tool(name string, args any) ([]byte, error) {
	b, err := json.Marshal(map[string]any{"name": name, "arguments": args})
	if err != nil {
		return nil, err
	}
	return p.call("tools/call", b)
}

// resident is the process's resident memory in KiB, and peak the most it ever was.
func (p *peer) resident() (int, error) { return p.status("VmRSS:") }
func (p *peer) peak() (int, error)     { return p.status("VmHWM:") }

func (p *peer) status(field string) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 1 && f[0] == field {
			return strconv.Atoi(f[1])
		}
	}
	return 0, fmt.Errorf("no %s", field)
}

// times are the durations of one side of a row.
type times []time.Duration

func (t times) median() float64 { return t.at(0.5) }

func (t times) sum() (s float64) {
	for _, d := range t {
		s += float64(d)
	}
	return s
}

func (t times) at(q float64) float64 {
	s := slices.Sorted(slices.Values(t))
	return float64(s[min(len(s)-1, int(q*float64(len(s))))].Nanoseconds())
}

func sorted(s []string) []string { slices.Sort(s); return s }
