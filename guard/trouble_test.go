//go:build unix

package guard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

func TestManyDenialsAreSlowedAndTold(t *testing.T) {
	var alerts int
	h := build(t, guard.Options{Alert: func(string, int) { alerts++ }}, nil, one(rootbound.ReadOnly))
	start := time.Now()
	for range 55 {
		h.read("/etc/passwd")
	}
	if alerts != 1 {
		t.Errorf("%d alerts", alerts)
	}
	if d := time.Since(start); d < 300*time.Millisecond || d > 5*time.Second {
		t.Errorf("55 denials took %v", d)
	}
	h = build(t, guard.Options{NoSlow: true}, nil, one(rootbound.ReadOnly))
	start = time.Now()
	for range 100 {
		h.read("/etc/passwd")
	}
	if d := time.Since(start); d > 4*time.Second {
		t.Errorf("--no-slow: 100 denials took %v", d)
	}
}

// A file system that never answers holds a worker and no caller; nothing is committed afterwards.
func TestAHangIsGivenUp(t *testing.T) {
	h := build(t, guard.Options{FSTimeout: 100 * time.Millisecond, Workers: 1}, nil, one(rootbound.ReadWrite))
	h.file("p/f", "old")
	hung, late := make(chan struct{}), make(chan error, 1)
	err := h.do(guard.Request{Op: rootbound.OpWrite, Path: "f"}, func(_ context.Context, t *guard.Target) error {
		<-hung
		_, err := fileop.Write(context.Background(), t, []byte("X"), fileop.Expected{})
		late <- err
		return err
	})
	refused(t, "a write whose work hangs", err, rootbound.IOError)
	_, err = h.read("f")
	refused(t, "a call while the only worker hangs", err, rootbound.IOError)
	close(hung)
	if err := <-late; err == nil {
		t.Error("an abandoned write was committed")
	}
	h.has("p/f", "old")
	if got, err := h.read("f"); err != nil || got != "old" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

func TestPanicInAWorkerIsContained(t *testing.T) {
	h := build(t, guard.Options{FSTimeout: time.Second}, nil, one(rootbound.ReadWrite))
	h.file("p/f", "f")
	err := h.do(guard.Read("f"), func(context.Context, *guard.Target) error { panic(h.dir) })
	refused(t, "panic", err, rootbound.InternalError)
	if strings.Contains(err.Error(), h.dir) {
		t.Errorf("the text shows the host: %v", err)
	}
}
