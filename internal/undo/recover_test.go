package undo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// cutShort leaves a record as a process leaves it that dies after the effect of a change: f was "before" and is "after".
// edit changes the record before it is sealed with key.
func cutShort(t *testing.T, h *house, key []byte, edit func(*record)) {
	t.Helper()
	put(t, h.dir+"/f", "after")
	kept := keptName()
	put(t, h.state+"/undo/data/"+kept, "before")
	r := &record{ID: h.s.newID(), Time: h.s.opt.Now(), Boot: h.s.boot, Operation: rootbound.OpWrite, Entries: []entry{{
		Project: "p", Path: []byte("f"), Root: []byte(h.dir), At: []byte("f"), Kept: kept,
		Old: look(t, h.state+"/undo/data", kept), New: look(t, h.dir, "f"),
	}}}
	if edit != nil {
		edit(r)
	}
	sealed, err := r.seal(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.s.path("begun", r.ID), sealed, 0o600); err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, dir, name string) *thing {
	t.Helper()
	root, err := beneath.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Release()
	e, err := beneath.NewSet([]beneath.Member{{Root: root}}, nil).Entry(beneath.Ref{Path: name}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	i, err := e.Lstat()
	if err != nil {
		t.Fatal(err)
	}
	return thingOf(&i, nil)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWhatWasCutShortIsRolledBack(t *testing.T) {
	h := build(t, Options{})
	cutShort(t, h, h.s.key, nil)
	notes := h.s.Recover(t.Context(), h.projects, h.locks)
	if got := read(t, h.dir+"/f"); got != "before" || len(notes) != 1 || !strings.Contains(notes[0], "was rolled back") {
		t.Errorf("%q, %q", got, notes)
	}
	if len(names(t, h.state+"/undo/begun"))+len(names(t, h.state+"/undo/data")) > 0 || len(names(t, h.dir)) != 1 {
		t.Error("something is left")
	}
}

// A person's agreement lets a plan change a project that grants no more than propose, and lists of rights may hold one
// right of a change without the others: what was cut short there is rolled back too.
func TestWhatWasCutShortIsRolledBackWhereOneChangeIsAllowed(t *testing.T) {
	for _, r := range []rootbound.Rights{rootbound.Propose, rootbound.Create, rootbound.Write, rootbound.Move, rootbound.Delete} {
		h := build(t, Options{})
		cutShort(t, h, h.s.key, nil)
		h.projects[0].Rights = rootbound.ReadOnly | r
		notes := h.s.Recover(t.Context(), h.projects, h.locks)
		if got := read(t, h.dir+"/f"); got != "before" || len(notes) != 1 || !strings.Contains(notes[0], "was rolled back") {
			t.Errorf("%s: %q, %q", r, got, notes)
		}
	}
}

// A move onto a file of another project is taken back in both.
func TestAMoveToAnotherProjectIsRolledBack(t *testing.T) {
	h := build(t, Options{})
	q := filepath.Dir(h.dir) + "/q"
	put(t, q+"/g", "before") // between the two steps of the move
	h.projects = append(h.projects, rootbound.Project{ID: "q", Dir: q, Rights: rootbound.Full})
	cutShort(t, h, h.s.key, func(r *record) {
		e := &r.Entries[0]
		e.Old, e.From, e.FromDir, e.FromIn, e.FromAt = look(t, q, "g"), []byte("g"), []byte(q), "q", []byte("g")
	})
	notes := h.s.Recover(t.Context(), h.projects, h.locks)
	if f, g := read(t, h.dir+"/f"), read(t, q+"/g"); f != "before" || g != "after" || len(notes) != 1 || !strings.Contains(notes[0], "was rolled back") {
		t.Errorf("%q %q, %q", f, g, notes)
	}
}

// TestG39RollbackIsNoWritePrimitive: no record in the journal, whoever wrote it, makes recovery write what is not the
// rollback of a change of this program, beneath a project of the configuration, of the very file it wrote.
func TestG39RollbackIsNoWritePrimitive(t *testing.T) {
	outside := t.TempDir()
	for name, c := range map[string]struct {
		edit  func(h *house, r *record)
		after func(t *testing.T, h *house) // before recovery
		key   string                       // in place of the store's
		says  string
	}{
		"another key": {key: strings.Repeat("k", 32), says: "not written by this program"},
		"edited": {says: "not written by this program", after: func(t *testing.T, h *house) {
			path := h.s.path("begun", names(t, h.state+"/undo/begun")[0])
			if err := os.WriteFile(path, []byte(strings.Replace(read(t, path), `"project":"p"`, `"project":"q"`, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"a root that is no project": {says: "no project of this configuration", edit: func(h *house, r *record) {
			r.Entries[0].Root = []byte(h.state + "/..")
			r.Entries[0].At = []byte("p/f")
		}},
		"a root above the project": {says: "no project of this configuration", edit: func(h *house, r *record) {
			r.Entries[0].Root = []byte(strings.TrimSuffix(h.dir, "/p"))
			r.Entries[0].At = []byte("p/f")
		}},
		"a way out": {says: "not there any more", edit: func(h *house, r *record) { r.Entries[0].At = []byte("../p/f") }},
		"a temporary name that is a path": {says: "not in the store", edit: func(h *house, r *record) {
			r.Entries[0].Kept, r.Entries[0].Temp = "", "../state/undo/data/"+r.Entries[0].Kept
		}},
		"a project that may not be written": {says: "no project of this configuration", after: func(_ *testing.T, h *house) {
			h.projects[0].Rights = rootbound.ReadOnly
		}},
		"the file was changed": {says: "another program changed it", after: func(t *testing.T, h *house) { put(t, h.dir+"/f", "theirs") }},
		"the file was replaced": {says: "another program changed it", after: func(t *testing.T, h *house) {
			put(t, h.dir+"/g", "after")
			if err := os.Rename(h.dir+"/g", h.dir+"/f"); err != nil {
				t.Fatal(err)
			}
		}},
		"changed behind its times": {says: "another program changed it", edit: func(h *house, r *record) {
			r.Entries[0].New.Digest = strings.Repeat("0", 64)
		}},
		"a link in place of its directory": {says: "a link stands", after: func(t *testing.T, h *house) {
			if err := os.Mkdir(h.dir+"/e", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(h.dir+"/d/f", h.dir+"/e/f"); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(h.dir + "/d"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("e", h.dir+"/d"); err != nil {
				t.Fatal(err)
			}
		}, edit: func(h *house, r *record) {
			put(t, h.dir+"/d/f", "after")
			r.Entries[0].At, r.Entries[0].New = []byte("d/f"), look(t, h.dir, "d/f")
		}},
		"a link that leads out": {says: "not there any more", after: func(t *testing.T, h *house) {
			if err := os.Rename(h.dir+"/d/f", outside+"/f"); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(h.dir + "/d"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, h.dir+"/d"); err != nil {
				t.Fatal(err)
			}
		}, edit: func(h *house, r *record) {
			put(t, h.dir+"/d/f", "after")
			r.Entries[0].At, r.Entries[0].New = []byte("d/f"), look(t, h.dir, "d/f")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t, Options{})
			key := h.s.key
			if c.key != "" {
				key = []byte(c.key)
			}
			cutShort(t, h, key, func(r *record) {
				if c.edit != nil {
					c.edit(h, r)
				}
			})
			if c.after != nil {
				c.after(t, h)
			}
			before, beyond := listing(t, h.dir), listing(t, outside)
			notes := strings.Join(h.s.Recover(t.Context(), h.projects, h.locks), "\n")
			if got := listing(t, h.dir); got != before {
				t.Errorf("it wrote:\n%s", got)
			}
			if got := listing(t, outside); got != beyond {
				t.Errorf("it wrote outside:\n%s", got)
			}
			if !strings.Contains(notes, c.says) {
				t.Errorf("said %q, want %q", notes, c.says)
			}
			if strings.Contains(notes, h.dir) {
				t.Errorf("it names a path of the host: %q", notes)
			}
		})
	}
}
