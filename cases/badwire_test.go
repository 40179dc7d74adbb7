//go:build linux

package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/rawmcp"
	"github.com/rootbound/rootbound/internal/rig"
)

// badLine is a line that is no good request, and what comes back.
type badLine struct {
	name, line string
	code       int  // of the error that answers it; 0: none is sent
	tool       bool // answered by a tool's refusal or by an error
	served     bool // answered, and each item in it refused
}

func badLines() []badLine {
	call := func(id, params string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":` + params + `}`
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	return []badLine{
		{name: "not JSON", line: `garbage`, code: -32700},
		{name: "half", line: `{"jsonrpc":"2.0","id":`, code: -32700},
		{name: "two values", line: `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0"}`, code: -32700},
		{name: "NUL", line: "\x00\x00\x00", code: -32700},
		{name: "binary", line: "\xff\xfe\x80\x01", code: -32700},
		{name: "HTTP", line: "GET / HTTP/1.1\r", code: -32700},
		{name: "100000 brackets open", line: strings.Repeat("[", 100_000), code: -32700},
		{name: "100000 deep", line: deep(100_000), code: -32700},
		{name: "9000 deep", line: deep(9000), code: -32600},
		{name: "deep id", line: `{"jsonrpc":"2.0","id":` + deep(5000) + `,"method":"ping"}`, code: -32600},
		{name: "deep parameters", line: call("1001", `{"name":"read_text_file","arguments":{"path":"alive","x":`+deep(9000)+`}}`), tool: true},
		{name: "deep path", line: call("1002", `{"name":"read_text_file","arguments":{"path":`+strings.Repeat(`{"a":`, 5000)+`1`+strings.Repeat(`}`, 5000)+`}}`), tool: true},
		{name: "empty batch", line: `[]`, code: -32600},
		{name: "batch", line: `[{"jsonrpc":"2.0","id":1003,"method":"ping"}]`, code: -32600},
		{name: "number", line: `7`, code: -32600},
		{name: "null", line: `null`, code: -32600},
		{name: "text", line: `"ping"`, code: -32600},
		{name: "empty object", line: `{}`, code: -32600},
		{name: "no version", line: `{"id":1004,"method":"ping"}`, code: -32600},
		{name: "version 1.0", line: `{"jsonrpc":"1.0","id":1005,"method":"ping"}`, code: -32600},
		{name: "version a number", line: `{"jsonrpc":2.0,"id":1006,"method":"ping"}`, code: -32600},
		{name: "no method", line: `{"jsonrpc":"2.0","id":1007}`, code: -32600},
		{name: "method a number", line: `{"jsonrpc":"2.0","id":1008,"method":7}`, code: -32600},
		{name: "method empty", line: `{"jsonrpc":"2.0","id":1009,"method":""}`, code: -32601},
		{name: "method unknown", line: `{"jsonrpc":"2.0","id":1010,"method":"files/read"}`, code: -32601},
		{name: "method of 1 MiB", line: `{"jsonrpc":"2.0","id":1011,"method":"` + strings.Repeat("m", 1<<20) + `"}`, code: -32601},
		{name: "id an object", line: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, code: -32600},
		{name: "id true", line: `{"jsonrpc":"2.0","id":true,"method":"ping"}`, code: -32600},
		{name: "parameters text", line: call("1012", `"alive"`), code: -32602},
		{name: "parameters a list", line: call("1013", `["read_text_file"]`), code: -32602},
		{name: "parameters null", line: call("1014", `null`), code: -32600},
		{name: "no name", line: call("1015", `{"arguments":{"path":"alive"}}`), code: -32602},
		{name: "name a number", line: call("1016", `{"name":7}`), code: -32602},
		{name: "name unknown", line: call("1017", `{"name":"delete_everything","arguments":{}}`), code: -32602},
		{name: "arguments text", line: call("1018", `{"name":"read_text_file","arguments":"alive"}`), tool: true},
		{name: "arguments a list", line: call("1019", `{"name":"read_text_file","arguments":["alive"]}`), tool: true},
		{name: "arguments null", line: call("1020", `{"name":"read_text_file","arguments":null}`), tool: true},
		{name: "no arguments", line: call("1021", `{"name":"write_file"}`), tool: true},
		{name: "path null", line: call("1022", `{"name":"write_file","arguments":{"path":null,"content":"x"}}`), tool: true},
		{name: "path a list", line: call("1023", `{"name":"write_file","arguments":{"path":["new"],"content":"x"}}`), tool: true},
		{name: "content missing", line: call("1024", `{"name":"write_file","arguments":{"path":"new"}}`), tool: true},
		{name: "content an object", line: call("1025", `{"name":"write_file","arguments":{"path":"new","content":{}}}`), tool: true},
		{name: "edits text", line: call("1026", `{"name":"edit_file","arguments":{"path":"alive","edits":"x"}}`), tool: true},
		{name: "edits of nothing", line: call("1027", `{"name":"edit_file","arguments":{"path":"alive","edits":[{}]}}`), tool: true},
		{name: "100000 edits", line: call("1028", `{"name":"edit_file","arguments":{"path":"alive","edits":[`+strings.Repeat(`{"oldText":"none","newText":"x"},`, 99_999)+`{"oldText":"none","newText":"x"}]}}`), tool: true},
		{name: "100000 paths", line: call("1029", `{"name":"read_multiple_files","arguments":{"paths":[`+strings.Repeat(`"../x",`, 99_999)+`"../x"]}}`), served: true},
		{name: "head of 1e308", line: call("1030", `{"name":"read_text_file","arguments":{"path":"none","head":1e308}}`), tool: true},
		{name: "head -1", line: call("1031", `{"name":"read_text_file","arguments":{"path":"none","head":-1}}`), tool: true},
		{name: "meta text", line: call("1032", `{"name":"read_text_file","arguments":{"path":"none"},"_meta":"x"}`), tool: true},
		{name: "revision unknown", line: call("1033", `{"name":"write_file","arguments":{"path":"new","content":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}`), tool: true},
		{name: "state forged", line: call("1034", `{"name":"write_file","arguments":{"path":"new","content":"x"},"requestState":"AAAA","inputResponses":{"roots":{"roots":[{"uri":"file:///"}]}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}`), tool: true},
		{name: "initialize again", line: `{"jsonrpc":"2.0","id":1035,"method":"initialize","params":{}}`, tool: true},
		{name: "answer to nothing", line: `{"jsonrpc":"2.0","id":999999,"result":{"roots":[{"uri":"file:///"}]}}`},
		{name: "error to nothing", line: `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`},
		{name: "id null", line: `{"jsonrpc":"2.0","id":null,"method":"ping"}`},
		{name: "notification unknown", line: `{"jsonrpc":"2.0","method":"notifications/nothing","params":[1]}`},
		{name: "cancelled nothing", line: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":424242}}`},
		{name: "cancelled badly", line: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":"x"}`},
		{name: "progress of nothing", line: `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{},"progress":"x"}}`},
		{name: "a call as notification", line: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"write_file","arguments":{"path":"new","content":"x"}}}`},
		{name: "empty lines", line: "\n\r\n   \n"},
		{name: "20 MiB", line: call("1036", `{"name":"write_file","arguments":{"path":"new","content":"`+strings.Repeat("x", 20<<20)+`"}}`), code: -32600},
		{name: "20 MiB of nothing", line: strings.Repeat(" ", 20<<20) + "x", code: -32600},
	}
}

// TestBadLines sends each to one server of each era; after each the server answers, and at the end nothing has changed.
func TestBadLines(t *testing.T) {
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, base+"/lines", era)
			defer w.close()
			answers := make(chan []byte, 64)
			p := w.serveBad(start{version: version, raw: func(line []byte, in bool) {
				if !in {
					answers <- bytes.Clone(line)
				}
			}}, w.dir+"/ws")
			<-answers // of the handshake
			before := take(w.dir, nil, nil)
			for i, c := range badLines() {
				if version == rawmcp.Legacy && c.name == "state forged" {
					continue // the session's own state counts there, and it declares no roots
				}
				w.badLine(p, c, version == rawmcp.Modern, answers, fmt.Sprintf("alive-%d", i))
			}
			w.unchanged(before)
			if _, peak := resident(p.PID()); peak > 400<<10 {
				t.Errorf("it grew to %d MiB", peak>>10)
			}
			if s := p.Stderr(); strings.Contains(s, "goroutine") {
				t.Errorf("stderr: %.400s", s)
			}
		})
	}
}

// badLine sends a line and a good request, and reads until both are answered. In 2026-07-28 a call that does not name its
// revision is no good request before anything else is looked at.
func (w *world) badLine(p *product, c badLine, modern bool, answers <-chan []byte, ping string) {
	t := w.t
	t.Helper()
	if err := p.Line([]byte(c.line)); err != nil {
		t.Fatalf("%s: %v; stderr: %.400s", c.name, err, p.Stderr())
	}
	p.Line([]byte(`{"jsonrpc":"2.0","id":"` + ping + `","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	due, alive := c.code != 0 || c.tool || c.served, false
	limit := time.After(time.Minute)
	for due || !alive {
		var raw []byte
		select {
		case raw = <-answers:
		case <-limit:
			t.Fatalf("%s: answered %v, alive %v; stderr: %.400s", c.name, !due, alive, p.Stderr())
		case <-p.Gone():
			t.Fatalf("%s: the server ended; stderr: %.400s", c.name, p.Stderr())
		}
		var m struct {
			ID     any              `json:"id"`
			Method string           `json:"method"`
			Error  *rawmcp.RPCError `json:"error"`
			Result struct {
				IsError bool `json:"isError"`
			} `json:"result"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Errorf("%s: a line that is not JSON: %.200s", c.name, raw)
			continue
		}
		switch {
		case m.ID == ping:
			alive = m.Error == nil
			if !alive {
				t.Fatalf("%s: %.300s", c.name, raw)
			}
		case m.Method != "": // the server's own
		case !due:
			t.Errorf("%s: one answer too many: %.300s", c.name, raw)
		default:
			due = false
			switch {
			case c.tool && m.Error == nil && !m.Result.IsError:
				t.Errorf("%s: accepted: %.300s", c.name, raw)
			case c.code != 0 && (m.Error == nil || m.Error.Code != c.code && (!modern || m.Error.Code != -32600)):
				t.Errorf("%s: want %d, got %.300s", c.name, c.code, raw)
			}
			if len(raw) > 20_000 && !c.served || len(raw) > 8<<20 {
				t.Errorf("%s: an answer of %d bytes", c.name, len(raw))
			}
			for _, never := range []string{w.dir, "goroutine", "Go value", "Go struct", "json:", "invalid character"} {
				if bytes.Contains(raw, []byte(never)) {
					t.Errorf("%s: the answer tells %q: %.300s", c.name, never, raw)
				}
			}
		}
	}
}

// TestDuplicateIDs: two requests of one id, one after the other and at once, are each answered or refused, and no answer
// is another's.
func TestDuplicateIDs(t *testing.T) {
	w := newWorld(t, base, "duplicates")
	defer w.close()
	answers := make(chan []byte, 256)
	p := w.serveBad(start{raw: func(line []byte, in bool) {
		if !in {
			answers <- bytes.Clone(line)
		}
	}}, w.dir+"/ws")
	<-answers
	var lines strings.Builder
	for range 50 {
		lines.WriteString(`{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"alive"}}}` + "\n")
	}
	if err := p.Line([]byte(lines.String())); err != nil {
		t.Fatal(err)
	}
	good := 0
	for range 50 {
		select {
		case raw := <-answers:
			if bytes.Contains(raw, []byte(`"alive"`)) {
				good++
			} else if !bytes.Contains(raw, []byte(`"error"`)) {
				t.Errorf("%.300s", raw)
			}
		case <-time.After(time.Minute):
			t.Fatalf("fewer than 50 answers; stderr: %.400s", p.Stderr())
		}
	}
	if good == 0 {
		t.Error("none of them was served")
	}
	w.reads(p, "alive", "alive")
}

// child is a server whose pipes the test holds itself.
type child struct {
	*exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	errors bytes.Buffer
}

// bare starts a server without a client. Its pipes are closed, and it ends, with the world.
func (w *world) bare(argv ...string) *child {
	w.t.Helper()
	all := append(rig.Server(w.t), append([]string{"--confine=off", "--no-slow"}, argv...)...)
	c := &child{Cmd: exec.Command(all[0], all[1:]...)}
	c.Env = []string{"HOME=" + w.state + "/home", "XDG_STATE_HOME=" + w.state + "/state", fsTimeout(time.Minute)}
	c.Stderr = &c.errors
	var err error
	if c.in, err = c.StdinPipe(); err == nil {
		c.out, err = c.StdoutPipe()
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.after(func() { c.in.Close(); c.Process.Kill(); c.Wait() })
	c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	c.out.Read(make([]byte, 1<<16))
	return c
}

func (c *child) say(line string) error {
	_, err := io.WriteString(c.in, line+"\n")
	return err
}

// ended waits for the process's own end. It is less than the minute after which a session that stalls ends in any case.
func (w *world) ended(c *child) {
	w.t.Helper()
	const within = 45 * time.Second
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	select {
	case err := <-done:
		if err != nil || c.errors.Len() > 0 {
			w.t.Errorf("it ended with %v; stderr: %.400s", err, c.errors.String())
		}
	case <-time.After(within):
		w.t.Errorf("still there after %v", within)
		c.Process.Kill()
		<-done
	}
}

// TestClientGoneInMidCall: both ends of the pipe close while trees, searches and writes are under way. The process ends by
// itself with code 0, and every file is the old or the new one, with no other beside it.
func TestClientGoneInMidCall(t *testing.T) {
	for _, which := range []string{"both", "out first"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, base+"/gone", which)
			defer w.close()
			for i := range 20 {
				if err := w.many(fmt.Sprintf("%s/ws/many/%d", w.dir, i), 100, "f%03d", nil); err != nil {
					t.Fatal(err)
				}
			}
			old, fresh := strings.Repeat("old ", 50_000), strings.Repeat("new ", 50_000)
			w.put(w.dir+"/ws/big/text", []byte(old))
			c := w.bare(w.dir + "/ws")
			go func() { // the pipe may be full; it ends with the child
				for i := 1; ; i += 3 {
					c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"directory_tree","arguments":{"path":"."}}}`, i))
					c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search_files","arguments":{"path":".","pattern":"**/none*"}}}`, i+1))
					if c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"big/text","content":%q}}}`, i+2, fresh)) != nil {
						return
					}
				}
			}()
			if _, err := io.ReadFull(c.out, make([]byte, 300_000)); err != nil { // calls are being answered
				t.Fatalf("%v; stderr: %.400s", err, c.errors.String())
			}
			c.out.Close()
			if which == "out first" {
				wait(50 * time.Millisecond)
			}
			c.in.Close()
			w.ended(c)
			if b, err := os.ReadFile(w.dir + "/ws/big/text"); err != nil || string(b) != old && string(b) != fresh {
				t.Errorf("%d bytes, %v", len(b), err)
			}
			if list, _ := os.ReadDir(w.dir + "/ws/big"); len(list) != 1 {
				t.Errorf("left beside the file: %v", list)
			}
		})
	}
}

// TestClientThatReadsLate: a client asks for far more than it reads. The server takes no more than its backlog allows,
// another server is not disturbed, and when reading goes on every answer arrives.
func TestClientThatReadsLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base, "late")
	defer w.close()
	if err := w.fill(w.dir+"/ws/text", 1<<20-200); err != nil {
		t.Fatal(err)
	}
	const calls = 120 // about 2 MiB each
	c := w.bare("--audit", w.state+"/late.jsonl", w.dir+"/ws")
	var sent sync.WaitGroup
	sent.Go(func() {
		for i := 1; i <= calls; i++ {
			c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"text"}}}`, i))
		}
	})
	begun := func() (n int) { // calls whose decision is recorded
		b, _ := os.ReadFile(w.state + "/late.jsonl")
		return bytes.Count(b, []byte(`"phase":"decided"`))
	}
	for last, still := -1, 0; still < 8; { // until no further call begins
		wait(200 * time.Millisecond)
		if now := begun(); now > last {
			last, still = now, 0
		} else if now > 0 {
			still++
		}
	}
	_, peak := resident(c.Process.Pid)
	t.Logf("%d of %d calls of 2 MiB begun, %d MiB", begun(), calls, peak>>10)
	if n := begun(); n > calls/2 || peak > 700<<10 {
		t.Errorf("%d of %d calls were begun for a client that reads nothing; %d MiB", n, calls, peak>>10)
	}
	other := w.serveBad(start{}, w.dir+"/ws")
	w.reads(other, "alive", "alive")
	dec, seen := json.NewDecoder(c.out), map[int]bool{}
	for len(seen) < calls {
		var m struct {
			ID     int `json:"id"`
			Result struct {
				IsError bool           `json:"isError"`
				Content []rawmcp.Block `json:"content"`
			} `json:"result"`
		}
		if err := dec.Decode(&m); err != nil {
			t.Fatalf("after %d answers: %v; stderr: %.400s", len(seen), err, c.errors.String())
		}
		if seen[m.ID] || m.Result.IsError {
			t.Errorf("answer %d: twice %v, error %v: %.300v", m.ID, seen[m.ID], m.Result.IsError, m.Result.Content)
		}
		seen[m.ID] = true
	}
	sent.Wait()
	c.in.Close()
	w.ended(c)
}
