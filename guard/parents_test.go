//go:build unix

package guard_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

// with asks for one of the operations that can make parents.
func (h *house) with(op rootbound.Operation, path string, commit func(n int)) (made int, err error) {
	h.t.Helper()
	r := guard.Request{Op: op, Path: path, Parents: true}
	if op == rootbound.OpMove || op == rootbound.OpCopy {
		h.file("p/source", "text")
		r.Path, r.Dest = "source", path
	}
	err = h.do(r, func(ctx context.Context, t *guard.Target) (err error) {
		made = t.Made()
		s := &slow{Target: t, commit: commit}
		switch op {
		case rootbound.OpMove:
			_, err = fileop.Move(ctx, s, false)
		case rootbound.OpCopy:
			_, err = fileop.Copy(ctx, s, fileop.Expected{})
		default:
			_, err = fileop.Write(ctx, s, []byte("text"), fileop.Expected{})
		}
		return err
	})
	return made, err
}

func TestParents(t *testing.T) {
	for _, op := range []rootbound.Operation{rootbound.OpWrite, rootbound.OpCreate, rootbound.OpMove, rootbound.OpCopy} {
		p := one(rootbound.ReadWrite)
		p.Deny = []string{"**/no/**", "a/b/denied"}
		h := build(t, guard.Options{NoSlow: true}, nil, p)
		h.file("p/f", "in")
		h.file("p/d/x", "x")
		h.file("out/x", "OUT")
		h.link("p/in", "d")
		h.link("p/out", "../out")
		h.link("p/dangling", "none")
		for _, c := range []struct {
			path string
			want rootbound.Reason
		}{
			{"f/a/b", rootbound.NotADirectory}, {"out/a/b", rootbound.OutsideRoot}, {"../out/a/b", rootbound.OutsideRoot}, {h.dir + "/out/a/b", rootbound.OutsideRoot},
			{"dangling/a/b", rootbound.PathUnresolvable}, {"new/../../out/a", rootbound.OutsideRoot}, {"new/../a/b", rootbound.NotFound}, {"new/a/.", rootbound.PathInvalid},
			{"new/a/", rootbound.PathInvalid}, {"new/no/f", rootbound.RuleDenied}, {"new/x/NO/y/f", rootbound.RuleDenied}, {"new/.env", rootbound.RuleDenied},
			{"new/.git/hooks/f", rootbound.RuleDenied}, {"new/.git/config", rootbound.RuleDenied}, {"new/.ssh/a/b", rootbound.RuleDenied}, {"a/b/denied", rootbound.RuleDenied},
			{"new/.git", rootbound.RuleDenied}, {"new/a\x00b/c", rootbound.PathInvalid}, {"new/.vscode/tasks.json", rootbound.RuleDenied},
		} {
			_, err := h.with(op, c.path, nil)
			refused(t, string(op)+" "+c.path, err, c.want)
		}
		for _, p := range []string{"p/new", "p/a", "out/a", "p/none", "p/d/a"} {
			h.gone(p)
		}
		for _, c := range []struct {
			path, at string
			made     int
		}{
			{"one/f", "one/f", 1}, {"one/f2", "one/f2", 0}, {"n1//n2/./n3/f", "n1/n2/n3/f", 3}, {"in/sub/f", "d/sub/f", 1}, {h.dir + "/p/abs/x/f", "abs/x/f", 2}, {"d/../up/f", "up/f", 1},
		} {
			made, err := h.with(op, c.path, nil)
			if err != nil || made != c.made {
				t.Errorf("%s %s: %d made, %v", op, c.path, made, err)
			}
			h.has("p/"+c.at, "text")
		}
		h.has("out/x", "OUT")
	}
}

func TestParentsNeedCreate(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.ReadOnly|rootbound.Write|rootbound.Move))
	for _, op := range []rootbound.Operation{rootbound.OpWrite, rootbound.OpMove, rootbound.OpCopy} {
		_, err := h.with(op, "a/b", nil)
		refused(t, string(op), err, rootbound.RightMissing)
		h.gone("p/a")
	}
	r := guard.Request{Op: rootbound.OpEdit, Path: "a/b", Parents: true}
	refused(t, "an edit makes nothing", h.do(r, nil), rootbound.ParentMissing)
	h.gone("p/a")
	_, err := h.g.Decide(h.ctx(), guard.Request{Op: rootbound.OpWrite, Path: "a/b", Parents: true})
	refused(t, "Decide", err, rootbound.RightMissing)
	h = build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
	if d, err := h.g.Decide(h.ctx(), guard.Request{Op: rootbound.OpWrite, Path: "a/b", Parents: true}); err != nil || d.Path != "a/b" {
		t.Error(d, err)
	}
	h.gone("p/a")
}

// Nothing is made before the decision is on record, and what was made before a stop is told.
func TestParentsAreDecidedAndTold(t *testing.T) {
	h := build(t, guard.Options{Sink: fullDisk{}, NoSlow: true}, nil, one(rootbound.Full))
	_, err := h.with(rootbound.OpWrite, "a/b/f", nil)
	refused(t, "not recorded", err, rootbound.AuditUnavailable)
	h.gone("p/a")

	h = build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
	h.mkdirs("p/d")
	_, err = h.with(rootbound.OpWrite, "a/b/f", func(int) { h.auth.Revoke("p") })
	refused(t, "revoked", err, rootbound.RevokedByUser)
	says(t, err, "2 of the directories above it were made")
	h.gone("p/a/b/f")
	if st, err := os.Stat(filepath.Join(h.dir, "p/a/b")); err != nil || !st.IsDir() {
		t.Error(err)
	}
	var told bool
	for _, r := range h.log.Records() {
		if r.Phase == decision.Completed && r.Outcome != nil && !r.Outcome.OK {
			told = true
		}
	}
	if !told {
		t.Error("the record does not tell how it ended")
	}
}

// A copy or move into itself makes no directories on the way to its refusal.
func TestParentsInsideTheSource(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
	h.file("p/d/x", "x")
	for _, op := range []rootbound.Operation{rootbound.OpMove, rootbound.OpCopy} {
		err := h.do(guard.Request{Op: op, Path: "d", Dest: "d/new/deep", Parents: true}, nil)
		refused(t, string(op), err, rootbound.PathInvalid)
		h.gone("p/d/new")
	}
}
