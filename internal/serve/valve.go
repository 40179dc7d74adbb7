package serve

import (
	"context"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// atOnce is how many tool calls work side by side, and how many answers are encoded side by side. More calls start, one each
// escape, while little memory is held: calls that hang in a file system hold next to none, and shall hold up the others
// for that long only. A machine that is merely slow must not open the valve, however long a call takes there.
const (
	atOnce = 16
	escape = 25 * time.Millisecond
	little = 48 << 20 // bytes
)

// valve holds tool calls back while the client does not take its answers: what a call reads, encodes and waits to write is
// many times its own size, so the memory of a client that only sends is bounded by what was let in, not by what it sent.
// It never holds what the client answers or announces. The zero value lets everything through until it is open.
type valve struct {
	mu      sync.Mutex
	used    bool // there is a transport that counts what it writes
	bytes   int  // of answers that are being written
	running int
	ready   int        // calls that ended and whose answer has not reached the transport: it is being encoded
	held    func() int // bytes in use; nil: what the last collection found
	last    time.Time  // when somebody was let in
	queue   []*waiting // first come, first served
	timer   *time.Timer
}

type waiting struct {
	in   chan struct{} // closed: let in
	gone bool
}

// open makes the valve work: there is a transport that counts what it writes.
func (v *valve) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.used = true
}

// heavy are the methods that pass the valve: their answers may be large.
func heavy(method string) bool { return method == "tools/call" || method == "resources/read" }

// middleware makes heavy calls pass the valve.
func (v *valve) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if !heavy(method) {
			return next(ctx, method, req)
		}
		defer v.enter(ctx)()
		return next(ctx, method, req)
	}
}

// enter waits to be let in, or for ctx: then what comes next finds out that it is cancelled.
func (v *valve) enter(ctx context.Context) (leave func()) {
	v.mu.Lock()
	if !v.used {
		v.mu.Unlock()
		return func() {}
	}
	w := &waiting{in: make(chan struct{})}
	v.queue = append(v.queue, w)
	v.admit()
	v.mu.Unlock()
	select {
	case <-w.in:
		return v.leave
	case <-ctx.Done():
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-w.in: // just now
		return v.leave
	default:
		w.gone = true
		return func() {}
	}
}

func (v *valve) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running--
	v.ready++
	v.admit()
}

// handed says that the answer of a call reached the transport.
func (v *valve) handed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ready > 0 { // a call that was cancelled before it was let in has an answer too
		v.ready--
	}
	v.admit()
}

func (v *valve) light() bool {
	if v.held != nil {
		return v.held() < little
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() < little
}

// writing counts n bytes of an answer that begins to be written, or, negative, that was.
func (v *valve) writing(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.bytes += n
	v.admit()
}

// admit lets in who may; the lock is held.
func (v *valve) admit() {
	for len(v.queue) > 0 {
		if w := v.queue[0]; !w.gone {
			if v.bytes > Backlog/4 || v.ready >= atOnce {
				return // until something is written
			}
			if now := time.Now(); v.running >= atOnce && (now.Sub(v.last) < escape || !v.light()) {
				if v.timer == nil {
					v.timer = time.AfterFunc(escape, func() {
						v.mu.Lock()
						defer v.mu.Unlock()
						v.timer = nil
						v.admit()
					})
				}
				return
			}
			v.last = time.Now()
			v.running++
			close(w.in)
		}
		v.queue = v.queue[1:]
	}
}
