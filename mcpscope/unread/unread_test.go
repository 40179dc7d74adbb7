package unread

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what must come. It is not a measure of anything.
const patience = 30 * time.Second

// server answers when it is told to. begun gets each request whose body was read.
type server struct {
	*httptest.Server
	t     *testing.T
	begun chan string
	on    chan struct{}
	shut  chan struct{} // one for each connection that ended
}

func serve(t *testing.T, b *Bounds, answer func(w http.ResponseWriter)) *server {
	s := &server{t: t, begun: make(chan string, 64), on: make(chan struct{}), shut: make(chan struct{}, 64)}
	s.Server = httptest.NewUnstartedServer(b.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			return
		}
		s.begun <- r.Header.Get("X-Name")
		<-s.on
		answer(w)
	})))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			s.shut <- struct{}{}
		}
	}
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
		return ctx
	}
	s.Start()
	t.Cleanup(func() {
		if t.Failed() { // Close waits for all that was asked, which may wait for what the test did not come to
			select {
			case <-s.on:
			default:
				close(s.on)
			}
			s.CloseClientConnections()
		}
		s.Close()
	})
	return s
}

func plain(w http.ResponseWriter) { _, _ = io.WriteString(w, "done") }

// post sends a request and gives its status when it is answered.
func (s *server) post(user, name, body string) <-chan int {
	s.t.Helper()
	status := make(chan int, 1)
	req, err := http.NewRequest("POST", s.URL, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-User", user)
	req.Header.Set("X-Name", name)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			if !s.t.Failed() { // else it was cut
				s.t.Error(err)
			}
			status <- 0
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		status <- res.StatusCode
	}()
	return status
}

func (s *server) next(want string) {
	s.t.Helper()
	if got := await(s.t, s.begun); got != want {
		s.t.Fatalf("%q begins, want %q", got, want)
	}
}

func await[T any](t *testing.T, c <-chan T) (x T) {
	t.Helper()
	select {
	case x = <-c:
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	return x
}

// eventually waits for a state that there is no event of. is is called under b.mu.
func (b *Bounds) eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		so := is()
		b.mu.Unlock()
		if so {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it never came to this: " + what)
		}
	}
}

func byUser(r *http.Request) string { return r.Header.Get("X-User") }

const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`

// One principal has so many requests open and not one more; others have theirs.
func TestOpenRequestsAreBounded(t *testing.T) {
	b := New(Options{Principal: byUser, Open: 2})
	s := serve(t, b, plain)
	first, second := s.post("ann", "1", call), s.post("ann", "2", call)
	await(t, s.begun)
	await(t, s.begun)
	if got := await(t, s.post("ann", "3", call)); got != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", got)
	}
	other := s.post("ben", "4", call)
	s.next("4")
	close(s.on)
	for _, c := range []<-chan int{first, second, other} {
		if got := await(t, c); got != http.StatusOK {
			t.Errorf("got %d", got)
		}
	}
	if got := await(t, s.post("ann", "5", call)); got != http.StatusOK {
		t.Errorf("afterwards: %d", got)
	}
}

// Calls of one principal wait for each other, but not what cancels, answers or announces, and not another principal's. While little
// memory is used they do not wait either: those before may hang.
func TestCallsWaitForRoom(t *testing.T) {
	b := New(Options{Principal: byUser, AtOnce: 1})
	b.light = func() bool { return false }
	s := serve(t, b, plain)
	first := s.post("ann", "first", call)
	s.next("first")
	second := s.post("ann", "second", call)
	for name, body := range map[string]string{
		"cancel": `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		"answer": `{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}`,
		"listen": `{"jsonrpc":"2.0","id":8,"method":"subscriptions/listen","params":{}}`,
	} {
		s.post("ann", name, body)
		s.next(name)
	}
	s.post("ben", "other", call)
	s.next("other")
	s.post("ann", "batch", "["+call+"]")
	select {
	case name := <-s.begun:
		t.Errorf("%s began", name)
	default:
	}
	close(s.on)
	await(t, first)
	await(t, second)

	b = New(Options{Principal: byUser, AtOnce: 1})
	b.light = func() bool { return true }
	s = serve(t, b, plain)
	s.post("ann", "first", call)
	s.next("first")
	s.post("ann", "second", call)
	s.next("second")
	close(s.on)
}

// Calls that wait begin in the order they came, and the other way round where answers of their principal were not taken.
func TestWhoseTurnItIs(t *testing.T) {
	for _, pressed := range []bool{false, true} {
		b := New(Options{Principal: byUser, AtOnce: 1, Hurry: time.Hour})
		b.light = func() bool { return false }
		s := serve(t, b, plain)
		s.post("ann", "first", call)
		s.next("first")
		for i, name := range []string{"second", "third"} {
			s.post("ann", name, call)
			b.eventually(t, "it waits", func() bool {
				c := b.clients["ann"]
				if pressed {
					c.pressed = time.Now()
				}
				return len(c.waiting) == i+1
			})
		}
		close(s.on)
		order := []string{"second", "third"}
		if pressed {
			order = []string{"third", "second"}
		}
		for _, name := range order {
			s.next(name)
		}
	}
}

// What nobody takes is given up, and its connection is cut.
func TestUnreadAnswersAreGivenUp(t *testing.T) {
	for _, kind := range []string{"text/event-stream", "application/json"} {
		for _, hurried := range []bool{false, true} {
			o := Options{Principal: byUser, Stall: 100 * time.Millisecond}
			if hurried {
				o = Options{Principal: byUser, Stall: time.Hour, Hurry: 100 * time.Millisecond, Bytes: 1 << 20}
			}
			b := New(o)
			failed := make(chan error, 1)
			s := serve(t, b, func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", kind)
				_, err := w.Write(make([]byte, 8<<20))
				failed <- err
			})
			close(s.on)
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
			if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
				t.Fatal(err)
			}
			if err := await(t, failed); err == nil {
				t.Error("8 MiB were written to somebody who reads nothing")
			}
			await(t, s.shut)
		}
	}
}

// While answers of a principal wait to be taken its calls do not begin, but they are read, so that the newest is known; and
// what cancels is not held up at all.
func TestRequestsAreReadWhileAnswersWait(t *testing.T) {
	b := New(Options{Principal: byUser, Stall: time.Hour, Hurry: time.Hour, Bytes: 1 << 20})
	b.light = func() bool { return false }
	s := serve(t, b, func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 8<<20)) })
	close(s.on)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nX-Name: unread\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	s.next("unread")
	b.eventually(t, "it is written", func() bool { return b.total > 1<<20 })
	waits := s.post("ann", "call", call)
	b.eventually(t, "the call waits to begin", func() bool { return len(b.clients["ann"].waiting) == 1 })
	s.post("ann", "cancel", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	s.next("cancel")
	c.Close()
	s.next("call")
	await(t, waits)
}

// While much of a principal's requests is held, what is short is read all the same: it may be what they wait for. A long one
// waits.
func TestShortRequestsAreReadWhileLongOnesAreHeld(t *testing.T) {
	b := New(Options{Principal: byUser, Bytes: 1 << 20})
	s := serve(t, b, plain)
	held := s.post("ann", "held", strings.Repeat(" ", 1<<20)+call)
	s.next("held")
	long := s.post("ann", "long", strings.Repeat(" ", short)+call)
	answer := s.post("ann", "answer", `{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}`)
	s.next("answer")
	close(s.on)
	await(t, held)
	s.next("long")
	await(t, long)
	await(t, answer)
}

// Requests that are begun together have no more room than others: it is kept for each when it is begun.
func TestRequestsBegunTogetherAreBounded(t *testing.T) {
	const size, many = 1 << 20, 12
	b := New(Options{Principal: byUser, Bytes: 4 * size})
	s := serve(t, b, plain)
	var all []net.Conn
	for range many {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nContent-Length: %d\r\n\r\n ", size); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	b.eventually(t, "so many are open, and the last of them was let in with the room full, not beyond it", func() bool {
		c := b.clients["ann"]
		return c != nil && c.open == many && c.reading == 5*size
	})
	close(s.on)
	for _, c := range all {
		go func() { _, _ = io.WriteString(c, strings.Repeat(" ", size-1)) }()
	}
	for range many {
		await(t, s.begun)
		b.mu.Lock()
		if c := b.clients["ann"]; c != nil && c.reading > 5*size {
			t.Errorf("%d bytes are held", c.reading)
		}
		b.mu.Unlock()
	}
}

// TestCallsAreToldByTheirMethod: what only looks like the field is none, or calls would not wait.
func TestCallsAreToldByTheirMethod(t *testing.T) {
	for text, want := range map[string]bool{
		call: true, "[" + call + "]": true, `{"method":"resources/read"}`: true, `{"method":["tools/call"]}`: true, `{`: true,
		`{"method":"tools/call","Method":"ping"}`: true, `{"method":"ping","method":"tools/call"}`: true,
		`{"method":"ping"}`: false, `{"id":1,"result":{"method":"tools/call"}}`: false,
	} {
		if got := (&body{text: []byte(text)}).heavy(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
