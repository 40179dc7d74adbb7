//go:build unix

package guard_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/guard"
)

func TestG12CreateAuthorizesTheParent(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadWrite))
	h.file("p/d/f", "in")
	h.file("out/x", "OUT")
	h.link("p/out", "../out")
	h.link("p/dangling", "../out/new")
	h.link("p/dangling-in", "d/none")
	h.link("p/dir", "d")
	refused(t, "below an outward link", h.write("", "out/new", "X"), rootbound.OutsideRoot)
	refused(t, "through a dangling link", h.write("", "dangling", "X"), rootbound.OutsideRoot)
	refused(t, "through a dangling link that stays inside", h.write("", "dangling-in", "X"), rootbound.PathUnresolvable)
	refused(t, "no parent", h.write("", "none/deep/new", "X"), rootbound.ParentMissing)
	refused(t, "below a file", h.write("", "d/f/new", "X"), rootbound.NotADirectory)
	refused(t, "the root itself", h.write("", ".", "X"), rootbound.PathInvalid)
	refused(t, "a climb out of the missing", h.write("", "none/../../out/new", "X"), rootbound.OutsideRoot)
	h.gone("out/new")
	h.gone("p/d/none")
	h.gone("p/none")
	if err := h.write("", "dir/new", "Y"); err != nil {
		t.Error(err)
	}
	h.has("p/d/new", "Y")
	h.has("out/x", "OUT")
}

func TestG13MoveAuthorizesBothEnds(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadWrite))
	h.file("p/f", "in")
	h.file("p/d/g", "g")
	h.file("out/x", "OUT")
	h.link("p/out", "../out")
	h.link("p/outfile", "../out/x")
	h.link("p/d/rel", "g")
	for _, c := range []struct {
		from, to string
		want     rootbound.Reason
	}{
		{"f", h.dir + "/out/moved", rootbound.OutsideRoot}, {"f", "../out/moved", rootbound.OutsideRoot}, {"f", "out/moved", rootbound.OutsideRoot},
		{h.dir + "/out/x", "took", rootbound.OutsideRoot}, {"out/x", "took", rootbound.OutsideRoot}, {"outfile", "took", rootbound.OutsideRoot},
		{"d", "d/s", rootbound.PathInvalid}, {".", "x", rootbound.PathInvalid}, {"f", ".", rootbound.PathInvalid}, {"none", "x", rootbound.NotFound},
		{"f", "none/x", rootbound.ParentMissing}, {"f", "d/g", rootbound.Exists}, {"f", "outfile", rootbound.Exists},
		{"d/rel", "rel", rootbound.OutsideRoot}, // from there it would dangle
	} {
		refused(t, c.from+" → "+c.to, h.move(guard.Request{Path: c.from, Dest: c.to}), c.want)
	}
	h.has("p/f", "in")
	h.has("out/x", "OUT")
	h.gone("out/moved")
	h.gone("p/took")
	if err := h.move(guard.Request{Path: "d/rel", Dest: "d/other"}); err != nil {
		t.Errorf("a link that stays inside: %v", err)
	}
	if to, err := os.Readlink(filepath.Join(h.dir, "p/d/other")); err != nil || to != "g" {
		t.Errorf("the link became %q, %v", to, err)
	}
	if err := h.move(guard.Request{Path: "f", Dest: "d/g", Overwrite: true}); err != nil {
		t.Errorf("overwriting when asked: %v", err)
	}
	h.has("p/d/g", "in")
}

func TestG14CrossRootMoveNeedsPolicy(t *testing.T) {
	across := func(b bool, r rootbound.Rights) []rootbound.Project {
		return []rootbound.Project{{ID: "a", Dir: "a", Rights: r, MovesAcross: b}, {ID: "b", Dir: "b", Rights: rootbound.ReadWrite, MovesAcross: b}}
	}
	for _, c := range []struct {
		name   string
		across bool
		rights rootbound.Rights
		want   rootbound.Reason
	}{
		{"within", false, rootbound.Full, rootbound.CrossRootMove},
		{"across without delete", true, rootbound.ReadWrite, rootbound.RightMissing},
		{"across", true, rootbound.Full, ""},
	} {
		h := build(t, guard.Options{}, nil, across(c.across, c.rights)...)
		h.file("a/f", "A")
		refused(t, c.name, h.move(guard.Request{Root: "a", Path: "f", DestRoot: "b", Dest: "f"}), c.want)
		if c.want == "" {
			h.has("b/f", "A")
		} else {
			h.has("a/f", "A")
			h.gone("b/f")
		}
	}
}

func TestG16AcknowledgedEditsAreApplied(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadWrite))
	const n = 20
	var b strings.Builder
	for i := range n {
		b.WriteString("line " + string(rune('a'+i)) + " old\n")
	}
	h.file("p/f", b.String())
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			name := "line " + string(rune('a'+i))
			errs[i] = h.do(guard.Request{Op: rootbound.OpEdit, Path: "f"}, func(ctx context.Context, t *guard.Target) error {
				_, err := fileop.EditFile(ctx, t, []text.Edit{{Old: name + " old", New: name + " new"}}, fileop.EditOptions{})
				return err
			})
		})
	}
	wg.Wait()
	got, err := os.ReadFile(filepath.Join(h.dir, "p/f"))
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		applied := strings.Contains(string(got), "line "+string(rune('a'+i))+" new")
		if (err == nil) != applied {
			t.Errorf("edit %d: acknowledged %v, applied %v (%v)", i, err == nil, applied, err)
		}
		if err != nil { // in turn, so none meets another one's half-done work
			t.Errorf("edit %d was not served: %v", i, err)
		}
	}
}

func TestG19EveryMutationHasADecision(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.Full))
	h.file("p/f", "old")
	calls := map[rootbound.Operation]func() error{
		rootbound.OpCreate: func() error { return h.write("", "new", "x") },
		rootbound.OpWrite:  func() error { return h.write("", "f", "x") },
		rootbound.OpMove:   func() error { return h.move(guard.Request{Path: "f", Dest: "g"}) },
		rootbound.OpMkdir: func() error {
			return h.do(guard.Request{Op: rootbound.OpMkdir, Path: "x/y"}, func(_ context.Context, t *guard.Target) error { _, err := t.Mkdir(); return err })
		},
	}
	for op, call := range calls {
		before := len(h.log.Records())
		if err := call(); err != nil {
			t.Fatal(op, err)
		}
		got := h.log.Records()[before:]
		if len(got) != 2 || got[0].Phase != "decided" || got[1].Phase != "completed" || got[0].ID != got[1].ID || got[0].Decision != "allow" || !got[1].Outcome.OK {
			t.Errorf("%s: records %+v", op, got)
		}
		if a := got[0].Authority; a.RootsDigest == "" || a.PolicyDigest == "" || a.ProjectDigest == "" {
			t.Errorf("%s: a digest is missing: %+v", op, a)
		}
	}
	// A mutation whose decision cannot be written does not happen.
	h = build(t, guard.Options{Sink: fullDisk{}}, nil, one(rootbound.Full))
	h.file("p/f", "old")
	refused(t, "write", h.write("", "f", "x"), rootbound.AuditUnavailable)
	refused(t, "create", h.write("", "new", "x"), rootbound.AuditUnavailable)
	refused(t, "move", h.move(guard.Request{Path: "f", Dest: "g"}), rootbound.AuditUnavailable)
	refused(t, "mkdir", h.do(guard.Request{Op: rootbound.OpMkdir, Path: "x"}, func(_ context.Context, t *guard.Target) error { _, err := t.Mkdir(); return err }), rootbound.AuditUnavailable)
	h.has("p/f", "old")
	for _, p := range []string{"p/new", "p/g", "p/x"} {
		h.gone(p)
	}
	if got, err := h.read("f"); err != nil || got != "old" {
		t.Errorf("a read needs no record to be safe: %q, %v", got, err)
	}
}

type fullDisk struct{ decision.Discard }

func (fullDisk) Decided(*decision.Record, bool) error { return syscall.ENOSPC }

func TestG22UnknownAndForbiddenProjectsLookAlike(t *testing.T) {
	h := build(t, guard.Options{}, nil, rootbound.Project{ID: "a", Dir: "a", Rights: rootbound.ReadWrite}, rootbound.Project{ID: "b", Dir: "b", Rights: rootbound.ReadWrite})
	h.file("a/f", "A")
	h.file("b/f", "B")
	h.auth.Revoke("b")
	text := func(root string, contained bool) string {
		err := h.do(guard.Request{Op: rootbound.OpRead, Root: root, Path: "f", Contained: contained}, nil)
		refused(t, root, err, rootbound.ProjectUnknown)
		var e *rootbound.Error
		errors.As(err, &e)
		return strings.ReplaceAll(e.Error(), e.Decision, "")
	}
	for _, contained := range []bool{false, true} {
		if taken, unknown := text("b", contained), text("nobody", contained); taken != unknown {
			t.Errorf("a project that was taken back answers %q, an unknown one %q", taken, unknown)
		}
	}
}

func TestG28InnermostProjectRules(t *testing.T) {
	h := build(t, guard.Options{}, nil,
		rootbound.Project{ID: "outer", Dir: "o", Rights: rootbound.ReadWrite, Deny: []string{"**/hidden"}},
		rootbound.Project{ID: "inner", Dir: "o/d/inner", Rights: rootbound.ReadOnly, Deny: []string{"x.secret"}})
	h.file("o/d/inner/x", "keep")
	h.file("o/d/inner/x.secret", "S")
	h.file("o/d/inner/hidden", "seen") // the outer project's rule does not reach in
	h.file("o/hidden", "H")
	h.link("o/way", "d/inner")
	for _, path := range []string{"d/inner/x", h.dir + "/o/d/inner/x", "way/x", "d/../d/inner/x"} {
		refused(t, "write "+path, h.write("outer", path, "X"), map[bool]rootbound.Reason{true: rootbound.RightMissing, false: rootbound.OutsideRoot}[!strings.HasPrefix(path, "/")])
	}
	refused(t, "write by its absolute path", h.write("", h.dir+"/o/d/inner/x", "X"), rootbound.RightMissing)
	refused(t, "create", h.write("outer", "d/inner/new", "X"), rootbound.RightMissing)
	h.has("o/d/inner/x", "keep")
	h.gone("o/d/inner/new")
	refused(t, "move the parent of a project", h.move(guard.Request{Root: "outer", Path: "d", DestRoot: "outer", Dest: "e"}), rootbound.ProjectInside)
	refused(t, "move the project", h.move(guard.Request{Root: "outer", Path: "d/inner", DestRoot: "outer", Dest: "e"}), rootbound.ProjectInside)
	read := func(root, path string) (string, error) {
		var text []byte
		err := h.do(guard.Request{Op: rootbound.OpRead, Root: root, Path: path}, func(_ context.Context, t *guard.Target) (err error) {
			text, err = io.ReadAll(t)
			return err
		})
		return string(text), err
	}
	if got, err := read("outer", "d/inner/hidden"); err != nil || got != "seen" {
		t.Errorf("the outer rule reaches in: %q, %v", got, err)
	}
	_, err := read("outer", "d/inner/x.secret")
	refused(t, "the inner rule holds through the outer project", err, rootbound.RuleDenied)
	_, err = read("outer", "hidden")
	refused(t, "the outer rule", err, rootbound.RuleDenied)
	var names []string
	err = h.do(guard.Request{Op: rootbound.OpTree, Root: "outer", Path: "."}, func(ctx context.Context, t *guard.Target) error {
		return t.Walk(ctx, func(n *beneath.Node) (beneath.Step, error) {
			names = append(names, n.At().Path)
			return beneath.Into, nil
		}, nil)
	})
	if got := strings.Join(names, " "); err != nil || got != "d d/inner d/inner/hidden d/inner/x way" {
		t.Errorf("tree: %q, %v", got, err)
	}
}
