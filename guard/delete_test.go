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

func (h *house) delete(r guard.Request) (fileop.Deleted, error) {
	h.t.Helper()
	return h.deleteWith(r, nil)
}

// deleteWith does something before the nth commit.
func (h *house) deleteWith(r guard.Request, commit func(n int)) (d fileop.Deleted, err error) {
	h.t.Helper()
	r.Op = rootbound.OpDelete
	err = h.do(r, func(ctx context.Context, t *guard.Target) (err error) {
		d, err = fileop.Delete(ctx, &slow{Target: t, commit: commit}, fileop.Expected{})
		return err
	})
	return d, err
}

// slow is a Target with something done before its commits and its looks at a tree.
type slow struct {
	*guard.Target
	commits int
	commit  func(n int)
	tree    func()
	copied  func()

	copiedAfter int64 // only once so many bytes passed at once
}

func (s *slow) Copied(n int64) error {
	if s.copied != nil && n >= s.copiedAfter {
		s.copied()
	}
	return s.Target.Copied(n)
}

func (s *slow) Commit(publish func() error) error {
	if s.commits++; s.commit != nil {
		s.commit(s.commits)
	}
	return s.Target.Commit(publish)
}

func (s *slow) Tree(ctx context.Context, at *beneath.Entry, visit func(*beneath.Node) error) error {
	if s.tree != nil {
		s.tree()
	}
	return s.Target.Tree(ctx, at, visit)
}

func (h *house) mkdirs(path string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Join(h.dir, path), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

func says(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("%v does not say %q", err, p)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h *house) names(path string) string {
	h.t.Helper()
	list, err := os.ReadDir(filepath.Join(h.dir, path))
	if err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestDelete(t *testing.T) {
	l := &register{}
	h := build(t, guard.Options{Journal: l, NoSlow: true}, nil, one(rootbound.Full))
	h.file("p/f", "in")
	h.file("p/d/e/g", "g")
	h.file("p/d/x", "x")
	h.mkdirs("p/empty")
	h.file("out/x", "OUT")
	h.link("p/link", "../out/x")
	h.link("p/dirlink", "../out")
	h.link("p/d/out", "../../out")
	h.link("p/dangling", "none")
	for _, c := range []struct {
		path      string
		recursive bool
		want      rootbound.Reason
		entries   int
	}{
		{"d", false, rootbound.IsADirectory, 0},
		{"none", true, rootbound.NotFound, 0},
		{"none/x", true, rootbound.ParentMissing, 0},
		{".", true, rootbound.PathInvalid, 0},
		{"", true, rootbound.PathInvalid, 0},
		{"d/..", true, rootbound.PathInvalid, 0},
		{"..", true, rootbound.OutsideRoot, 0},
		{"f/", false, rootbound.PathInvalid, 0},
		{"f/x", false, rootbound.NotADirectory, 0},
		{"../out/x", false, rootbound.OutsideRoot, 0},
		{"dirlink/x", false, rootbound.OutsideRoot, 0},
		{h.dir + "/out/x", false, rootbound.OutsideRoot, 0},
		{h.dir, true, rootbound.OutsideRoot, 0},
		{"f", false, "", 1},
		{"empty", false, "", 1},
		{"link", false, "", 1},
		{"dirlink", true, "", 1},
		{"dangling", false, "", 1},
		{"d", true, "", 5},
	} {
		d, err := h.delete(guard.Request{Path: c.path, Recursive: c.recursive})
		refused(t, c.path, err, c.want)
		if err == nil && (d.Entries != c.entries || d.Warnings != nil) {
			t.Errorf("%s: %+v", c.path, d)
		}
		if err == nil {
			h.gone("p/" + c.path)
		}
	}
	if got := h.names("p"); got != "" {
		t.Errorf("left over: %s", got)
	}
	h.has("out/x", "OUT")
	if l.told == 0 || l.live != 0 {
		t.Errorf("the journal: %+v", l)
	}
}

// register is a Journal that counts.
type register struct{ told, live int }

func (l *register) Staged(_, _, _ string, _ beneath.ObjectID, _ *beneath.Info) (func(), error) {
	l.told++
	l.live++
	return func() { l.live-- }, nil
}

func TestDeleteNeedsTheRight(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.ReadWrite))
	h.file("p/d/f", "in")
	for _, p := range []string{"d", "d/f"} {
		_, err := h.delete(guard.Request{Path: p, Recursive: true})
		refused(t, p, err, rootbound.RightMissing)
	}
	h.has("p/d/f", "in")
	h.file("q/f", "in")
	h = build(t, guard.Options{NoSlow: true}, nil, rootbound.Project{ID: "a", Dir: "a", Rights: rootbound.Full}, rootbound.Project{ID: "b", Dir: "b", Rights: rootbound.Full})
	h.file("a/f", "in")
	_, err := h.delete(guard.Request{Path: "f"})
	refused(t, "no root named", err, rootbound.RootRequired)
	_, err = h.delete(guard.Request{Root: "none", Path: "f"})
	refused(t, "unknown project", err, rootbound.ProjectUnknown)
	h.has("a/f", "in")
}

// A tree goes as a whole or not at all: for one entry that may not, nothing is removed.
func TestDeleteJudgesEachEntry(t *testing.T) {
	for what, make := range map[string]func(h *house){
		"a rule of the preset credentials": func(h *house) { h.file("p/d/e/.env", "S") },
		"a rule of the preset execution":   func(h *house) { h.file("p/d/e/.git/config", "S") },
		"another case":                     func(h *house) { h.file("p/d/e/.GIT/Hooks/x", "S") },
		"a .git file":                      func(h *house) { h.file("p/d/e/.git", "gitdir: x") },
		"a deny rule":                      func(h *house) { h.file("p/d/e/kept/x", "S") },
	} {
		p := one(rootbound.Full)
		p.Deny = []string{"**/kept"}
		h := build(t, guard.Options{NoSlow: true}, nil, p)
		h.file("p/d/a", "a")
		h.file("p/d/z/y", "y")
		make(h)
		before := h.everything("p")
		_, err := h.delete(guard.Request{Path: "d", Recursive: true})
		refused(t, what, err, rootbound.RuleDenied)
		if now := h.everything("p"); now != before {
			t.Errorf("%s: %s\nbefore %s", what, now, before)
		}
	}
	h := build(t, guard.Options{NoSlow: true, TreeLimit: 3}, nil, one(rootbound.Full))
	for _, f := range []string{"a", "b", "c"} {
		h.file("p/d/"+f, f)
	}
	if _, err := h.delete(guard.Request{Path: "d", Recursive: true}); err != nil {
		t.Error(err)
	}
	for _, f := range []string{"a", "b", "c", "x/y"} {
		h.file("p/d/"+f, f)
	}
	_, err := h.delete(guard.Request{Path: "d", Recursive: true})
	refused(t, "more than is judged", err, rootbound.LimitReached)
	h.has("p/d/x/y", "x/y")
	h.mkdirs("p/s")
	mkfifo(t, filepath.Join(h.dir, "p/s/fifo"))
	for _, path := range []string{"s", "s/fifo"} {
		_, err = h.delete(guard.Request{Path: path, Recursive: true})
		refused(t, path, err, rootbound.SpecialFile)
	}
}

func (h *house) everything(below string) string {
	h.t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join(h.dir, below), func(p string, d os.DirEntry, err error) error {
		out = append(out, p[len(h.dir):])
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
	return strings.Join(out, " ")
}

// Neither a project nor a root, nor what holds one, is deleted, however it is named.
func TestDeleteNeverTakesAProject(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil,
		rootbound.Project{ID: "outer", Dir: "o", Rights: rootbound.Full},
		rootbound.Project{ID: "inner", Dir: "o/d/inner", Rights: rootbound.Full})
	h.file("o/d/inner/x", "keep")
	h.file("o/d/f", "f")
	h.link("o/way", "d")
	for _, path := range []string{"d", "d/inner", "way/inner", h.dir + "/o/d/inner", h.dir + "/o/d"} {
		_, err := h.delete(guard.Request{Root: "outer", Path: path, Recursive: true})
		refused(t, path, err, map[bool]rootbound.Reason{true: rootbound.ProjectInside, false: reason(err)}[!strings.HasPrefix(path, "/")])
		if err == nil {
			t.Errorf("%s was deleted", path)
		}
	}
	_, err := h.delete(guard.Request{Root: "inner", Path: ".", Recursive: true})
	refused(t, "the project itself", err, rootbound.PathInvalid)
	h.has("o/d/inner/x", "keep")
	h.has("o/d/f", "f")
	if _, err := h.delete(guard.Request{Root: "inner", Path: "x"}); err != nil {
		t.Error(err)
	}
}

// What another program does between the judgement and the removal is not lost, and takes nothing with it.
func TestDeleteLosesNothing(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
	h.file("p/f", "old")
	_, err := h.deleteWith(guard.Request{Path: "f"}, func(int) { h.change("p/f", "new text") })
	refused(t, "a file that was written to", err, rootbound.VersionConflict)
	h.has("p/f", "new text")
	h.file("p/g", "other")
	_, err = h.deleteWith(guard.Request{Path: "f"}, func(int) {
		if err := os.Rename(filepath.Join(h.dir, "p/g"), filepath.Join(h.dir, "p/f")); err != nil {
			t.Fatal(err)
		}
	})
	refused(t, "a file that was replaced", err, rootbound.VersionConflict)
	h.has("p/f", "other")
	h.file("p/d/a", "a")
	h.file("p/d/sub/b", "b")
	_, err = h.deleteWith(guard.Request{Path: "d", Recursive: true}, func(int) { h.change("p/d/late", "late") })
	refused(t, "a tree that grew at its top", err, rootbound.VersionConflict)
	h.has("p/d/late", "late")
	_, err = h.deleteWith(guard.Request{Path: "d", Recursive: true}, func(n int) {
		if n == 1 { // deeper, and nothing that may go
			h.file("p/d/sub/.env", "S")
		}
	})
	refused(t, "a tree into which something came that may not go", err, rootbound.RuleDenied)
	if got, want := h.everything("p/d"), "/p/d /p/d/a /p/d/late /p/d/sub /p/d/sub/.env /p/d/sub/b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	h.mkdirs("p/empty")
	_, err = h.deleteWith(guard.Request{Path: "empty"}, func(int) { h.file("p/empty/x", "x") })
	if got := reason(err); got != rootbound.VersionConflict && got != rootbound.IsADirectory {
		t.Errorf("a directory that was filled: %v", err)
	}
	h.has("p/empty/x", "x")
	if got := h.names("p"); got != "d empty f" {
		t.Errorf("left over: %s", got)
	}
}

// A revocation before the rename stops it; one after it does not, and what was done is reported as done.
func TestDeleteAndRevocation(t *testing.T) {
	for n, want := range map[int]rootbound.Reason{1: rootbound.RevokedByUser, 2: ""} {
		h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
		h.file("p/d/a", "a")
		var d fileop.Deleted
		err := h.do(guard.Request{Op: rootbound.OpDelete, Path: "d", Recursive: true}, func(ctx context.Context, on *guard.Target) (err error) {
			s := &slow{Target: on}
			if n == 1 {
				s.commit = func(int) { h.auth.Revoke("p") }
			} else {
				s.tree = func() { h.auth.Revoke("p") }
			}
			d, err = fileop.Delete(ctx, s, fileop.Expected{})
			return err
		})
		refused(t, "revoked", err, want)
		if want == "" {
			h.gone("p/d")
			if got := h.names("p"); got != "" || d.Entries != 2 {
				t.Errorf("left over: %s, %+v", got, d)
			}
		} else {
			h.has("p/d/a", "a")
		}
	}
}
