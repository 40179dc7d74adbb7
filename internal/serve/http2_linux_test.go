package serve

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/mcpscope/unread"
)

// mux is a client with one connection of HTTP/2 (RFC 9113) and many streams in it, of which it takes nothing: their windows
// are 0 and stay so. deaf: it reads nothing of the connection either.
type mux struct {
	s    *site
	conn net.Conn
	last uint32        // stream
	over chan struct{} // the connection has ended

	mu    sync.Mutex
	reset map[uint32]bool
	data  int
}

func (s *site) mux(deaf bool) *mux {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	m := &mux{s: s, conn: c, over: make(chan struct{}), reset: map[uint32]bool{}}
	if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		s.t.Fatal(err)
	}
	m.frame(4, 0, 0, []byte{0, 4, 0, 0, 0, 0}) // SETTINGS_INITIAL_WINDOW_SIZE
	if deaf {
		_ = c.(*net.TCPConn).SetReadBuffer(1)
	} else {
		go m.read()
	}
	return m
}

func (m *mux) frame(kind, flags byte, stream uint32, body []byte) {
	m.s.t.Helper()
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body))<<8|uint32(kind))
	head = binary.BigEndian.AppendUint32(append(head, flags), stream)
	if _, err := m.conn.Write(append(head, body...)); err != nil {
		m.s.t.Fatal(err)
	}
}

func (m *mux) read() {
	defer close(m.over)
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(m.conn, head); err != nil {
			return
		}
		n := int64(binary.BigEndian.Uint32(head) >> 8)
		if _, err := io.CopyN(io.Discard, m.conn, n); err != nil {
			return
		}
		m.mu.Lock()
		switch head[3] {
		case 0:
			m.data += int(n)
		case 3:
			m.reset[binary.BigEndian.Uint32(head[5:])] = true
		}
		m.mu.Unlock()
	}
}

// send sends a request of a visitor in a stream of its own.
func (m *mux) send(v *visitor, method, body string, more map[string]string) (stream uint32) {
	m.s.t.Helper()
	var block []byte
	field := func(name, value string) { // a literal without indexing (RFC 7541, 6.2.2); the lengths are below 127
		if value != "" {
			block = append(block, 0, byte(len(name)))
			block = append(append(block, name...), byte(len(value)))
			block = append(block, value...)
		}
	}
	for _, f := range [][2]string{{":method", method}, {":scheme", "http"}, {":path", "/"}, {":authority", strings.TrimPrefix(m.s.url, "http://")},
		{"authorization", "Bearer " + v.user}, {"accept", "application/json, text/event-stream"}, {"mcp-session-id", v.session}} {
		field(f[0], f[1])
	}
	if m.last++; m.last > 1 {
		m.last++
	}
	flags := byte(4) // END_HEADERS
	if body == "" {
		flags |= 1 // END_STREAM
	} else {
		field("content-type", "application/json")
	}
	for k, x := range more {
		field(strings.ToLower(k), x)
	}
	m.frame(1, flags, m.last, block)
	if body != "" {
		m.frame(0, 1, m.last, []byte(body))
	}
	return m.last
}

// ended tells how many streams the server has reset, and what came in any.
func (m *mux) ended() (streams, data int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.reset), m.data
}

// Over HTTP/2 one connection holds many streams that nobody reads. Of answers what waits is bounded, who reads goes on, of the same
// principal too, and the streams that take nothing are ended; of what is told nobody else waits, nor does a switch; and all is given
// back with the connection.
func TestUnreadOverHTTP2(t *testing.T) {
	const size, calls, streams, bytes, atOnce = 256 << 10, 12, 10, int64(2 << 20), 4
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern %v", modern), func(t *testing.T) {
			t.Parallel() // they wait most of the time
			s := newBoundedSite(t, Options{Tools: mcpfs.Project}, unread.Options{Stall: time.Hour, Hurry: 4 * time.Second, Bytes: bytes, AtOnce: atOnce})
			s.write("both/large.txt", strings.Repeat("0123456789abcde\n", size/16-1))
			good := []*visitor{s.visit("ann", true), s.visit("ann", false), s.visit("ben", true), s.visit("ben", false)}
			var ears []*ear
			two := &http.Transport{Protocols: new(http.Protocols)}
			two.Protocols.SetUnencryptedHTTP2(true)
			defer two.CloseIdleConnections()
			for _, v := range good {
				v.client = &http.Client{Transport: two} // all by one connection
				ears = append(ears, v.listen("both"))
			}
			idle, _ := s.bounds.Waiting()
			_, subs := s.service.hub.Count()
			m := s.mux(false)
			var who []*visitor
			for range streams {
				v := s.visit("ann", modern)
				who = append(who, v)
				v.unheardBy(func(method, body string, more map[string]string) { m.send(v, method, body, more) }, "app", "both")
			}
			s.eventually("all listen", func() bool { _, n := s.service.hub.Count(); return n == subs+2*streams })
			s.write("app/told", "1")
			s.write("both/told", "1")
			bad := s.visit("ann", modern)
			for range calls {
				bad.unreadBy(func(method, body string, more map[string]string) { m.send(bad, method, body, more) }, "rootbound://both/large.txt")
			}
			s.eventually("all have come", func() bool {
				open, _ := s.bounds.Waiting()
				gone, _ := m.ended()
				return open >= idle+streams+calls || gone > 0
			})
			var reading sync.WaitGroup
			for i, v := range good {
				reading.Go(func() {
					for n := range 3 {
						if got := v.ask("resources/read", `"uri":"rootbound://both/large.txt"`); len(got) < size {
							t.Errorf("%s: %.200s", v.user, got)
						}
						ears[i].tells(fmt.Sprintf("both/%d-%d", i, n))
					}
				})
			}
			s.take("ann", "app")
			var most int64
			s.eventually("the answers that nobody takes are given up", func() bool {
				open, n := s.bounds.Waiting()
				most = max(most, n)
				return int64(open-idle-streams) <= bytes/size
			})
			reading.Wait()
			resets, data := m.ended()
			t.Logf("%d calls with %d KiB: at most %d KiB waited; %d streams were ended", calls, size>>10, most>>10, resets)
			if most > bytes+int64(len(good)+atOnce+1)*(size+size/4) { // as over HTTP/1.1
				t.Errorf("%d bytes waited", most)
			}
			if data > 0 || resets < calls-int(bytes/size) {
				t.Errorf("%d bytes came, %d streams were ended", data, resets)
			}
			if _, err := s.service.Use([]rootbound.RootID{"both", "app"}); err != nil {
				t.Fatal(err)
			}
			for _, e := range ears {
				e.until("resources/list_changed")
			}
			m.conn.Close()
			for _, v := range who {
				if v.session != "" {
					v.do(t.Context(), "DELETE", v.session, "", nil)
				}
			}
			s.eventually("nothing of them is left", func() bool {
				open, _ := s.bounds.Waiting()
				_, n := s.service.hub.Count()
				return open <= idle && n <= subs
			})
		})
	}
}

// A client of HTTP/2 that reads nothing of its connection, not even that its streams are ended, loses it: without Bounds.Protect
// the end of each stream waits for it.
func TestUnreadConnectionOverHTTP2(t *testing.T) {
	s := newBoundedSite(t, Options{}, unread.Options{Stall: 3 * time.Second, Hurry: 100 * time.Millisecond})
	s.write("app/large.txt", strings.Repeat("0123456789abcde\n", 1<<14))
	goroutines, fds := runtime.NumGoroutine(), descriptors(t)
	var all []*mux
	for _, modern := range []bool{false, true} {
		m, v := s.mux(true), s.visit("ann", modern)
		all = append(all, m)
		m.frame(8, 0, 0, []byte{0x3f, 0xff, 0, 0}) // the connection's window
		m.frame(4, 0, 0, []byte{0, 4, 0x3f, 0xff, 0, 0})
		for range 20 {
			v.unreadBy(func(method, body string, more map[string]string) { m.send(v, method, body, more) }, "rootbound://app/large.txt")
		}
		if v.session != "" {
			defer v.do(t.Context(), "DELETE", v.session, "", nil)
		}
	}
	s.eventually("they are written", func() bool { open, _ := s.bounds.Waiting(); return open > 0 })
	s.eventually("they are given up", func() bool { open, n := s.bounds.Waiting(); return open == 0 && n == 0 })
	for _, m := range all {
		_ = m.conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, m.conn); err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Error("the connection goes on")
			}
		}
		m.conn.Close()
	}
	s.eventually("nothing of them is left", func() bool {
		http.DefaultClient.CloseIdleConnections()
		return runtime.NumGoroutine() <= goroutines+4 && descriptors(t) <= fds+2
	})
}
