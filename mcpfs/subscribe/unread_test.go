package subscribe

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope"
)

// deaf is a peer that reads only when it is asked to.
type deaf struct {
	*peer
	out *io.PipeReader
	r   *bufio.Reader
}

func (w *world) deaf() *deaf {
	w.t.Helper()
	in, out, ss := joined.Ends(w.t, joined.Bare(w.srv), joined.Pipe)
	return &deaf{&peer{&joined.Peer{TB: w.t, In: in, Session: ss}, w.t}, out, bufio.NewReaderSize(out, 64<<10)}
}

// line reads one line.
func (d *deaf) line() joined.Message {
	d.t.Helper()
	late := time.AfterFunc(joined.Patience, func() { d.out.CloseWithError(fmt.Errorf("nothing came")) })
	defer late.Stop()
	l, err := d.r.ReadString('\n')
	if err != nil {
		d.t.Fatal(err)
	}
	return joined.Parse(d.t, strings.TrimSpace(l))
}

// waiting is what waits to be told in a stream: subscriptions, and the bytes of their paths as they are, not as they are counted.
func (st *stream) pending() (due, paths, size int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, s := range st.subs {
		for rel := range s.paths {
			paths++
			size += len(rel)
		}
	}
	return len(st.due), paths, size
}

// blocked waits until the stream is writing what nobody reads.
func (w *world) blocked(st *stream) {
	w.t.Helper()
	w.eventually("something is being written", func() bool {
		st.group.mu.Lock()
		defer st.group.mu.Unlock()
		return len(st.group.writing) > 0
	})
}

// What a client does not read is bounded for all its subscriptions together: what is too much is told as a change of what
// was subscribed to. Nothing is lost by that, and nobody else waits.
func TestUnreadStreamIsBounded(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	const dirs, each, length = 60, 120, 200
	var all []string
	for i := range dirs {
		w.write(fmt.Sprintf("app/d%d/f", i), "1")
		all = append(all, of("app", fmt.Sprintf("d%d", i)))
	}
	name := func(i int) string { return fmt.Sprintf("%03d%s", i, strings.Repeat("x", length)) }
	w.write("app/d0/"+name(0), "1")
	d, other := w.deaf(), w.dial()
	d.listen(1, joined.Meta, uris(all...))
	if m := d.line(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("got %s", m.Line)
	}
	st := w.only()
	w.say("app/d0", name(0), false)
	w.blocked(st)
	for i := range dirs {
		for k := range each {
			w.say(fmt.Sprintf("app/d%d", i), name(k), false)
		}
	}
	due, paths, size := st.pending()
	t.Logf("%d subscriptions, %d paths and %d bytes wait for who does not read", due, paths, size)
	if due != dirs || size > 256<<10 || paths < dirs {
		t.Errorf("%d of %d subscriptions, %d paths and %d bytes wait", due, dirs, paths, size)
	}
	for n := range 3 { // calls and listens of others
		other.callModern(10+n, "app", "a.txt")
		other.ok(10 + n)
	}
	other.listening(2, uris(of("app", "d0")))
	w.say("app/d0", "", false)
	other.updated(of("app", "d0"), 2.0)

	// What waited is told, each subscription by its paths or as a whole: of the paths all but one are gone.
	told := map[string]bool{}
	for len(told) < dirs {
		m := d.line()
		if m.Method != "notifications/resources/updated" {
			t.Fatalf("got %s", m.Line)
		}
		for _, uri := range all {
			if m.Params.URI == uri || strings.HasPrefix(m.Params.URI, uri+"/") {
				told[uri] = true
			}
		}
	}
	w.eventually("nothing waits", func() bool { due, _, size := st.pending(); return due+size == 0 && st.accounted() == 0 })
}

func (st *stream) accounted() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.waiting
}

// Who subscribes, hears of a change and unsubscribes, over and over, and never reads what is told, leaves nothing behind.
func TestUnreadSubscribingAndUnsubscribing(t *testing.T) {
	w := newWorld(t, mcpscope.Options{}, Options{})
	d := w.deaf()
	d.listen(1, joined.Meta, uris(of("app", "sub"), of("app", "a.txt")))
	d.line()
	st := w.only()
	w.say("app/sub", "", false)
	w.blocked(st)
	req, kept := &subscription{}, st.subs[of("app", "a.txt")]
	*req = subscription{stream: st, project: "lib", path: "l.txt", uri: of("lib", "l.txt")}
	for range 10_000 {
		s := *req
		if _, err := st.put(&s, nil); err != nil {
			t.Fatal(err)
		}
		s.told("x", false)
		st.remove(s.uri)
	}
	kept.told("", false)
	if due, paths, _ := st.pending(); due > 8 || paths != 1 || st.accounted() != 0 {
		t.Errorf("%d subscriptions and %d paths wait", due, paths)
	}
	d.line()
	if m := d.line(); m.Params.URI != of("app", "a.txt") {
		t.Errorf("got %s", m.Line)
	}
}

// A switch, and the end of the server's subscriptions, do not wait for who does not read, and he hears nothing of what was
// taken from him but what was on its way.
func TestSwitchWithManyUnreadStreams(t *testing.T) {
	const clients = 100
	w := newWorld(t, mcpscope.Options{}, Options{Listens: clients + 1})
	reads := w.dial()
	reads.listening(1, `{"resourceSubscriptions":["rootbound://app/a.txt"],"resourcesListChanged":true}`)
	var all []*deaf
	for range clients {
		d := w.deaf()
		d.listen(1, joined.Meta, `{"resourceSubscriptions":["rootbound://app/sub"],"resourcesListChanged":true}`)
		d.line()
		all = append(all, d)
	}
	w.say("app/sub", "b.txt", false)
	w.eventually("all are written to", func() bool {
		g := w.only1()
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.writing) == clients
	})
	began := time.Now()
	if err := w.ceiling.Activate([]rootbound.RootID{"lib"}); err != nil {
		t.Fatal(err)
	}
	reads.notified("notifications/resources/list_changed", "", 1.0)
	t.Logf("a switch with %d unread streams took %v", clients, time.Since(began))
	if took := time.Since(began); took > clients*handOver { // one after the other they would take that
		t.Errorf("it took %v", took)
	}
	w.watched()
	for _, d := range all {
		if m := d.line(); m.Params.URI != of("app", "sub/b.txt") { // was on its way
			t.Errorf("got %s", m.Line)
		}
		if m := d.line(); m.Method != "notifications/resources/list_changed" {
			t.Errorf("got %s", m.Line)
		}
	}
}

// only1 is the one group there is.
func (w *world) only1() *group {
	w.t.Helper()
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for _, g := range w.hub.groups {
		return g
	}
	w.t.Fatal("no group")
	return nil
}
