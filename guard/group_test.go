//go:build unix

package guard_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/guard/entrylock"
)

// countedLocks counts the calls of Lock and the keys of the last.
type countedLocks struct {
	entrylock.Locks
	calls, keys int
	before      func()
}

func (l *countedLocks) Lock(ctx context.Context, keys ...beneath.Key) (func(), error) {
	l.calls, l.keys = l.calls+1, len(keys)
	if l.before != nil {
		l.before()
	}
	return l.Locks.Lock(ctx, keys...)
}

func writes(paths ...string) (rs []guard.Request) {
	for _, p := range paths {
		rs = append(rs, guard.Request{Op: rootbound.OpWrite, Root: "p", Path: p})
	}
	return rs
}

// publishAll stages and publishes content for every target, all in one commit.
func publishAll(a *guard.Group) error {
	var staged []*beneath.Staged
	for _, t := range a.Targets() {
		s, err := t.Stage()
		if err != nil {
			return err
		}
		if _, err := s.Write([]byte("new")); err != nil {
			return err
		}
		staged = append(staged, s)
	}
	return a.Commit(func() error {
		for i, t := range a.Targets() {
			var old *beneath.Info
			if t.Object() != nil {
				old = new(t.Object().Info())
			}
			if _, err := staged[i].Publish(old); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestDoAll(t *testing.T) {
	locks := &countedLocks{}
	h := build(t, guard.Options{Locks: locks}, nil, one(rootbound.Full))
	h.file("p/a", "old")
	h.file("p/b", "old")
	before := len(h.log.Records())
	err := h.g.DoAll(h.ctx(), rootbound.OpApply, append(writes("a", "c"), guard.Request{Op: rootbound.OpWrite, Root: "p", Path: "b"}),
		func(_ context.Context, a *guard.Group) error {
			recs := h.log.Records()[before:]
			if len(recs) != 3 {
				t.Errorf("%d records before the work", len(recs))
			}
			for _, r := range recs {
				if r.Phase != decision.Decided || r.Decision != decision.Allow || r.Correlate != recs[0].Correlate || r.Correlate == "" {
					t.Errorf("%+v", r)
				}
			}
			return publishAll(a)
		})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		h.has("p/"+name, "new")
	}
	if locks.calls != 1 || locks.keys != 3 {
		t.Errorf("Lock was called %d times, at last with %d keys", locks.calls, locks.keys)
	}
	if recs := h.log.Records()[before:]; len(recs) != 6 || recs[5].Phase != decision.Completed || !recs[5].Outcome.OK {
		t.Errorf("%d records at the end", len(recs))
	}
}

func TestDoAllRefusesAsAWhole(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadWrite))
	h.file("p/a", "old")
	var many []string
	for i := range guard.MaxTargets + 1 {
		many = append(many, fmt.Sprint("f", i))
	}
	for _, c := range []struct {
		what string
		rs   []guard.Request
		want rootbound.Reason
		path string
	}{
		{"none", nil, rootbound.ArgumentInvalid, ""},
		{"too many", writes(many...), rootbound.LimitReached, ""},
		{"one entry by two names", writes("a", "./a"), rootbound.ArgumentInvalid, "./a"},
		{"a rule", writes("a", ".git/config", "b"), rootbound.RuleDenied, ".git/config"},
		{"a right", append(writes("a"), guard.Request{Op: rootbound.OpDelete, Root: "p", Path: "a"}), rootbound.RightMissing, "a"},
		{"outside", writes("a", "../x"), rootbound.OutsideRoot, "../x"},
		{"a missing directory", writes("a", "none/x"), rootbound.ParentMissing, "none/x"},
		{"a read", []guard.Request{guard.Read("a")}, rootbound.ArgumentInvalid, "a"},
	} {
		before := len(h.log.Records())
		err := h.g.DoAll(h.ctx(), rootbound.OpApply, c.rs, func(context.Context, *guard.Group) error {
			t.Errorf("%s: the work was done", c.what)
			return nil
		})
		refused(t, c.what, err, c.want)
		e, _ := err.(*rootbound.Error)
		if e == nil || e.Path != c.path || e.Op != rootbound.OpApply {
			t.Errorf("%s: %+v", c.what, e)
		}
		if c.path == "" {
			continue
		}
		recs := h.log.Records()[before:]
		if len(recs) != len(c.rs) {
			t.Errorf("%s: %d records of %d files", c.what, len(recs), len(c.rs))
		}
		named := 0
		for _, r := range recs {
			if r.Decision == decision.Allow {
				t.Errorf("%s: %+v", c.what, r)
			}
			if r.ID == e.Decision && r.PathSent == c.path {
				named++
			}
		}
		if named != 1 {
			t.Errorf("%s: the refusal names %d of the records", c.what, named)
		}
	}
}

// TestDoAllJudgesAgainUnderTheLock moves a directory away between the judgement and the lock.
func TestDoAllJudgesAgainUnderTheLock(t *testing.T) {
	locks := &countedLocks{}
	h := build(t, guard.Options{Locks: locks}, nil, one(rootbound.Full))
	h.file("p/d/a", "old")
	h.file("p/b", "old")
	locks.before = func() {
		locks.before = nil
		if err := h.move(guard.Request{Root: "p", DestRoot: "p", Path: "d", Dest: "e"}); err != nil {
			t.Error(err)
		}
	}
	err := h.g.DoAll(h.ctx(), rootbound.OpApply, writes("b", "d/a"), func(_ context.Context, a *guard.Group) error { return publishAll(a) })
	refused(t, "moved away", err, rootbound.ParentMissing)
	h.has("p/b", "old")
	h.has("p/e/a", "old")
}

// TestDoAllCommitsInOneGeneration: when the generation ends between staging and commit nothing is shown.
func TestDoAllCommitsInOneGeneration(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.Full))
	h.file("p/a", "old")
	err := h.g.DoAll(h.ctx(), rootbound.OpApply, writes("a", "b"), func(_ context.Context, a *guard.Group) error {
		h.auth.Invalidate(rootbound.RevokedByUser)
		return publishAll(a)
	})
	refused(t, "ended", err, rootbound.RevokedByUser)
	h.has("p/a", "old")
	h.gone("p/b")
}
