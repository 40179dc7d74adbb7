//go:build unix

package guard_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/guard/pace"
)

// The times are those of a bubble, in which a file system takes none.
func TestManyDenialsAreSlowedAndTold(t *testing.T) {
	for _, noSlow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var alerts int
			h := build(t, guard.Options{NoSlow: noSlow, Alert: func(string, int) { alerts++ }}, nil, one(rootbound.ReadOnly))
			began := time.Now()
			for range pace.Denials {
				h.read("/etc/passwd")
			}
			if d := time.Since(began); d > 0 || alerts > 0 {
				t.Errorf("%d alerts, and %v for as many denials as may be", alerts, d)
			}
			want := pace.Delay
			if noSlow {
				want = 0
			}
			for range 10 {
				began = time.Now()
				h.read("/etc/passwd")
				if d := time.Since(began); alerts != 1 || d != want {
					t.Errorf("NoSlow %v: %d alerts; a denial too many took %v", noSlow, alerts, d)
				}
			}
		})
	}
}

// A file system that never answers holds a worker and no caller; nothing is committed afterwards.
func TestAHangIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		synctest.Wait() // the worker comes back
		if got, err := h.read("f"); err != nil || got != "old" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}

// TestAHungGroupCommitsNothingMore: when a group is given up so is each of its targets, whichever is asked to commit.
func TestAHungGroupCommitsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := build(t, guard.Options{FSTimeout: 100 * time.Millisecond, NoSlow: true}, nil, one(rootbound.ReadWrite))
		hung, late := make(chan struct{}), make(chan error, 2)
		err := h.g.DoAll(h.ctx(), rootbound.OpPropose, writes("a", "b"), func(_ context.Context, a *guard.Group) error {
			<-hung
			for _, t := range a.Targets() {
				late <- t.Commit(func() error { return os.WriteFile(filepath.Join(h.dir, "p", t.Path()), nil, 0o644) })
			}
			return nil
		})
		refused(t, "a group whose work hangs", err, rootbound.IOError)
		close(hung)
		for range 2 {
			if err := <-late; err == nil {
				t.Error("an abandoned change was committed")
			}
		}
		h.gone("p/a")
		h.gone("p/b")
	})
}

func TestPanicInAWorkerIsContained(t *testing.T) {
	h := build(t, guard.Options{FSTimeout: time.Minute}, nil, one(rootbound.ReadWrite))
	h.file("p/f", "f")
	err := h.do(guard.Read("f"), func(context.Context, *guard.Target) error { panic(h.dir) })
	refused(t, "panic", err, rootbound.InternalError)
	if strings.Contains(err.Error(), h.dir) {
		t.Errorf("the text shows the host: %v", err)
	}
}
