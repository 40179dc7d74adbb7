//go:build unix

package guard_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

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
