package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/serve"
)

// process is a server in a process of its own and a client that speaks raw lines.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	read   *os.File // what out reads
	stderr *lockedBuffer
	ended  chan struct{} // closed when the process is gone; then code is valid
	code   int
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// busy lets a call wait longer for the file system than by default: the disk of a machine that does much else is slow, and no
// test is about that.
const busy = "ROOTBOUND_FS_TIMEOUT=1m"

func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	return startIn(t, filepath.Join(t.TempDir(), "state"), args...)
}

func startIn(t *testing.T, state string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(self, args...), stderr: &lockedBuffer{}, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "ROOTBOUND_TEST_AS=rootbound", "ROOTBOUND_STATE_DIR="+state, busy)
	p.cmd.Stderr = p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = w
	p.read, p.out = r, bufio.NewReaderSize(r, 1<<20)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() {
		_ = p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.in.Close()
		select {
		case <-p.ended:
		case <-time.After(patience):
			_ = p.cmd.Process.Kill()
			t.Error("the server did not end")
			<-p.ended
		}
		r.Close()
	})
	return p
}

func (p *process) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

type message struct {
	ID     json.RawMessage
	Method string
	Result map[string]any
	Error  *struct {
		Code    int
		Message string
	}
}

func (p *process) receive() message {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%v; stderr: %s", err, p.stderr)
	}
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		p.t.Fatalf("%v in %q", err, line)
	}
	return m
}

func (p *process) initialize(revision string) message {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	m := p.receive()
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

// patience is how long a process may take to end: on a slow machine under the race detector the server of a client that does
// not read needs many times what it needs otherwise. It is less than serve.Stall, after which such a session ends in any case.
const patience = 45 * time.Second

func (p *process) exit(want int) {
	p.t.Helper()
	select {
	case <-p.ended:
		if p.code != want {
			p.t.Errorf("exit code %d, want %d; stderr: %s", p.code, want, p.stderr)
		}
	case <-time.After(patience):
		p.t.Errorf("still running after %v", patience)
	}
}

func dirWith(t *testing.T, name, content string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

const readCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"a.txt"}}}`

func firstText(m message) string {
	content, _ := m.Result["content"].([]any)
	if len(content) == 0 {
		return ""
	}
	block, _ := content[0].(map[string]any)
	s, _ := block["text"].(string)
	return s
}

func TestEveryRevisionOnOnePipe(t *testing.T) {
	dir := dirWith(t, "a.txt", "hello\n")
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			p := startProcess(t, "serve", dir)
			m := p.initialize(revision)
			if m.Result["protocolVersion"] != revision || m.Result["serverInfo"].(map[string]any)["name"] != "rootbound" || m.Result["instructions"] == "" {
				t.Errorf("%v", m.Result)
			}
			p.send(readCall)
			if m := p.receive(); firstText(m) != "hello\n" || m.Result["resultType"] != nil {
				t.Errorf("%+v", m)
			}
			p.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no_such_tool"}}`)
			if m := p.receive(); m.Error == nil || m.Error.Code != -32602 {
				t.Errorf("an unknown tool: %+v", m)
			}
			// A modern request on the same pipe is served too.
			p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"a.txt"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
			if m := p.receive(); firstText(m) != "hello\n" {
				t.Errorf("%+v", m)
			}
			p.in.Close()
			p.exit(0)
			if p.stderr.String() != "" {
				t.Errorf("stderr: %s", p.stderr)
			}
		})
	}
	t.Run("2026-07-28", func(t *testing.T) {
		p := startProcess(t, "serve", dir)
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
		p.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`)
		m := p.receive()
		if m.Result["ttlMs"] != float64(0) || m.Result["cacheScope"] != "private" || len(m.Result["supportedVersions"].([]any)) != 5 {
			t.Errorf("%v", m.Result)
		}
		call := `"name":"read_text_file","arguments":{"path":"a.txt"},` + meta
		p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + call + `}}`)
		m = p.receive()
		state, _ := m.Result["requestState"].(string)
		if m.Result["resultType"] != "input_required" || state == "" {
			t.Fatalf("%v", m.Result)
		}
		p.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{` + call + `,"requestState":"` + state + `","inputResponses":{"roots":{"roots":[{"uri":"file://` + dir + `"}]}}}}`)
		if m := p.receive(); firstText(m) != "hello\n" {
			t.Errorf("%+v", m)
		}
	})
}

// A line that is no JSON is answered and the session goes on; so is what is no request.
func TestBadLinesDoNotEndTheSession(t *testing.T) {
	p := startProcess(t, "serve", dirWith(t, "a.txt", "hello\n"))
	p.initialize("2025-06-18")
	for _, bad := range []string{`garbage`, `{"jsonrpc":"2.0","id":`, `[]`, `{"jsonrpc":"1.0","id":9,"method":"ping"}`, strings.Repeat("[", 5000)} {
		p.send(bad)
		if m := p.receive(); m.Error == nil || m.Error.Code > -32600 {
			t.Errorf("%.40q: %+v", bad, m)
		}
	}
	p.send(readCall)
	if m := p.receive(); firstText(m) != "hello\n" {
		t.Errorf("%+v", m)
	}
}

// A client that writes all it has and closes gets its answers before the server ends.
func TestCallsBeforeTheEndAreAnswered(t *testing.T) {
	p := startProcess(t, "serve", dirWith(t, "a.txt", "hello\n"))
	p.initialize("2025-06-18")
	var all strings.Builder
	for i := range 50 {
		fmt.Fprintf(&all, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"read_text_file\",\"arguments\":{\"path\":\"a.txt\"}}}\n", i)
	}
	if _, err := io.WriteString(p.in, all.String()); err != nil {
		t.Fatal(err)
	}
	p.in.Close()
	for range 50 {
		if m := p.receive(); firstText(m) != "hello\n" {
			t.Fatalf("%+v", m)
		}
	}
	p.exit(0)
}

// A client that stops reading holds up nobody but itself, and not for ever.
func TestClientThatStopsReading(t *testing.T) {
	dir := dirWith(t, "a.txt", strings.Repeat("0123456789abcde\n", 4096))
	for _, end := range []string{"EOF", "SIGTERM"} {
		t.Run(end, func(t *testing.T) {
			p := startProcess(t, "serve", dir)
			p.initialize("2025-06-18")
			full := make(chan struct{})
			go func() {
				defer close(full)
				for i := range 400 {
					if _, err := fmt.Fprintf(p.in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"read_text_file\",\"arguments\":{\"path\":\"a.txt\"}}}\n", i); err != nil {
						return
					}
				}
			}()
			// The first answer is on its way, the rest cannot be: the pipe is full. Another server goes on meanwhile.
			other := startProcess(t, "serve", dir)
			other.initialize("2025-06-18")
			other.send(readCall)
			if m := other.receive(); len(firstText(m)) != 65536 {
				t.Errorf("%+v", m)
			}
			if end == "EOF" {
				select {
				case <-full:
				case <-time.After(5 * time.Second): // the server reads no more than it can answer
				}
				p.in.Close()
				p.exit(0)
				return
			}
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			p.exit(0)
		})
	}
}

func TestSignalsEndTheServer(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		p := startProcess(t, "serve", dirWith(t, "a.txt", "x"))
		p.initialize("2025-06-18")
		if err := p.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		p.exit(0)
		if p.stderr.String() != "" {
			t.Errorf("stderr: %s", p.stderr)
		}
	}
}

// Two servers of one state directory at once, as a client that probes starts them: both serve, and edits of one file are
// all applied.
func TestTwoServersAtOnce(t *testing.T) {
	var text, want strings.Builder
	for n := range 2 {
		for i := range 20 {
			fmt.Fprintf(&text, "open %d-%d.\n", n, i)
			fmt.Fprintf(&want, "done %d-%d.\n", n, i)
		}
	}
	dir := dirWith(t, "a.txt", text.String())
	state := filepath.Join(t.TempDir(), "state")
	var servers []*process
	for range 2 {
		p := startIn(t, state, "serve", dir)
		p.initialize("2025-06-18")
		servers = append(servers, p)
	}
	var wg sync.WaitGroup
	for n, p := range servers {
		wg.Go(func() {
			for i := range 20 {
				p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"edit_file","arguments":{"path":"a.txt","edits":[{"oldText":"open %d-%d.","newText":"done %d-%d."}]}}}`, i, n, i, n, i))
			}
			for range 20 {
				if m := p.receive(); m.Result["isError"] == true {
					t.Errorf("%s", firstText(m))
				}
			}
		})
	}
	wg.Wait()
	if got, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(got) != want.String() {
		t.Errorf("%v\n%s", err, got)
	}
}

// MCPGODEBUG takes fixes of the protocol library back; the server starts anew without it.
func TestDebugVariableIsDropped(t *testing.T) {
	const bad = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":5}}`
	answer := func() message {
		p := startProcess(t, "serve", dirWith(t, "a.txt", "x"))
		p.initialize("2025-06-18")
		p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		tools := p.receive().Result["tools"].([]any)
		hints := tools[0].(map[string]any)["annotations"].(map[string]any)
		if _, ok := hints["idempotentHint"]; !ok {
			t.Errorf("the library writes annotations as it did before its fix: %v", hints)
		}
		p.send(bad)
		return p.receive()
	}
	want := answer()
	t.Setenv("MCPGODEBUG", "hintomitempty=1,nowrapinvalidparams=1")
	if got := answer(); got.Error == nil || want.Error == nil || got.Error.Code != want.Error.Code {
		t.Errorf("%+v, want %+v", got.Error, want.Error)
	}
}

// A subscription that a client opens and never ends does not keep the server from ending: it would take at least Grace, every
// time. Any end that is faster shows that it does not, however slow the machine is otherwise.
func TestOpenSubscriptionDoesNotHoldTheServer(t *testing.T) {
	var took time.Duration
	for range 10 {
		p := startProcess(t, "serve", dirWith(t, "a.txt", "x"))
		p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		p.receive() // acknowledged
		start := time.Now()
		p.in.Close()
		p.exit(0)
		if took = time.Since(start); took < serve.Grace {
			return
		}
	}
	t.Errorf("ended after %v, ten times", took)
}

// A client that is gone ends the session in order: what was under way is done, recorded, and leaves nothing behind.
func TestClientGoneInMidCall(t *testing.T) {
	dir, log := dirWith(t, "a.txt", "x"), filepath.Join(t.TempDir(), "audit.jsonl")
	p := startProcess(t, "serve", "--audit", log, dir)
	p.initialize("2025-06-18")
	p.read.Close()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"b.txt","content":"whole"}}}`)
	p.exit(0)
	if got, err := os.ReadFile(filepath.Join(dir, "b.txt")); err != nil || string(got) != "whole" {
		t.Errorf("%q, %v", got, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	records, err := os.ReadFile(log)
	if err != nil || strings.Count(string(records), `"phase":"decided"`) != strings.Count(string(records), `"phase":"completed"`) {
		t.Errorf("%v\n%s", err, records)
	}
	if p.stderr.String() != "" {
		t.Errorf("stderr: %s", p.stderr)
	}
}
