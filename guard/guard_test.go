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
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/guard"
)

// house is one guard over projects below a directory of its own, and what it recorded.
type house struct {
	t    *testing.T
	dir  string
	log  *decision.Memory
	g    *guard.Guard
	auth *authority.Authority
}

// build opens projects ("id" or "id:rights") below a fresh directory; prepare fills it first.
func build(t *testing.T, o guard.Options, prepare func(dir string), projects ...rootbound.Project) *house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range projects {
		projects[i].Dir = filepath.Join(dir, projects[i].Dir)
		if err := os.MkdirAll(projects[i].Dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if prepare != nil {
		prepare(dir)
	}
	c, err := authority.Open(projects, authority.CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	a := authority.New(c, authority.Options{})
	t.Cleanup(a.Close)
	log := decision.NewMemory(0)
	if o.Sink == nil {
		o.Sink = log
	}
	return &house{t, dir, log, guard.New(o), a}
}

// id is what stands at p.
func (h *house) id(p string) beneath.ObjectID {
	h.t.Helper()
	root, err := beneath.OpenRoot(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	defer root.Release()
	o, err := beneath.NewSet([]beneath.Member{{Root: root}}, nil).Open(beneath.Ref{Path: p}, beneath.Handle)
	if err != nil {
		h.t.Fatal(err)
	}
	defer o.Close()
	return o.Info().ID
}

func (h *house) ctx() context.Context {
	h.t.Helper()
	u, err := h.auth.Acquire(context.Background(), true)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, done := authority.With(context.Background(), u)
	h.t.Cleanup(func() { done(); u.Release() })
	return ctx
}

func (h *house) do(r guard.Request, work func(context.Context, *guard.Target) error) error {
	h.t.Helper()
	if work == nil {
		work = func(context.Context, *guard.Target) error { return nil }
	}
	return h.g.Do(h.ctx(), r, work)
}

func (h *house) read(path string) (string, error) {
	h.t.Helper()
	var text []byte
	err := h.do(guard.Read(path), func(_ context.Context, t *guard.Target) (err error) {
		text, err = io.ReadAll(t)
		return err
	})
	return string(text), err
}

func (h *house) write(root, path, text string) error {
	h.t.Helper()
	return h.do(guard.Request{Op: rootbound.OpWrite, Root: root, Path: path}, func(ctx context.Context, t *guard.Target) error {
		_, err := fileop.Write(ctx, t, []byte(text), fileop.Expected{})
		return err
	})
}

func (h *house) move(r guard.Request) error {
	h.t.Helper()
	r.Op = rootbound.OpMove
	return h.do(r, func(ctx context.Context, t *guard.Target) error {
		_, err := fileop.Move(ctx, t, r.Overwrite)
		return err
	})
}

func (h *house) file(path, text string) {
	h.t.Helper()
	at := filepath.Join(h.dir, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) link(path, to string) {
	h.t.Helper()
	at := filepath.Join(h.dir, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) has(path, text string) {
	h.t.Helper()
	if got, err := os.ReadFile(filepath.Join(h.dir, path)); err != nil || string(got) != text {
		h.t.Errorf("%s holds %q, %v; want %q", path, got, err, text)
	}
}

func (h *house) gone(path string) {
	h.t.Helper()
	if _, err := os.Lstat(filepath.Join(h.dir, path)); !errors.Is(err, os.ErrNotExist) {
		h.t.Errorf("%s exists", path)
	}
}

func reason(err error) rootbound.Reason {
	var e *rootbound.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	if err != nil {
		return rootbound.Reason("not ours: " + err.Error())
	}
	return ""
}

func refused(t *testing.T, what string, err error, want rootbound.Reason) {
	t.Helper()
	if got := reason(err); got != want {
		t.Errorf("%s: %q (%v), want %q", what, got, err, want)
	}
}

func one(rights rootbound.Rights) rootbound.Project {
	return rootbound.Project{ID: "p", Dir: "p", Rights: rights}
}

func TestSpellings(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadWrite))
	h.file("p/d/f", "in")
	h.file("p/~$x", "lock")
	h.file("p/a%2Fb", "percent")
	h.file("p/a\nb", "newline")
	h.file("p/bad\xff", "bytes")
	h.file("p/cafe\u0301", "nfd")
	h.file("out/secret", "OUT")
	h.link("p/out", "../out")
	h.link("p/loop", "loop")
	h.link("p/abs", filepath.Join(h.dir, "p/d/f"))
	for path, want := range map[string]string{
		"d/f": "in", "d//.///f": "in", "d/../d/f": "in", "./d/f": "in", filepath.Join(h.dir, "p/d/f"): "in",
		h.dir + "/p//d/./f": "in", "~$x": "lock", "a%2Fb": "percent", `a\x0ab`: "newline", `bad\xff`: "bytes", "caf\u00e9": "nfd", "abs": "in",
	} {
		if got, err := h.read(path); err != nil || got != want {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	for path, want := range map[string]rootbound.Reason{
		"../out/secret": rootbound.OutsideRoot, "d/../../out/secret": rootbound.OutsideRoot, "../p/d/f": rootbound.OutsideRoot,
		h.dir + "/out/secret": rootbound.OutsideRoot, h.dir + "/p/../out/secret": rootbound.OutsideRoot, "/etc/passwd": rootbound.OutsideRoot,
		h.dir + "/pp": rootbound.OutsideRoot, "out/secret": rootbound.OutsideRoot, "out/none": rootbound.OutsideRoot, "loop": rootbound.PathUnresolvable,
		"": rootbound.IsADirectory, ".": rootbound.IsADirectory, "d": rootbound.IsADirectory, "d/f/": rootbound.PathInvalid, "d/f/x": rootbound.NotADirectory,
		"none": rootbound.NotFound, "none/../d/f": rootbound.NotFound, "~": rootbound.PathInvalid, "~/x": rootbound.PathInvalid, "~root/x": rootbound.PathInvalid,
		"%2e%2e/out/secret": rootbound.PathEncodedTraversal, "..%2fout%2fsecret": rootbound.PathEncodedTraversal, "d/f%00": rootbound.PathEncodedTraversal,
		"d/f\x00": rootbound.PathInvalid, strings.Repeat("n", 256): rootbound.PathInvalid, strings.Repeat("./", 1<<19): rootbound.PathInvalid,
		`C:\x`: rootbound.PathInvalid, "file:///etc/passwd": rootbound.PathInvalid, "FILE:x": rootbound.PathInvalid, "bad\ufffd": rootbound.NotFound,
	} {
		_, err := h.read(path)
		refused(t, path, err, want)
		if err != nil && strings.Contains(err.Error(), h.dir) && !strings.Contains(path, h.dir) {
			t.Errorf("%q: the text shows the host: %v", path, err)
		}
	}
	refused(t, "a write does not take the escaped form", h.write("", `bad\xfe`, "x"), "") // it is a name of its own
	h.has(`p/bad\xfe`, "x")
}

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

// A link may be seen; what it reaches is described only where it may be seen itself.
func TestListsDescribeNoHiddenTarget(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadWrite))
	h.file("p/.env", "a secret of 23 bytes....")
	h.file("p/.ssh/x", "x")
	h.file("p/open", "1234")
	h.link("p/l1", ".env")
	h.link("p/l2", ".ssh")
	h.link("p/l3", "open")
	got := map[string]bool{}
	err := h.do(guard.Request{Op: rootbound.OpList, Path: "."}, func(ctx context.Context, t *guard.Target) error {
		return t.List(ctx, "", func(n *beneath.Node) (beneath.Step, error) {
			_, got[n.Name()] = n.Target()
			return beneath.Over, nil
		})
	})
	if err != nil || got["l1"] || got["l2"] || !got["l3"] {
		t.Errorf("described: %v, %v", got, err)
	}
}

func TestRelativePathsOfSeveralProjects(t *testing.T) {
	h := build(t, guard.Options{}, nil, rootbound.Project{ID: "a", Dir: "a", Rights: rootbound.ReadWrite}, rootbound.Project{ID: "b", Dir: "b", Rights: rootbound.ReadWrite})
	h.file("a/both", "A")
	h.file("b/both", "B")
	h.file("b/only", "B")
	if got, err := h.read("only"); err != nil || got != "B" {
		t.Errorf("the one that has it: %q, %v", got, err)
	}
	_, err := h.read("both")
	refused(t, "both", err, rootbound.PathAmbiguous)
	_, err = h.read("none")
	refused(t, "none", err, rootbound.NotFound)
	refused(t, "a change without root", h.write("", "only", "X"), rootbound.RootRequired)
	refused(t, "from a to b by ..", h.write("a", "../b/only", "X"), rootbound.OutsideRoot)
	if err := h.write("b", "only", "X"); err != nil {
		t.Error(err)
	}
	h.has("b/only", "X")
}

func TestRightsAreAsked(t *testing.T) {
	for _, c := range []struct {
		rights rootbound.Rights
		call   func(h *house) error
		want   rootbound.Reason
	}{
		{rootbound.ReadOnly, func(h *house) error { return h.write("", "f", "x") }, rootbound.RightMissing},
		{rootbound.ReadOnly, func(h *house) error { return h.write("", "new", "x") }, rootbound.RightMissing},
		{rootbound.ReadOnly | rootbound.Write, func(h *house) error { return h.write("", "new", "x") }, rootbound.RightMissing},
		{rootbound.ReadOnly | rootbound.Create, func(h *house) error { return h.write("", "f", "x") }, rootbound.RightMissing},
		{rootbound.ReadOnly | rootbound.Create, func(h *house) error { return h.move(guard.Request{Path: "f", Dest: "g"}) }, rootbound.RightMissing},
		{rootbound.List, func(h *house) error { _, err := h.read("f"); return err }, rootbound.RightMissing},
		{rootbound.ReadWrite &^ rootbound.Write, func(h *house) error { return h.move(guard.Request{Path: "f", Dest: "e", Overwrite: true}) }, rootbound.RightMissing},
	} {
		h := build(t, guard.Options{}, nil, one(c.rights))
		h.file("p/f", "old")
		h.file("p/e", "old")
		refused(t, c.rights.String(), c.call(h), c.want)
		h.has("p/f", "old")
		h.has("p/e", "old")
	}
}

func TestLimitsOfAProject(t *testing.T) {
	p := one(rootbound.ReadWrite)
	p.MaxRead, p.MaxWrite, p.DenyHardlinks = 4, 4, true
	h := build(t, guard.Options{}, nil, p)
	h.file("p/big", "12345")
	h.file("p/small", "1234")
	_, err := h.read("big")
	refused(t, "max_read", err, rootbound.TooLarge)
	refused(t, "max_read of an edit, whose refusals show lines", h.do(guard.Request{Op: rootbound.OpEdit, Path: "big"}, nil), rootbound.TooLarge)
	refused(t, "max_write", h.write("", "small", "12345"), rootbound.TooLarge)
	h.has("p/small", "1234")
	if err := os.Link(filepath.Join(h.dir, "p/small"), filepath.Join(h.dir, "p/twin")); err != nil {
		t.Fatal(err)
	}
	_, err = h.read("twin")
	refused(t, "hardlinks: deny", err, rootbound.RuleDenied)
	err = h.do(guard.Request{Op: rootbound.OpEdit, Path: "twin"}, nil) // its diff and its refusals show what is in it
	refused(t, "edit with hardlinks: deny", err, rootbound.RuleDenied)
}

func TestStaleReadsAndWritesAreRefused(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadWrite))
	h.file("p/f", "old")
	err := h.do(guard.Read("f"), func(_ context.Context, t *guard.Target) error {
		b := make([]byte, 1)
		if _, err := t.Read(b); err != nil {
			return err
		}
		h.auth.Invalidate(rootbound.GenerationStale)
		return nil
	})
	refused(t, "a read that was overtaken", err, rootbound.GenerationStale)
	err = h.do(guard.Request{Op: rootbound.OpWrite, Path: "f"}, func(_ context.Context, t *guard.Target) error {
		h.auth.Invalidate(rootbound.GenerationStale)
		_, err := fileop.Write(context.Background(), t, []byte("X"), fileop.Expected{})
		return err
	})
	refused(t, "a write that was overtaken", err, rootbound.GenerationStale)
	h.has("p/f", "old")
}

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

func TestDecideHasNoEffect(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadWrite))
	h.file("p/f", "f")
	d, err := h.g.Decide(h.ctx(), guard.Request{Op: rootbound.OpWrite, Path: "new"})
	if err != nil || d.Project != "p" || d.Path != "new" {
		t.Errorf("%+v, %v", d, err)
	}
	h.gone("p/new")
	if d, err = h.g.Decide(h.ctx(), guard.Read("/etc/passwd")); d.Reason != rootbound.OutsideRoot || err == nil {
		t.Errorf("%+v, %v", d, err)
	}
	if n := h.log.Total(); n != 0 {
		t.Errorf("%d records", n)
	}
}

func TestMoveNeverReplacesASpecialFile(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
	h.file("p/f", "in")
	mkfifo(t, filepath.Join(h.dir, "p/pipe"))
	refused(t, "overwrite", h.move(guard.Request{Path: "f", Dest: "pipe", Overwrite: true}), rootbound.SpecialFile)
	if st, err := os.Lstat(filepath.Join(h.dir, "p/pipe")); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", st, err)
	}
	h.has("p/f", "in")
}

// A configuration is found through the directories above it: a link among them is neither moved nor replaced, and a
// directory that holds one of the same name cannot be put where it will be looked for. A log's files that will be set aside
// are ours before they exist.
func TestWaysToOwnFilesStay(t *testing.T) {
	var own []guard.Own
	h := build(t, guard.Options{NoSlow: true, Own: func() []guard.Own { return own }}, nil, one(rootbound.Full))
	for _, p := range []string{"p/conf/rootbound.yaml", "p/later/rootbound.yaml"} {
		own = append(own, guard.Own{Path: filepath.Join(h.dir, p)})
	}
	own = append(own, guard.Own{Path: filepath.Join(h.dir, "p/audit.jsonl"), Beside: true})
	h.file("p/settings/rootbound.yaml", "ours")
	h.file("p/evil/rootbound.yaml", "theirs")
	h.file("p/f", "f")
	h.file("p/audit.json", "not ours")
	h.link("p/conf", "settings")
	h.link("p/other", "evil")
	refused(t, "move the link", h.move(guard.Request{Path: "conf", Dest: "x"}), rootbound.RuleDenied)
	refused(t, "replace the link", h.move(guard.Request{Path: "other", Dest: "conf", Overwrite: true}), rootbound.RuleDenied)
	refused(t, "put a directory there", h.move(guard.Request{Path: "evil", Dest: "later"}), rootbound.RuleDenied)
	refused(t, "put a link there", h.move(guard.Request{Path: "other", Dest: "later"}), rootbound.RuleDenied)
	refused(t, "forge a log", h.write("", "audit.jsonl.20260101", "X"), rootbound.RuleDenied)
	refused(t, "move over a log", h.move(guard.Request{Path: "f", Dest: "audit.jsonl.1"}), rootbound.RuleDenied)
	if err := h.write("", "audit.json", "mine"); err != nil {
		t.Error(err)
	}
}
