package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/mcpscope/unread"
)

// mute is a client that sends a request and does not read the answer until it is asked to.
type mute struct {
	t    *testing.T
	conn *net.TCPConn
	r    *bufio.Reader
}

// mute sends a request, or what is there of it, in a connection of its own that takes next to nothing.
func (v *visitor) mute(method, body string, more map[string]string) *mute {
	v.t.Helper()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 1) })
	}}
	c, err := d.Dial("tcp", strings.TrimPrefix(v.url, "http://"))
	if err != nil {
		v.t.Fatal(err)
	}
	m := &mute{v.t, c.(*net.TCPConn), bufio.NewReader(c)}
	v.t.Cleanup(func() { c.Close() })
	var head strings.Builder
	fmt.Fprintf(&head, "%s / HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: application/json, text/event-stream\r\n", method, c.RemoteAddr(), v.user)
	if v.session != "" {
		fmt.Fprintf(&head, "Mcp-Session-Id: %s\r\n", v.session)
	}
	if method == "POST" {
		fmt.Fprintf(&head, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	for k, x := range more {
		fmt.Fprintf(&head, "%s: %s\r\n", k, x)
	}
	if _, err := io.WriteString(c, head.String()+"\r\n"+body); err != nil {
		v.t.Fatal(err)
	}
	return m
}

// unheard subscribes to projects and does not read what is told.
func (v *visitor) unheard(projects ...string) (m *mute) {
	v.t.Helper()
	v.unheardBy(func(method, body string, more map[string]string) { m = v.mute(method, body, more) }, projects...)
	return m
}

func (v *visitor) unheardBy(send func(method, body string, more map[string]string), projects ...string) {
	v.t.Helper()
	if v.session != "" {
		send("GET", "", nil)
		for _, p := range projects {
			v.agreed(func() string { return v.ask("resources/subscribe", `"uri":"rootbound://`+p+`/"`) }, `"result":{}`)
		}
		return
	}
	send("POST", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["rootbound://`+
		strings.Join(projects, `/","rootbound://`)+`/"]},`+metaOfToday+`}}`, map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"})
}

// unreadFile asks for a file of a project and does not read the answer.
func (v *visitor) unreadFile(uri string) (m *mute) {
	v.t.Helper()
	v.unreadBy(func(method, body string, more map[string]string) { m = v.mute(method, body, more) }, uri)
	return m
}

func (v *visitor) unreadBy(send func(method, body string, more map[string]string), uri string) {
	v.t.Helper()
	if v.session != "" {
		v.id++
		send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":%q}}`, v.id, uri), nil)
		return
	}
	send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q,%s}}`, uri, metaOfToday),
		map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "resources/read", "Mcp-Name": uri})
}

// rest reads what is there until a line has a word, or until the end, and gives the lines with it as the last.
func (m *mute) rest(word string) (lines []string, ended bool) {
	m.t.Helper()
	_ = m.conn.SetReadDeadline(time.Now().Add(patience))
	for {
		line, err := m.r.ReadString('\n')
		if lines = append(lines, line); word != "" && strings.Contains(line, word) {
			return lines, false
		}
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			m.t.Fatalf("it neither says %q nor ends: %q", word, lines[max(0, len(lines)-5):])
		}
		if err != nil || line == "0\r\n" {
			return lines, true
		}
	}
}

func (s *site) eventually(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			open, bytes := s.bounds.Waiting()
			s.t.Fatalf("it never came to this: %s (%d open, %d bytes wait)", what, open, bytes)
		}
	}
}

// stuff writes files of a project until what is told of them is more than n unread streams take.
func (s *site) stuff(project string, n int) {
	s.t.Helper()
	name := strings.Repeat("x", 200)
	round := 0
	s.eventually("all streams are full", func() bool {
		for i := range 100 {
			s.write(fmt.Sprintf("%s/many/%03d%s", project, i, name), fmt.Sprint(round))
		}
		round++
		_, before := s.bounds.Waiting()
		for same := 0; before >= int64(n*200) && same < 50; same++ {
			time.Sleep(time.Millisecond)
			if _, now := s.bounds.Waiting(); now != before {
				return false
			}
		}
		return before >= int64(n*200)
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Clients of both eras who do not read their streams: what is told to others, their calls, a revocation, a change of the tools and the
// end of a session wait for none of them. They hear nothing any more of what was taken from them but what was on its way,
// and nothing of them is left when their connections end.
func TestUnreadStreamsOverHTTP(t *testing.T) {
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern %v", modern), func(t *testing.T) {
			s := newBoundedSite(t, Options{Tools: mcpfs.Project}, unread.Options{Stall: time.Hour, Hurry: 100 * time.Millisecond})
			s.write("app/many/first", "1")
			const clients = 20
			var ears []*ear
			var others []*visitor
			for _, user := range []string{"ann", "ben"} {
				for _, era := range []bool{false, true} {
					v := s.visit(user, era)
					others = append(others, v)
					ears = append(ears, v.listen("both"))
				}
			}
			toTools := s.visit("ben", true)
			toolsEar := toTools.hear(func() *http.Response {
				_, res := toTools.post(context.Background(), "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
				return res
			}(), func() {})
			toolsEar.until("subscriptions/acknowledged")
			goroutines, fds := runtime.NumGoroutine(), descriptors(t)
			streams, subs := s.service.hub.Count()

			var who []*visitor
			var all []*mute
			for range clients {
				v := s.visit("ann", modern)
				who = append(who, v)
				all = append(all, v.unheard("app", "both"))
			}
			s.eventually("all listen", func() bool { _, n := s.service.hub.Count(); return n == subs+2*clients })
			for _, user := range []string{"ann", "ben"} { // and some who came later
				v := s.visit(user, false)
				who, others = append(who, v), append(others, v)
				ears = append(ears, v.listen("both"))
			}
			s.stuff("app", clients)
			answers := func() {
				t.Helper()
				for _, v := range others {
					if got := v.ask("resources/read", `"uri":"rootbound://both/in-both.txt"`); !strings.Contains(got, "needle of both") {
						t.Fatalf("%s: %s", v.user, got)
					}
				}
			}
			answers()
			for _, e := range ears {
				e.tells("both/in-both.txt")
			}
			s.write("both/in-both.txt", "needle of both\n")

			began := time.Now()
			s.take("ann", "app")
			for _, e := range ears[:2] { // of the same principal
				e.until("resources/list_changed")
			}
			t.Logf("a revocation with %d unread streams took %v", clients, time.Since(began))
			answers()
			began = time.Now()
			if _, err := s.service.Use([]rootbound.RootID{"both", "app"}); err != nil {
				t.Fatal(err)
			}
			for _, e := range append([]*ear{ears[0], ears[2], toolsEar}, ears[4:]...) {
				e.until("tools/list_changed")
			}
			t.Logf("a change of the tools took %v", time.Since(began))
			for _, e := range ears {
				e.tells("both/again.txt")
			}

			for i, m := range all {
				if i%2 == 0 { // these read at last: what was on its way, and then nothing of it
					before, _ := m.rest("resources/list_changed")
					s.write("app/many/first", fmt.Sprint(i))
					last := fmt.Sprintf("both/last-%d", i)
					heard, writing := make(chan struct{}), sync.WaitGroup{}
					writing.Go(func() { // again and again: right after a switch a change of the whole is told
						for {
							select {
							case <-heard:
								return
							case <-time.After(50 * time.Millisecond):
								s.write(last, time.Now().String())
							}
						}
					})
					after, _ := m.rest("rootbound://" + last)
					close(heard)
					writing.Wait()
					if strings.Contains(strings.Join(after, ""), "rootbound://app") || !strings.Contains(strings.Join(before, ""), "rootbound://app") {
						t.Errorf("heard %q, and then %q", before[max(0, len(before)-3):], after)
					}
				}
				if i%4 < 2 {
					_ = m.conn.SetLinger(0) // a reset
				}
				m.conn.Close()
			}
			for _, e := range ears[4:] {
				e.leave()
			}
			for _, v := range who {
				if v.session != "" {
					v.do(context.Background(), "DELETE", v.session, "", nil)
				}
			}
			s.eventually("their streams are gone", func() bool {
				n, x := s.service.hub.Count()
				return n <= streams && x <= subs
			})
			http.DefaultClient.CloseIdleConnections()
			s.eventually("nothing of them is left", func() bool {
				http.DefaultClient.CloseIdleConnections()
				return runtime.NumGoroutine() <= goroutines+2 && descriptors(t) <= fds+2
			})
		})
	}
}

// A session whose stream nobody reads is ended when its client asks for that: what is written is given up.
func TestEndOfASessionWithAnUnreadStream(t *testing.T) {
	s := newBoundedSite(t, Options{}, unread.Options{Stall: time.Hour, Hurry: 100 * time.Millisecond})
	s.write("app/many/first", "1")
	v := s.visit("ann", false)
	m := v.unheard("app")
	s.stuff("app", 1)
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if res := v.do(ctx, "DELETE", v.session, "", nil); res.StatusCode != http.StatusNoContent {
		t.Errorf("the end of the session: %s", res.Status)
	}
	if _, ended := m.rest(""); !ended {
		t.Error("the stream goes on")
	}
	s.eventually("nothing is open", func() bool { open, bytes := s.bounds.Waiting(); return open == 0 && bytes == 0 })
	if n, _ := s.service.hub.Count(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

// The end of the server waits for nobody who does not read: streams, and answers of calls.
func TestEndOfAServerWithUnreadStreams(t *testing.T) {
	s := newBoundedSite(t, Options{}, unread.Options{Stall: time.Hour, Hurry: 100 * time.Millisecond})
	s.write("app/many/first", "1")
	s.write("app/large.txt", strings.Repeat("large\n", 50_000))
	const clients = 5
	for range clients {
		for _, modern := range []bool{false, true} {
			s.visit("ann", modern).unheard("app")
			s.visit("ben", modern).unreadFile("rootbound://app/large.txt")
		}
	}
	s.eventually("they are written to", func() bool { _, n := s.service.hub.Count(); return n == 2*clients })
	s.stuff("app", 4*clients)
	s.eventually("the answers too", func() bool { _, bytes := s.bounds.Waiting(); return bytes > 2*clients*300_000 })
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	began := time.Now()
	s.bounds.Close()
	if err := s.service.Close(ctx); err != nil {
		t.Error(err)
	}
	t.Logf("the end took %v", time.Since(began))
	s.eventually("nothing is open", func() bool { open, bytes := s.bounds.Waiting(); return open == 0 && bytes == 0 })
}

// Answers that nobody reads, of very many calls: what waits is bounded, whoever reads goes on, of the same principal too, and
// who takes nothing loses his connection.
func TestUnreadAnswersOverHTTP(t *testing.T) {
	size, calls, bytes, atOnce := 256<<10, 12, int64(2<<20), 4
	o := unread.Options{Stall: time.Hour, Hurry: 4 * time.Second, Bytes: bytes, AtOnce: atOnce}
	if os.Getenv("RB_LONG") != "" {
		size, calls = 1<<20, 150
		o = unread.Options{Stall: time.Hour}
		bytes, atOnce = 16<<20, 16
	}
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern %v", modern), func(t *testing.T) {
			t.Parallel() // they wait most of the time
			s := newBoundedSite(t, Options{}, o)
			s.write("app/large.txt", strings.Repeat("0123456789abcde\n", size/16-1))
			var all []*mute
			bad := s.visit("ann", modern)
			for range calls {
				all = append(all, bad.unreadFile("rootbound://app/large.txt"))
			}
			good := []*visitor{s.visit("ann", true), s.visit("ann", false), s.visit("ben", true), s.visit("ben", false)}
			var reading sync.WaitGroup
			for _, v := range good {
				reading.Go(func() {
					for range 3 {
						if got := v.ask("resources/read", `"uri":"rootbound://app/large.txt"`); len(got) < size {
							t.Errorf("%s: %.200s", v.user, got)
						}
					}
				})
			}
			var most int64
			var peak uint64
			began := time.Now()
			s.eventually("those who take nothing are gone", func() bool {
				open, n := s.bounds.Waiting()
				if n > most {
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					most, peak = n, max(peak, m.HeapInuse)
				}
				return int64(open) <= bytes/int64(size)
			})
			reading.Wait()
			t.Logf("%d calls with %d KiB: at most %d KiB waited, the heap was %d MiB then; %v", calls, size>>10, most>>10, peak>>20, time.Since(began))
			if most > bytes+int64(len(good)+atOnce+1)*int64(size+size/4) { // what those who read have under way, and what was let in already
				t.Errorf("%d bytes waited", most)
			}
			for _, m := range all {
				m.conn.Close()
			}
			s.eventually("nothing is open", func() bool { open, bytes := s.bounds.Waiting(); return open == 0 && bytes == 0 })
		})
	}
}

// Requests that never come in whole, and readers that take little at a time, hold nobody up.
func TestSlowClientsOverHTTP(t *testing.T) {
	s := newBoundedSite(t, Options{}, unread.Options{Stall: 3 * time.Second, AtOnce: 2})
	s.write("app/large.txt", strings.Repeat("0123456789abcde\n", 1<<16-1))
	good := s.visit("ann", true)
	var all []*mute
	for range 50 {
		m := s.visit("ann", true)
		all = append(all, m.mute("POST", "", map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list", "Content-Length": "1000"}))
	}
	// One that reads slowly, but goes on: each piece has its own time.
	slow := good.unreadFile("rootbound://app/large.txt")
	if got := good.ask("resources/read", `"uri":"rootbound://app/in-app.txt"`); !strings.Contains(got, "needle") {
		t.Error(got)
	}
	n := 0
	_ = slow.conn.SetReadDeadline(time.Now().Add(patience))
	for buf := make([]byte, 16<<10); ; time.Sleep(time.Millisecond) {
		k, err := io.ReadAtLeast(slow.r, buf, 1)
		if n += k; err != nil || strings.HasSuffix(string(buf[:k]), "0\r\n\r\n") {
			break
		}
	}
	if n < 1<<20 {
		t.Errorf("who reads slowly got %d bytes", n)
	}
	for _, m := range all { // these are cut
		if _, ended := m.rest(""); !ended {
			t.Error("it goes on")
		}
	}
}
