package authority

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/roots"
)

// Everything at once, for the race detector and for references: readers, writers, single calls, callers who leave, a
// client that changes and fails, revocations, a project that appears and one that is replaced. What holds all the time:
// nobody sees a root that his answer did not name, a handle in use is open, one question at a time.
func TestStorm(t *testing.T) {
	long := 300 * time.Millisecond
	if os.Getenv("RB_LONG") != "" {
		long = 30 * time.Second
	}
	top := tree(t, "p/a", "p/b", "p/c", "q")
	ceil, err := Open([]rootbound.Project{project("p", top+"/p", rootbound.ReadWrite), project("q", top+"/q", rootbound.ReadOnly), project("m", top+"/m", rootbound.ReadOnly)},
		CeilingOptions{AcceptRetarget: true})
	if err != nil {
		t.Fatal(err)
	}
	c := declared(uri(top, "p/a"))
	c.cap.ListChanged = false
	a := c.authority(t, ceil, func(o *Options) { o.Timeout = 20 * time.Millisecond })
	per := New(ceil, Options{})
	defer per.Close()

	var snapshots sync.Map
	var good, bad atomic.Int64
	use := func(u *Use, err error, may func(path string) bool) {
		if err != nil {
			if e := new(rootbound.Error); !errors.As(err, &e) {
				t.Errorf("%T: %v", err, err)
			}
			bad.Add(1)
			return
		}
		defer u.Release()
		good.Add(1)
		snapshots.Store(u.Snapshot(), true)
		for i, g := range u.Snapshot().Grants {
			if _, err := g.Root.Info(); err != nil {
				t.Errorf("a handle in use is closed: %v", err)
			}
			if !may(g.Root.Path()) {
				t.Errorf("granted %s", g.Root.Path())
			}
			u.CheckRoot(i, rand.IntN(2) == 0)
		}
		ctx, stop := With(context.Background(), u)
		defer stop()
		u.Commit(func() error { return nil })
		if u.Stale() != nil {
			<-ctx.Done()
		}
		defer u.Hold()()
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	loop := func(f func()) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f()
				}
			}
		})
	}
	all := func(p string) bool { return roots.Within(top, p) && p != top }
	for range 3 {
		loop(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(3))*time.Millisecond)
			defer cancel()
			u, err := a.Acquire(ctx, rand.IntN(2) == 0)
			use(u, err, all)
		})
		loop(func() {
			u, err := per.AcquireWith(context.Background(), Capability{Declared: true}, answer(uri(top, "p/b")))
			use(u, err, func(p string) bool { return p == top+"/p/b" })
			u, err = a.AcquireWith(context.Background(), Capability{Declared: true}, answer(uri(top, "p/b")))
			use(u, err, func(p string) bool { return p == top+"/p/b" })
		})
	}
	loop(func() {
		c.set(func(c *client) {
			c.err, c.hold = nil, nil
			switch rand.IntN(8) {
			case 0:
				c.err = errors.New("x")
			case 1:
				c.hold = make(chan struct{})
			case 2:
				c.ans = answer()
			default:
				c.ans = answer(uri(top, []string{"p/a", "p/b", "p", "q", ""}[rand.IntN(5)]))
			}
		})
		switch rand.IntN(5) {
		case 0:
			a.MarkStale(rootbound.GenerationStale, time.Millisecond)
		case 1:
			a.Revoke("p")
			per.Revoke("q")
			a.Unrevoke()
		case 2:
			a.Status()
			a.Generation()
			per.Invalidate(rootbound.GenerationStale)
		}
		time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
	})
	loop(func() {
		os.Mkdir(top+"/m", 0o755)
		os.Rename(top+"/q", top+"/old")
		os.Mkdir(top+"/q", 0o755)
		time.Sleep(2 * time.Millisecond)
		os.Remove(top + "/q")
		os.Rename(top+"/old", top+"/q")
		time.Sleep(2 * time.Millisecond)
	})
	began := time.Now()
	for tick := time.Tick(10 * time.Millisecond); time.Since(began) < long || good.Load() < 50 || bad.Load() < 5; {
		<-tick
	}
	close(stop)
	wg.Wait()
	a.Close()
	per.Close()
	snapshots.Range(func(s, _ any) bool {
		if n := s.(*Snapshot).refs.Load(); n != 0 {
			t.Errorf("a snapshot of generation %d has %d references left", s.(*Snapshot).Generation, n)
		}
		return true
	})
	if c.most != 1 {
		t.Errorf("%d questions at once", c.most)
	}
	t.Logf("%d granted, %d refused, %d asks, generations %d and %d", good.Load(), bad.Load(), c.asks, a.gen, per.gen)
	ceil.Close()
}
