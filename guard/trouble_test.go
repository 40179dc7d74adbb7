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
	"github.com/rootbound/rootbound/guard/pace"
)

func TestManyDenialsAreSlowedAndTold(t *testing.T) {
	var alerts int
	h := build(t, guard.Options{Alert: func(string, int) { alerts++ }}, nil, one(rootbound.ReadOnly))
	// quickest of the denials that are too many: load makes each of them slower, and none quicker than the pace
	quickest := func() time.Duration {
		for range pace.Denials {
			h.read("/etc/passwd")
		}
		least := time.Hour
		for range 10 {
			start := time.Now()
			h.read("/etc/passwd")
			least = min(least, time.Since(start))
		}
		return least
	}
	if d := quickest(); alerts != 1 || d < pace.Delay {
		t.Errorf("%d alerts; a denial too many took %v", alerts, d)
	}
	alerts = 0
	h = build(t, guard.Options{NoSlow: true, Alert: func(string, int) { alerts++ }}, nil, one(rootbound.ReadOnly))
	if d := quickest(); alerts != 1 || d >= pace.Delay {
		t.Errorf("--no-slow: %d alerts; a denial too many took %v", alerts, d)
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
	got, err := h.read("f")
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); { // the worker comes back, or is slow under load
		got, err = h.read("f")
	}
	if err != nil || got != "old" {
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
