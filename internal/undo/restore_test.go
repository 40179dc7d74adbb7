package undo

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/patch"
)

func TestRestore(t *testing.T) {
	t.Run("one file system", func(t *testing.T) { restores(t, func(t *testing.T) *house { return build(t, Options{}) }) })
	t.Run("two file systems", func(t *testing.T) {
		restores(t, func(t *testing.T) *house { return buildAt(t, t.TempDir(), elsewhere(t), Options{}) })
	})
}

func restores(t *testing.T, build func(*testing.T) *house) {
	on := true
	prepare := func(t *testing.T, h *house) {
		put(t, h.dir+"/a", "a")
		put(t, h.dir+"/b", "b")
		put(t, h.dir+"/d/e/f", "f")
		put(t, h.dir+"/d/run", "x")
		if err := os.Chmod(h.dir+"/d/run", 0o500); err != nil {
			t.Fatal(err)
		}
	}
	for name, do := range map[string]func(t *testing.T, h *house) string{
		"write": func(t *testing.T, h *house) string { return h.write(t, "a", "A") },
		"delete a file": func(t *testing.T, h *house) string {
			id, err := h.delete("d/run")
			if err != nil {
				t.Fatal(err)
			}
			return id
		},
		"delete a tree": func(t *testing.T, h *house) string {
			id, err := h.delete("d")
			if err != nil {
				t.Fatal(err)
			}
			return id
		},
		"move over a file": func(t *testing.T, h *house) (id string) {
			r := guard.Request{Op: rootbound.OpMove, Root: "p", DestRoot: "p", Path: "a", Dest: "b", Overwrite: true}
			err := h.g.Do(h.ctx, r, func(ctx context.Context, on *guard.Target) error {
				_, err := fileop.Move(ctx, on, true)
				id = on.Undo()
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, h.dir+"/b"); got != "a" {
				t.Errorf("b holds %q", got)
			}
			return id
		},
		"copy over a file": func(t *testing.T, h *house) (id string) {
			r := guard.Request{Op: rootbound.OpCopy, Root: "p", DestRoot: "p", Path: "a", Dest: "b", Overwrite: true}
			err := h.g.Do(h.ctx, r, func(ctx context.Context, on *guard.Target) error {
				_, err := fileop.Copy(ctx, on, fileop.Expected{})
				id = on.Undo()
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return id
		},
		"patch": func(t *testing.T, h *house) string {
			done, err := h.apply(patch.File{Path: "a", After: []byte("A"), Exec: &on}, patch.File{Path: "d/run", Delete: true}, patch.File{Path: "c", After: []byte("c")})
			if err != nil {
				t.Fatal(err)
			}
			return done.Undo
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t)
			prepare(t, h)
			before := listing(t, h.dir)
			id := do(t, h)
			if id == "" || listing(t, h.dir) == before {
				t.Fatalf("%q", id)
			}
			all, err := h.s.List()
			if err != nil || len(all) != 1 || all[0].ID != id || all[0].Files[0].Project != "p" {
				t.Errorf("%+v %v", all, err)
			}
			done, _, err := h.s.Restore(h.ctx, h.g, h.projects, id)
			if err != nil || done.ID != id {
				t.Fatalf("%+v %v", done, err)
			}
			if got := listing(t, h.dir); got != before {
				t.Errorf("from\n%s\nto\n%s", before, got)
			}
			if _, _, err := h.s.Restore(h.ctx, h.g, h.projects, id); rootbound.ReasonOf(err) != rootbound.NotFound {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

func TestRestoreLeavesWhatWasChangedSince(t *testing.T) {
	h := build(t, Options{})
	put(t, h.dir+"/a", "a")
	put(t, h.dir+"/b", "b")
	written := h.write(t, "a", "A")
	deleted, err := h.delete("b")
	if err != nil {
		t.Fatal(err)
	}
	put(t, h.dir+"/a", "theirs")
	put(t, h.dir+"/b", "theirs")
	patched, err := h.apply(patch.File{Path: "c", After: []byte("c")}, patch.File{Path: "d", After: []byte("d")})
	if err != nil {
		t.Fatal(err)
	}
	put(t, h.dir+"/d", "theirs")
	before := listing(t, h.dir)
	for id, want := range map[string]rootbound.Reason{written: rootbound.VersionConflict, deleted: rootbound.Exists, patched.Undo: rootbound.VersionConflict} {
		if _, _, err := h.s.Restore(h.ctx, h.g, h.projects, id); rootbound.ReasonOf(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if got := listing(t, h.dir); got != before {
		t.Errorf("it changed something:\n%s", got)
	}
	if all, err := h.s.List(); err != nil || len(all) != 3 {
		t.Errorf("%+v %v", all, err)
	}
}

// TestRestoreObeysTheGuard: the authority in force decides, not what was possible when the change was made.
func TestRestoreObeysTheGuard(t *testing.T) {
	h := build(t, Options{})
	put(t, h.dir+"/a", "a")
	id := h.write(t, "a", "A")
	h.projects[0].Rights = rootbound.ReadOnly
	ctx, done, err := h.enter()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if _, _, err := h.s.Restore(ctx, h.g, h.projects, id); rootbound.ReasonOf(err) != rootbound.RightMissing {
		t.Errorf("%v", err)
	}
	if got := read(t, h.dir+"/a"); got != "A" {
		t.Errorf("%q", got)
	}
}

func TestAForgedRecordIsNotRestored(t *testing.T) {
	h := build(t, Options{})
	put(t, h.dir+"/a", "a")
	id := h.write(t, "a", "A")
	path := h.s.path("done", names(t, h.state+"/undo/done")[0])
	if err := os.WriteFile(path, []byte(strings.Replace(read(t, path), `"write"`, `"WRITE"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.s.Restore(h.ctx, h.g, h.projects, id); rootbound.ReasonOf(err) != rootbound.IOError {
		t.Errorf("%v", err)
	}
}

// TestRestoreUnderAnotherId: the project is called otherwise now, and lies in another one.
func TestRestoreUnderAnotherId(t *testing.T) {
	h := build(t, Options{})
	put(t, h.dir+"/d/a", "a")
	id := h.write(t, "d/a", "A")
	h.projects = []rootbound.Project{
		{ID: "outer", Dir: strings.TrimSuffix(h.dir, "/p"), Rights: rootbound.ReadOnly},
		{ID: "inner", Dir: h.dir + "/d", Rights: rootbound.ReadWrite},
	}
	ctx, done, err := h.enter()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if c, _, err := h.s.Restore(ctx, h.g, h.projects, id); err != nil || c.Files[0].Project != "inner" || c.Files[0].Path != "a" {
		t.Errorf("%+v %v", c, err)
	}
	if got := read(t, h.dir+"/d/a"); got != "a" {
		t.Errorf("%q", got)
	}
}

// A tree comes back by the rules that are in force then, entry by entry.
func TestATreeIsRestoredByTheRulesOfNow(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rootbound.Project)
		denied bool
	}{
		"as it was":      {func(*rootbound.Project) {}, false},
		"credentials":    {func(p *rootbound.Project) { p.LiftCredentials = false }, true},
		"execution":      {func(p *rootbound.Project) { p.LiftExecution = false }, true},
		"a deny pattern": {func(p *rootbound.Project) { p.Deny = []string{"**/b.md"} }, true},
		"extensions":     {func(p *rootbound.Project) { p.AllowExtensions = []string{".env", ".json", ".md"} }, false},
		"no extension":   {func(p *rootbound.Project) { p.AllowExtensions = []string{".env", ".json"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t, Options{})
			enter := func() {
				ctx, done, err := h.enter()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(done)
				h.ctx = ctx
			}
			h.projects[0].LiftCredentials, h.projects[0].LiftExecution = true, true
			enter()
			put(t, h.dir+"/t/.vscode/tasks.json", "{}")
			put(t, h.dir+"/t/s/.env", "SECRET")
			put(t, h.dir+"/t/s/b.md", "b")
			id, err := h.delete("t")
			if err != nil {
				t.Fatal(err)
			}
			c.change(&h.projects[0])
			enter()
			_, _, err = h.s.Restore(h.ctx, h.g, h.projects, id)
			if _, serr := os.Lstat(h.dir + "/t"); c.denied != (rootbound.ReasonOf(err) == rootbound.RuleDenied) || c.denied != (serr != nil) {
				t.Errorf("%v, %v", err, serr)
			}
			if all, err := h.s.List(); c.denied && (err != nil || len(all) != 1) {
				t.Errorf("it is no longer kept: %v %v", all, err)
			}
		})
	}
}
