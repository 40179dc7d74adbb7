package state

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

func locks(t testing.TB, d *Dir) *Locks {
	l, err := d.Locks()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestLocksBetweenProcesses(t *testing.T) {
	d := open(t)
	number := filepath.Join(t.TempDir(), "number")
	if err := os.WriteFile(number, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	children := []*child{
		start(t, "count", d.Path(), number, "200"),
		start(t, "count", d.Path(), number, "200"),
		start(t, "count", d.Path(), number, "200"),
	}
	for _, c := range children {
		c.expect(t, "ready")
	}
	for _, c := range children {
		io.WriteString(c.in, "go\n")
	}
	for _, c := range children {
		c.expect(t, "done")
	}
	if b, _ := os.ReadFile(number); string(b) != "600" {
		t.Errorf("three processes adding 200 each made %s", b)
	}
}

func TestLocksInOneProcess(t *testing.T) {
	d := open(t)
	l, other := locks(t, d), locks(t, d) // a second open excludes like a second process
	var n atomic.Int64                   // read and written in two steps: what only the lock makes one
	done := make(chan error)
	const each = 100
	for i := range 8 {
		l := []*Locks{l, other}[i%2]
		go func() {
			for range each {
				// Opposite orders would end in a deadlock if keys were not sorted.
				keys := []beneath.Key{key("a"), key("b"), key("a")}
				if i%2 == 0 {
					keys = []beneath.Key{key("b"), key("a")}
				}
				unlock, err := l.Lock(t.Context(), keys...)
				if err != nil {
					done <- err
					return
				}
				old := n.Load()
				runtime.Gosched()
				n.Store(old + 1)
				unlock()
				unlock()
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if n.Load() != 8*each {
		t.Errorf("%d of %d", n.Load(), 8*each)
	}
	if len(l.queue) != 0 || len(other.queue) != 0 {
		t.Errorf("queues left: %d, %d", len(l.queue), len(other.queue))
	}
}

func TestLockOfADeadProcessIsFree(t *testing.T) {
	d := open(t)
	l := locks(t, d)
	c := start(t, "hold", d.Path())
	c.expect(t, "held")
	_, err := l.Lock(within(t, 30*time.Millisecond), key("a"))
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Reason != rootbound.Cancelled || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the lock of a living process: %v", err)
	}
	if unlock, err := l.Lock(within(t, time.Minute), key("another")); err != nil {
		t.Errorf("another entry waited: %v", err)
	} else {
		unlock()
	}
	c.kill(t)
	unlock, err := l.Lock(within(t, time.Minute), key("a"))
	if err != nil {
		t.Fatalf("the lock of a killed process: %v", err)
	}
	unlock()
}

func TestLockCancelledLeavesNothing(t *testing.T) {
	d := open(t)
	l, other := locks(t, d), locks(t, d)
	unlock, err := other.Lock(t.Context(), key("b"))
	if err != nil {
		t.Fatal(err)
	}
	mine, err := l.Lock(t.Context(), key("c"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 2)
	for _, keys := range [][]beneath.Key{{key("a"), key("b")}, {key("a"), key("c")}} { // one waits for the file, one in the queue
		go func() {
			_, err := l.Lock(ctx, keys...)
			failed <- err
		}()
	}
	cancel()
	for range 2 {
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
	mine()
	unlock()
	for _, l := range []*Locks{l, other} {
		unlock, err := l.Lock(within(t, time.Minute), key("a"), key("b"), key("c"))
		if err != nil {
			t.Fatalf("a cancelled call left a lock behind: %v", err)
		}
		unlock()
		if len(l.queue) != 0 {
			t.Errorf("%d queues left", len(l.queue))
		}
	}
}

func BenchmarkLock(b *testing.B) {
	d, err := Open(env("ROOTBOUND_STATE_DIR", b.TempDir()))
	if err != nil {
		b.Fatal(err)
	}
	l := locks(b, d)
	k := key("some-file.txt")
	b.ReportAllocs()
	for b.Loop() {
		unlock, err := l.Lock(b.Context(), k)
		if err != nil {
			b.Fatal(err)
		}
		unlock()
	}
}
