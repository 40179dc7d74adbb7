//go:build unix

package guard_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
)

// A plan is judged by the rules of a change, needs propose and read, and makes nothing.
func TestProposeIsJudgedLikeAChange(t *testing.T) {
	h := build(t, guard.Options{}, func(dir string) {
		os.MkdirAll(filepath.Join(dir, "p/.git/hooks"), 0o755)
		os.WriteFile(filepath.Join(dir, "p/a"), []byte("a"), 0o644)
		os.WriteFile(filepath.Join(dir, "p/.env"), []byte("secret"), 0o644)
		os.Symlink("a", filepath.Join(dir, "p/link"))
		os.Symlink("../ro", filepath.Join(dir, "p/out"))
		os.MkdirAll(filepath.Join(dir, "ro"), 0o755)
	}, rootbound.Project{ID: "p", Dir: "p", Rights: rootbound.ProposeOnly}, rootbound.Project{ID: "ro", Dir: "ro", Rights: rootbound.ReadOnly})
	propose := func(root, path string) (got string, err error) {
		err = h.do(guard.Request{Op: rootbound.OpPropose, Root: root, Path: path}, func(_ context.Context, on *guard.Target) error {
			if on.Entry() != nil {
				t.Errorf("%s: a place to publish in", path)
			}
			if on.Object() == nil {
				got = "absent"
				return nil
			}
			b, err := io.ReadAll(on)
			got = string(b)
			return err
		})
		return got, err
	}
	for path, want := range map[string]string{"a": "a", "new": "absent", "new/dir/file": "absent"} {
		if got, err := propose("p", path); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for path, want := range map[string]rootbound.Reason{
		".git/hooks/pre-commit": rootbound.RuleDenied, ".env": rootbound.RuleDenied, "sub/.envrc": rootbound.RuleDenied,
		"link": rootbound.SpecialFile, "out/x": rootbound.OutsideRoot, "a/b": rootbound.NotADirectory, ".git": rootbound.IsADirectory,
	} {
		_, err := propose("p", path)
		refused(t, path, err, want)
	}
	_, err := propose("ro", "x")
	refused(t, "ro", err, rootbound.RightMissing)
	_, err = propose("", "a")
	refused(t, "no root", err, rootbound.RootRequired)
	h.gone("p/new")
}

// Where changes are to be proposed none happens without a person's agreement, and the refusal says how to go on.
func TestWritesPropose(t *testing.T) {
	h := build(t, guard.Options{}, func(dir string) {
		os.MkdirAll(filepath.Join(dir, "p/d"), 0o755)
		os.Mkdir(filepath.Join(dir, "q"), 0o755)
		os.WriteFile(filepath.Join(dir, "p/a"), []byte("a"), 0o644)
		os.Symlink("a", filepath.Join(dir, "p/link"))
	}, rootbound.Project{ID: "p", Dir: "p", Rights: rootbound.Full, ProposeWrites: true, MovesAcross: true},
		rootbound.Project{ID: "q", Dir: "q", Rights: rootbound.Full, ProposeWrites: true, MovesAcross: true})
	requests := []guard.Request{
		{Op: rootbound.OpWrite, Root: "p", Path: "a"},
		{Op: rootbound.OpWrite, Root: "p", Path: "new"},
		{Op: rootbound.OpWrite, Root: "p", Path: "new/below", Parents: true},
		{Op: rootbound.OpCreate, Root: "p", Path: "new"},
		{Op: rootbound.OpEdit, Root: "p", Path: "a"},
		{Op: rootbound.OpMkdir, Root: "p", Path: "new"},
		{Op: rootbound.OpMkdir, Root: "p", Path: "d"},
		{Op: rootbound.OpMove, Root: "p", Path: "a", DestRoot: "p", Dest: "b"},
		{Op: rootbound.OpCopy, Root: "p", Path: "a", DestRoot: "p", Dest: "b"},
		{Op: rootbound.OpDelete, Root: "p", Path: "a"},
		{Op: rootbound.OpDelete, Root: "p", Path: "d", Recursive: true},
		{Op: rootbound.OpDelete, Root: "p", Path: "d"},
		{Op: rootbound.OpDelete, Root: "p", Path: "link"},
		{Op: rootbound.OpMove, Root: "p", Path: "d", DestRoot: "p", Dest: "b"},
		{Op: rootbound.OpMove, Root: "p", Path: "link", DestRoot: "p", Dest: "b"},
		{Op: rootbound.OpMove, Root: "p", Path: "a", DestRoot: "q", Dest: "b"},
		{Op: rootbound.OpCopy, Root: "p", Path: "a", DestRoot: "q", Dest: "b"},
		{Op: rootbound.OpCopy, Root: "p", Path: "d", DestRoot: "p", Dest: "b"},
	}
	for _, r := range requests {
		err := h.do(r, func(context.Context, *guard.Target) error { t.Errorf("%s %s: done", r.Op, r.Path); return nil })
		refused(t, string(r.Op)+" "+r.Path, err, rootbound.RightMissing)
		var e *rootbound.Error
		way := guard.ProposeInstead
		switch {
		case r.Op == rootbound.OpMkdir, r.Op == rootbound.OpCopy && r.Path == "d":
			way = guard.ProposeFiles // a patch makes no directory alone
		case r.Path == "d":
			way = guard.ProposeWithin // nor does it move or remove one
		case r.Path == "link", r.DestRoot == "q" && r.Op == rootbound.OpMove:
			way = guard.AskFor // it holds no links, and is of one project
		}
		if errors.As(err, &e); e.Detail != "writes: propose" || e.Next != way {
			t.Errorf("%s: %v", r.Op, err)
		}
		err = h.g.DoAll(h.ctx(), rootbound.OpApply, []guard.Request{r}, func(context.Context, *guard.Group) error { t.Errorf("%s: done in a group", r.Op); return nil })
		if err == nil {
			t.Errorf("%s: allowed in a group", r.Op)
		}
	}
	if _, err := h.read("p/a"); err == nil { // paths start at the project
		t.Error("p/a")
	}
	if got, err := h.read("a"); err != nil || got != "a" {
		t.Errorf("reads are not changes: %q, %v", got, err)
	}
	ctx := h.ctx()
	use, err := authority.From(ctx)
	if err != nil {
		t.Fatal(err)
	}
	use.Agreed = authority.AtTerminal
	if err := h.g.Do(ctx, requests[0], func(context.Context, *guard.Target) error { return nil }); err != nil {
		t.Error(err)
	}
	recs := h.log.Records()
	if r := recs[len(recs)-1]; r.Agreed != "terminal" {
		t.Errorf("recorded as %q", r.Agreed)
	}
	for _, r := range recs[:len(recs)-2] {
		if r.Agreed != "" {
			t.Errorf("%s %s is recorded as agreed", r.Operation, r.PathSent)
		}
	}
}

// The way to propose is shown to who may go it, and says nothing of what is there to who may not look.
func TestProposalTellsNoMore(t *testing.T) {
	next := func(rights rootbound.Rights, op rootbound.Operation, path string) string {
		h := build(t, guard.Options{}, func(dir string) {
			os.MkdirAll(filepath.Join(dir, "p/d"), 0o755)
			os.WriteFile(filepath.Join(dir, "p/a"), []byte("a"), 0o644)
			os.Symlink("a", filepath.Join(dir, "p/link"))
		}, rootbound.Project{ID: "p", Dir: "p", Rights: rights})
		err := h.do(guard.Request{Op: op, Root: "p", Path: path, Recursive: true}, func(context.Context, *guard.Target) error { t.Errorf("%s %s: done", op, path); return nil })
		refused(t, string(op)+" "+path, err, rootbound.RightMissing)
		var e *rootbound.Error
		errors.As(err, &e)
		return e.Next
	}
	if got := next(rootbound.List|rootbound.Propose, rootbound.OpWrite, "a"); got != "" {
		t.Errorf("without read, which a plan needs: %q", got)
	}
	for _, path := range []string{"a", "d", "link", "missing"} {
		if got := next(rootbound.Read|rootbound.Propose, rootbound.OpDelete, path); got != guard.ProposeInstead {
			t.Errorf("%s, without list: %q", path, got)
		}
	}
}
