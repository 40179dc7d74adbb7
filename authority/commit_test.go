package authority

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
)

// Eight writers against a client that keeps changing its mind: whatever was settled commits no more, nobody sees a
// generation twice, and every handle is given back.
func TestG06StaleGenerationNeverCommits(t *testing.T) {
	top := tree(t, "a", "b")
	c := declared(uri(top, "a"))
	a := c.authority(t, ceiling(t, project("p", top, rootbound.ReadWrite)))
	var dead atomic.Uint64 // generations up to this one have ended
	var commits, refused atomic.Int64
	var snapshots sync.Map
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				u, err := a.Acquire(context.Background(), true)
				if err != nil {
					refused.Add(1)
					continue
				}
				gen := uint64(u.Snapshot().Generation)
				if other, seen := snapshots.LoadOrStore(gen, u.Snapshot()); seen && other != u.Snapshot() {
					t.Error("two snapshots of one generation")
				}
				err = u.Commit(func() error {
					if gen <= dead.Load() {
						t.Error("a stale generation commits")
					}
					commits.Add(1)
					return nil
				})
				if err != nil {
					refused.Add(1)
					if e := new(rootbound.Error); !errors.As(err, &e) || e.Reason != rootbound.GenerationStale || u.Committed() {
						t.Errorf("%v, committed %v", err, u.Committed())
					}
				}
				u.Release()
			}
		})
	}
	marks := 0
	for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end) || commits.Load() < 200 || marks < 10; marks++ {
		c.set(func(c *client) { c.ans = answer(uri(top, []string{"a", "b"}[marks%2])) })
		a.mu.Lock()
		gen, current := a.gen, a.cur != nil
		a.mu.Unlock()
		if !a.MarkStale(rootbound.GenerationStale, time.Minute) {
			t.Fatal("not settled")
		}
		if current {
			dead.Store(uint64(gen))
		}
	}
	close(stop)
	wg.Wait()
	a.Invalidate(rootbound.GenerationStale)
	snapshots.Range(func(_, s any) bool {
		if n := s.(*Snapshot).refs.Load(); n != 0 {
			t.Errorf("generation %d has %d references left", s.(*Snapshot).Generation, n)
		}
		return true
	})
	t.Logf("%d marks, %d commits, %d refused", marks, commits.Load(), refused.Load())
}

// The gate alone, at the two places where leave and shut meet.
func TestGate(t *testing.T) {
	for range 2000 {
		g := gate{idle: make(chan struct{})}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for g.enter() {
					g.leave()
				}
			})
		}
		g.shut()
		g.shut() // again is harmless
		<-g.idle
		if g.enter() {
			t.Fatal("entered after the end")
		}
		wg.Wait()
		select {
		case <-g.idle:
		default:
			t.Fatal("not idle")
		}
	}
}

func TestSnapshotClosesAtItsLastUse(t *testing.T) {
	top := tree(t, "p/a", "p/b")
	ceil, err := Open([]rootbound.Project{project("p", top+"/p", rootbound.ReadWrite)}, CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := declared(uri(top, "p/a"))
	a := c.authority(t, ceil)
	u := acquire(t, a, false)
	v := acquire(t, a, false)
	g := u.Snapshot().Grants[0].Root
	a.ids.Close() // a fresh directory is held there, too
	ctx, stop := With(context.Background(), u)
	defer stop()
	if got, err := From(ctx); err != nil || got != u {
		t.Error(got, err)
	}
	c.set(func(c *client) { c.ans = answer(uri(top, "p/b")) })
	a.Invalidate(rootbound.GenerationStale)
	<-ctx.Done()
	granted(t, a, false)
	ceil.Close()
	usable := func() bool { _, err := g.Info(); return err == nil }
	hold := u.Hold()
	u.Release()
	u.Release() // only the first counts
	if !usable() {
		t.Error("closed while a use and a hold were left")
	}
	v.Release()
	if !usable() {
		t.Error("closed while a hold was left")
	}
	hold()
	hold()
	if usable() {
		t.Error("still open after the last use")
	}
	if err := u.Commit(func() error { t.Error("committed"); return nil }); err == nil {
		t.Error("committed after release")
	}
	if _, err := From(context.Background()); err == nil {
		t.Error("a scope from nowhere")
	}
}

func TestCommitReportsWhatPublishSays(t *testing.T) {
	top := tree(t, "a")
	a := (&client{}).authority(t, ceiling(t, project("p", top, rootbound.ReadWrite)))
	u := acquire(t, a, true)
	defer u.Release()
	boom := errors.New("boom")
	if err := u.Commit(func() error { return boom }); err != boom || u.Committed() {
		t.Error(err, u.Committed())
	}
	func() { // a panic gives its lease back
		defer func() { recover() }()
		u.Commit(func() error { panic("x") })
	}()
	if err := u.Commit(func() error { return nil }); err != nil || !u.Committed() {
		t.Error(err)
	}
	if !a.MarkStale(rootbound.GenerationStale, time.Second) {
		t.Error("a lease is lost")
	}
}

func TestG07RevocationCancelsInFlight(t *testing.T) {
	top := tree(t, "a/in", "b", "a/n")
	pa, pb, pn := project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite), project("n", top+"/a/n", rootbound.Full)
	a := (&client{}).authority(t, ceiling(t, pa, pb, pn))
	u := acquire(t, a, true)
	defer u.Release()
	ctx, stop := With(context.Background(), u)
	defer stop()
	a.Revoke("n")
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("what was in flight goes on")
	}
	isReason(t, context.Cause(ctx), rootbound.RevokedByUser, "")
	isReason(t, u.Stale(), rootbound.RevokedByUser, "")
	isReason(t, u.Commit(func() error { t.Error("committed"); return nil }), rootbound.RevokedByUser, "")

	v := acquire(t, a, true)
	defer v.Release()
	for _, g := range v.Snapshot().Grants {
		if g.ID == "n" {
			t.Error("n is still granted")
		}
	}
	for _, m := range v.Snapshot().Marks { // through the project around it there is no way, either
		if m.Project.ID == "n" && (m.Project.Rights != 0 || !m.Revoked) {
			t.Errorf("%+v", m)
		}
	}
	if v.Snapshot().Generation != 2 {
		t.Error(v.Snapshot().Generation)
	}
	a.Unrevoke("n")
	if got := granted(t, a, true); len(got) != 3 {
		t.Errorf("granted %v", got)
	}
	a.Revoke()
	denied(t, a, rootbound.RevokedByUser, "")
	if _, err := a.AcquireWith(context.Background(), Capability{}, nil); err == nil {
		t.Error("granted to a call")
	}
	if _, err := a.Current(); err == nil {
		t.Error("current")
	}
	a.Invalidate(rootbound.GenerationStale) // neither time nor the client lifts it
	denied(t, a, rootbound.RevokedByUser, "")
	a.Unrevoke()
	granted(t, a, true)
}

// An answer that was on its way when a person revoked grants nothing of it.
func TestRevokedRoots(t *testing.T) {
	top := tree(t, "a/in", "a/out", "b")
	c := declared(uri(top, "a/in"), uri(top, "a/out"))
	a := c.authority(t, ceiling(t, project("a", top+"/a", rootbound.ReadWrite)))
	u := acquire(t, a, true)
	id := u.Snapshot().Grants[0].ID
	u.Release()
	a.Revoke(id)
	if got := granted(t, a, true); len(got) != 1 || got[0] != top+"/a/out" {
		t.Errorf("granted %v", got)
	}
	if v := a.Status().Verdicts[0]; v.Reason != rootbound.RevokedByUser {
		t.Errorf("%+v", v)
	}
	c.set(func(c *client) { c.ans = answer(uri(top, "a/in")) })
	a.Invalidate(rootbound.GenerationStale)
	denied(t, a, rootbound.RevokedByUser, "")
	c.set(func(c *client) { c.ans = answer(uri(top)) }) // around the project: the project itself is not revoked
	a.Revoke("a")
	denied(t, a, rootbound.RevokedByUser, "")
}

func BenchmarkAcquireCommitRelease(b *testing.B) {
	top := tree(b, "a")
	a := declared(uri(top, "a")).authority(b, ceiling(b, project("p", top, rootbound.ReadWrite)))
	publish := func() error { return nil }
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			u, err := a.Acquire(context.Background(), true)
			if err != nil {
				b.Error(err)
				return
			}
			u.Commit(publish)
			u.Release()
		}
	})
}

func BenchmarkConfirm(b *testing.B) {
	top := tree(b, "a")
	c := declared(uri(top, "a"))
	c.cap.ListChanged = false
	a := c.authority(b, ceiling(b, project("p", top, rootbound.ReadWrite)))
	b.ReportAllocs()
	for b.Loop() {
		acquire(b, a, true).Release()
	}
}

func BenchmarkCheckRoot(b *testing.B) {
	top := tree(b, "a")
	a := declared(uri(top, "a")).authority(b, ceiling(b, project("p", top, rootbound.ReadWrite)))
	u := acquire(b, a, true)
	defer u.Release()
	for _, m := range []bool{false, true} {
		b.Run(map[bool]string{false: "read", true: "mutation"}[m], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := u.CheckRoot(0, m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
