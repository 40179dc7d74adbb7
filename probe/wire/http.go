package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// web carries messages over Streamable HTTP. What the server wants to know comes on the stream of the request it belongs
// to; the separate stream of the legacy era is not opened. Redirections are not followed: where they lead was never asked.
type web struct {
	c       *Conn
	child   *child // nil: the server runs already
	client  *http.Client
	mu      sync.Mutex
	session string
	closed  bool
	streams sync.WaitGroup
}

func dial(ctx context.Context, c *Conn) (carrier, error) {
	w := &web{c: c, client: &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if len(c.o.Argv) == 0 {
		return w, nil
	}
	ch, in, out, err := start(c.o)
	if err != nil {
		return nil, err
	}
	w.child = ch
	w.streams.Go(func() { io.Copy(beside{c.o.Hear}, out); out.Close(); in.Close() })
	if err := listening(ctx, c.o.URL, ch); err != nil {
		w.close(0)
		return nil, err
	}
	return w, nil
}

// beside hands on what is written to it.
type beside struct{ hear func([]byte) }

func (b beside) Write(p []byte) (int, error) {
	if b.hear != nil {
		b.hear(p)
	}
	return len(p), nil
}

// send goes on when the server took the message: for a request, at once, for its stream may stay open as long as the call;
// for the first one and what is no request, when the answer begins, for it names the session and what came before.
func (w *web) send(ctx context.Context, lines ...[]byte) error {
	for _, l := range lines {
		var m message
		if err := json.Unmarshal(l, &m); err != nil {
			return err
		}
		taken := make(chan struct{})
		w.mu.Lock()
		if w.closed {
			w.mu.Unlock()
			return ErrGone
		}
		w.streams.Go(func() { w.post(m, l, sync.OnceFunc(func() { close(taken) })) })
		w.mu.Unlock()
		if m.Method != "" && len(m.ID) > 0 && m.Method != "initialize" {
			continue
		}
		select {
		case <-taken:
		case <-ctx.Done(): // a call that waits for an answer says so
		}
	}
	return nil
}

// post sends one message and takes what comes back; taken is called when something does.
func (w *web) post(m message, line []byte, taken func()) {
	defer taken()
	req, err := http.NewRequestWithContext(w.c.ctx, http.MethodPost, w.c.o.URL, bytes.NewReader(line))
	if err != nil {
		w.c.fail(err)
		return
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	w.address(h, m)
	res, err := w.client.Do(req)
	if err != nil {
		w.lost(err)
		return
	}
	defer res.Body.Close()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		w.mu.Lock()
		w.session = id
		w.mu.Unlock()
	}
	taken()
	var head bytes.Buffer
	res.Header.Write(&head)
	w.hear(head.Bytes())
	body := io.LimitReader(res.Body, int64(w.c.o.Line)+1)
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		w.events(body)
		return
	}
	raw, err := io.ReadAll(body)
	if len(raw) > w.c.o.Line {
		w.hear(raw)
		w.c.fail(fmt.Errorf("%w: a message of more than %d bytes", ErrFlood, w.c.o.Line))
		return
	}
	asked := len(m.ID) > 0 && m.Method != ""
	switch answer, ok := reply(m, raw, res.StatusCode); {
	case asked && ok && err == nil:
		w.c.take(answer)
	case asked: // refused below the protocol: give the caller an answer all the same
		w.hear(raw)
		text, _ := json.Marshal(fmt.Sprintf("HTTP %s: %s", res.Status, clip(raw, 200)))
		w.c.take(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%s}}`, m.ID, text))
	default: // a notification or an answer: nothing comes back
		w.hear(raw)
	}
}

// reply is the message a body holds. With a status that says no, an error may lack the id of what it answers, and what is no
// answer of the protocol is none.
func reply(m message, raw []byte, status int) ([]byte, bool) {
	if !json.Valid(raw) || len(bytes.TrimSpace(raw)) == 0 {
		return nil, false
	}
	if status < 300 {
		return raw, true
	}
	var r message
	if json.Unmarshal(raw, &r) != nil || r.Error == nil && r.Result == nil {
		return nil, false
	}
	if r.Error != nil && (len(r.ID) == 0 || string(r.ID) == "null") {
		r.ID = m.ID
		raw, _ = json.Marshal(r)
	}
	return raw, true
}

func (w *web) hear(b []byte) { beside{w.c.o.Hear}.Write(b) }

// lost says why no answer came, with the end of the process where that is why.
func (w *web) lost(err error) {
	if w.c.ctx.Err() != nil {
		return
	}
	if w.child != nil {
		select {
		case <-w.child.exited:
			w.c.fail(w.child.ended())
			return
		case <-w.c.ctx.Done():
			return
		case <-time.After(parting):
		}
	}
	w.c.fail(fmt.Errorf("%w: %v", ErrReach, errors.Unwrap(err)))
}

// address sets the headers that both eras route by.
func (w *web) address(h http.Header, m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session != "" {
		h.Set("Mcp-Session-Id", w.session)
	}
	var p struct {
		Name string         `json:"name"`
		Meta map[string]any `json:"_meta"`
	}
	json.Unmarshal(m.Params, &p)
	version, modern := p.Meta["io.modelcontextprotocol/protocolVersion"].(string)
	switch {
	case modern:
		h.Set("Mcp-Protocol-Version", version)
		h.Set("Mcp-Method", m.Method)
		h.Del("Mcp-Session-Id")
		if p.Name != "" {
			h.Set("Mcp-Name", headerText(p.Name))
		}
	case m.Method != "initialize":
		h.Set("Mcp-Protocol-Version", Legacy)
	}
}

func headerText(s string) string {
	for _, r := range s {
		if r < 0x20 || r > 0x7e {
			return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
		}
	}
	return s
}

// events reads server-sent events; each one's data is a message.
func (w *web) events(body io.Reader) {
	in := bufio.NewScanner(body)
	in.Buffer(nil, w.c.o.Line)
	var data []byte
	for in.Scan() {
		line := in.Bytes()
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(rest, []byte(" "))...)
		}
		if len(line) == 0 && len(data) > 0 {
			w.c.take(data)
			data = nil
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		w.c.fail(fmt.Errorf("%w: a message of more than %d bytes", ErrFlood, w.c.o.Line))
	}
}

func (w *web) close(patience time.Duration) string {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.c.cancel() // ends the streams
	end := "left running"
	if w.child != nil {
		w.child.end(0)
		end = "had to be ended" // nothing asks a server on a socket to leave
	}
	w.streams.Wait()
	w.client.CloseIdleConnections()
	return end
}

func (w *web) stderr() string {
	if w.child == nil {
		return ""
	}
	return w.child.tail.String()
}
