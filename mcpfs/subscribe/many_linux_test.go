package subscribe

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/watch"
)

// kernelWatches counts the inotify watches of this process, as the kernel does.
func kernelWatches(t *testing.T) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		b, err := os.ReadFile(f)
		if err == nil { // else it was closed meanwhile
			n += strings.Count(string(b), "inotify wd:")
		}
	}
	return n
}

// heap is what lives, in bytes, with the stacks.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// Very many subscriptions, as many as there may be: 100,000 with RB_LONG, by one client of 2026-07-28 or by many legacy ones.
// Each costs a few KiB, one more is refused, all hear, a switch keeps or drops all of them, and nothing of them stays.
func TestManySubscriptions(t *testing.T) {
	each, streams := 40, 25
	if os.Getenv("RB_LONG") != "" {
		each, streams = 1000, 100
	}
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) { many(t, era == "modern", each, streams) })
	}
}

func many(t *testing.T, modern bool, each, streams int) {
	start, stop := Watching(watch.Options{})
	t.Cleanup(stop)
	w := newWorld(t, mcpscope.Options{}, Options{Watch: start, Subscriptions: each, Listens: streams})
	all := make([]string, each)
	for i := range all {
		name := fmt.Sprintf("many/d%d/f%d", i%20, i)
		w.write("app/"+name, "1")
		all[i] = of("app", name)
	}
	extra := of("app", "a.txt")
	var peers []*peer
	if modern {
		peers = []*peer{w.dial()}
	} else {
		for range streams {
			peers = append(peers, w.legacy())
		}
	}
	peers[0].silent(1)
	idle := kernelWatches(t)
	before := heap()
	began := time.Now()
	for n := range streams {
		if modern {
			filter := strings.TrimSuffix(uris(all...), "}") + `,"resourcesListChanged":true}`
			peers[0].listen(100+n, joined.Meta, filter)
			if m := peers[0].Recv(); m.Method != "notifications/subscriptions/acknowledged" || !strings.Contains(m.Line, all[each-1]) {
				t.Fatalf("not acknowledged: %.300s", m.Line)
			}
			continue
		}
		for i, uri := range all {
			peers[n].subscribed(100+i, uri)
		}
	}
	count := each * streams
	if _, subs := w.hub.Count(); subs != count {
		t.Fatalf("%d subscriptions, want %d", subs, count)
	}
	after := heap()
	per := (int64(after) - int64(before)) / int64(count)
	t.Logf("%d subscriptions in %v: %d bytes each, %d watches of the kernel", count, time.Since(began), per, kernelWatches(t)-idle)
	if per > 8<<10 {
		t.Errorf("%d bytes a subscription", per)
	}

	// One more is refused, with what to do.
	if modern {
		peers[0].listen(1, joined.Meta, uris(extra))
		peers[0].failed(1, -32602, "End one of them")
		peers[0].listen(1, joined.Meta, uris(append(all, extra)...))
		peers[0].failed(1, -32602, "subscribe to a directory")
	} else {
		for _, p := range peers {
			p.subscribe(1, extra)
			p.failed(1, -32602, "Unsubscribe")
		}
	}
	written := map[string]bool{} // what may be told once more: a file is emptied first and written then
	// hears reads what is told until all streams were told of name.
	hears := func(name string) {
		t.Helper()
		began := time.Now()
		w.write("app/"+name, "2")
		written[of("app", name)] = true
		told := map[string]bool{}
		for _, p := range peers {
			for mine := 0; mine < streams/len(peers); {
				m := p.Recv()
				if m.Method != "notifications/resources/updated" || !written[m.Params.URI] {
					t.Fatalf("got %.300s", m.Line)
				}
				if m.Params.URI != of("app", name) {
					continue
				}
				if who := fmt.Sprintf("%p %v", p, m.Params.Meta[mcp.MetaKeySubscriptionID]); !told[who] {
					told[who] = true
					mine++
				}
			}
		}
		t.Logf("%d heard of one change in %v", streams, time.Since(began))
	}
	// listed waits until all were told that the list changed.
	listed := func() {
		t.Helper()
		for _, p := range peers {
			for n := 0; n < streams/len(peers); {
				switch m := p.Recv(); {
				case m.Method == "notifications/resources/list_changed":
					n++
				case !written[m.Params.URI]:
					t.Fatalf("got %.300s", m.Line)
				}
			}
		}
	}
	use := func(ids ...rootbound.RootID) {
		t.Helper()
		if err := w.ceiling.Activate(ids); err != nil {
			t.Fatal(err)
		}
	}
	hears("many/d3/f3")
	other, calls, slowest := w.dial(), 0, time.Duration(0)
	began = time.Now()
	use("app")
	over, calling := make(chan struct{}), sync.WaitGroup{}
	calling.Go(func() { // calls of others go on meanwhile
		for {
			began := time.Now()
			other.callModern(1, "app", "a.txt")
			other.ok(1)
			calls++
			slowest = max(slowest, time.Since(began))
			select {
			case <-over:
				return
			default:
			}
		}
	})
	listed()
	close(over)
	calling.Wait()
	t.Logf("a switch that keeps all took %v; meanwhile another client had %d calls answered, the slowest in %v", time.Since(began), calls, slowest)
	hears("many/d4/f4")
	began = time.Now()
	use("lib")
	listed()
	w.eventually("all are dropped", func() bool { _, subs := w.hub.Count(); return subs == 0 })
	t.Logf("a switch that drops all took %v", time.Since(began))
	w.eventually("the kernel watches nothing", func() bool { return kernelWatches(t) <= idle+1 }) // one is to wake the reader
	w.write("app/many/d5/f5", "2")
	use() // a switch back gives life to nothing
	clear(written)
	listed()
	for i, p := range peers {
		p.silent(1000 + i)
	}
	if left := int64(heap()) - int64(before); left > int64(count)*512+(4<<20) {
		t.Errorf("%d bytes of %d are left", left, int64(after)-int64(before))
	}
}
