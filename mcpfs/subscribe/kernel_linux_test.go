package subscribe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/watch"
)

// Where the kernel has no instance or no watches left, subscribing is refused in both eras with the setting to raise, what is
// subscribed to already goes on, and when there are some again it works. A tree that grows beyond them while it is watched is
// told of: a legacy session by a change of the list, a listen by its end.
func TestKernelLimitsReachClients(t *testing.T) {
	if !rig.OwnLimits(t) {
		return
	}
	start, stop := Watching(watch.Options{})
	t.Cleanup(stop)
	w := newWorld(t, mcpscope.Options{}, Options{Watch: start})
	for i := range 30 {
		w.write(fmt.Sprintf("app/big/%d/f", i), "1")
	}
	p, q := w.legacy(), w.dial()

	rig.Limit(t, "max_inotify_instances", 0)
	p.subscribe(2, of("app", "a.txt"))
	p.failed(2, -32602, "fs.inotify.max_user_instances")
	q.listen(2, joined.Meta, uris(of("app", "a.txt")))
	q.failed(2, -32602, "fs.inotify.max_user_instances")
	rig.Limit(t, "max_inotify_instances", 10)

	rig.Limit(t, "max_inotify_watches", 20)
	p.subscribed(3, of("app", "a.txt")) // an instance again
	q.listening(3, uris(of("app", "sub/deep")))
	hear := func() {
		t.Helper()
		w.write("app/a.txt", "changed")
		p.updated(of("app", "a.txt"), nil)
		w.write("app/sub/deep/c.txt", "changed")
		q.updated(of("app", "sub/deep/c.txt"), 3.0)
	}
	hear()
	used := kernelWatches(t)
	for n := range 3 { // again and again: nothing is left of what was refused
		p.refusedFor(10+n, "fs.inotify.max_user_watches", func(id int) { p.subscribe(id, of("app", "big")) })
		q.refusedFor(10+n, "fs.inotify.max_user_watches", func(id int) { q.listen(id, joined.Meta, uris(of("app", "big"))) })
	}
	w.eventually("what was refused is given back", func() bool { return kernelWatches(t) <= used })

	// Watches are free again.
	rig.Limit(t, "max_inotify_watches", 100)
	p.begun(20, of("app", "big"))
	q.listen(20, joined.Meta, uris(of("app", "big")))
	q.until("notifications/subscriptions/acknowledged", "")
	w.write("app/big/7/f", "changed")
	p.until("notifications/resources/updated", of("app", "big/7/f"))
	q.until("notifications/resources/updated", of("app", "big/7/f"))

	// The tree grows beyond them.
	for i := range 100 {
		w.write(fmt.Sprintf("app/big/7/new%d/f", i), "1")
	}
	p.until("notifications/resources/list_changed", "")
	q.untilEnd(20)
	w.eventually("what was watched is given back", func() bool { return kernelWatches(t) <= used })
	p.Send(`{"jsonrpc":"2.0","id":30,"method":"resources/unsubscribe","params":{"uri":%q}}`, of("app", "big"))
	p.untilEnd(30)
	w.remove("app/big")
	p.begun(31, of("app", "sub")) // by others it goes on
	w.write("app/sub/b.txt", "changed")
	p.until("notifications/resources/updated", of("app", "sub/b.txt"))
	w.write("app/sub/deep/c.txt", "changed again")
	q.until("notifications/resources/updated", of("app", "sub/deep/c.txt"))
}

// refusedFor expects that a request is refused. What is told meanwhile is passed over.
func (p *peer) refusedFor(id int, why string, ask func(id int)) {
	p.t.Helper()
	ask(id)
	if m := p.untilEnd(id); m.Error == nil || !strings.Contains(m.Error.Message, why) {
		p.t.Errorf("got %s", m.Line)
	}
}

// begun is subscribed, and passes over what is told meanwhile.
func (p *peer) begun(id int, uri string) {
	p.t.Helper()
	p.subscribe(id, uri)
	if m := p.untilEnd(id); m.Error != nil {
		p.t.Fatalf("got %s", m.Line)
	}
}

// untilEnd passes over notifications until the answer to id.
func (p *peer) untilEnd(id int) joined.Message {
	p.t.Helper()
	for {
		if m := p.Recv(); string(m.ID) == fmt.Sprint(id) {
			return m
		}
	}
}

// until passes over what comes before a notification.
func (p *peer) until(method, uri string) {
	p.t.Helper()
	for {
		if m := p.Recv(); m.Method == method && m.Params.URI == uri {
			return
		} else if m.ID != nil {
			p.t.Fatalf("want %s %s, got %s", method, uri, m.Line)
		}
	}
}
