package undo

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/state"
	"github.com/rootbound/rootbound/patch"
)

// house is a project, a state directory on the same file system, and a guard that keeps.
type house struct {
	dir, state string
	projects   []rootbound.Project
	s          *Store
	g          *guard.Guard
	locks      *state.Locks
	ctx        context.Context
}

func build(t testing.TB, o Options) *house {
	t.Helper()
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return buildAt(t, tmp, filepath.Join(tmp, "state"), o)
}

func buildAt(t testing.TB, tmp, stateDir string, o Options) *house {
	t.Helper()
	h, err := furnish(tmp, stateDir, o)
	if err != nil {
		t.Fatal(err)
	}
	use, done, err := h.enter()
	if err != nil {
		t.Fatal(err)
	}
	h.ctx = use
	t.Cleanup(func() { done(); h.s.Close(); h.locks.Close() })
	return h
}

// elsewhere is a state directory on another file system than the projects of tests.
func elsewhere(t testing.TB) string {
	t.Helper()
	const shm = "/dev/shm"
	if _, err := os.Stat(shm); err != nil {
		t.Skip("environment: there is no " + shm)
	}
	dir, err := os.MkdirTemp(shm, "rootbound-test-*")
	if err != nil {
		t.Skipf("environment: %s cannot be written: %v", shm, err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	here := filepath.Join(t.TempDir(), "f")
	put(t, here, "")
	if os.Rename(here, filepath.Join(dir, "f")) == nil {
		t.Skipf("environment: %s is on the file system of %s", shm, os.TempDir())
	}
	return dir
}

// furnish makes or opens a project below tmp and the state directory.
func furnish(tmp, stateDir string, o Options) (*house, error) {
	h := &house{dir: filepath.Join(tmp, "p"), state: stateDir}
	if err := os.MkdirAll(h.dir, 0o755); err != nil {
		return nil, err
	}
	d, err := state.Open(stateEnv(h.state))
	if err != nil {
		return nil, err
	}
	if h.locks, err = d.Locks(); err != nil {
		return nil, err
	}
	if h.s, err = Open(d, o); err != nil {
		return nil, err
	}
	h.projects = []rootbound.Project{{ID: "p", Dir: h.dir, Rights: rootbound.Full}}
	h.g = guard.New(guard.Options{Keep: h.s, Locks: h.locks})
	return h, nil
}

// add grants a second project, on another file system perhaps; "": none.
func (h *house) add(dir string) {
	if dir == "" {
		return
	}
	h.projects[0].MovesAcross, h.projects[0].CopyAcross = true, true
	h.projects = append(h.projects, rootbound.Project{ID: "q", Dir: dir, Rights: rootbound.Full, MovesAcross: true, CopyAcross: true})
}

func stateEnv(dir string) func(string) string {
	return func(name string) string {
		if name == "ROOTBOUND_STATE_DIR" {
			return dir
		}
		return ""
	}
}

// enter gives a request's context.
func (h *house) enter() (context.Context, func(), error) {
	c, err := authority.Open(h.projects, authority.CeilingOptions{})
	if err != nil {
		return nil, nil, err
	}
	a := authority.New(c, authority.Options{})
	use, err := a.Acquire(context.Background(), true)
	if err != nil {
		return nil, nil, err
	}
	ctx, end := authority.With(context.Background(), use)
	return ctx, func() { end(); use.Release(); a.Close(); c.Close() }, nil
}

func (h *house) write(t testing.TB, path, content string) (undo string) {
	t.Helper()
	err := h.g.Do(h.ctx, guard.Request{Op: rootbound.OpWrite, Root: "p", Path: path}, func(ctx context.Context, on *guard.Target) error {
		_, err := fileop.Write(ctx, on, []byte(content), fileop.Expected{})
		undo = on.Undo()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return undo
}

func (h *house) delete(path string) (undo string, err error) {
	err = h.g.Do(h.ctx, guard.Request{Op: rootbound.OpDelete, Root: "p", Path: path, Recursive: true}, func(ctx context.Context, on *guard.Target) error {
		_, err := fileop.Delete(ctx, on, fileop.Expected{})
		undo = on.Undo()
		return err
	})
	return undo, err
}

func (h *house) apply(files ...patch.File) (patch.Applied, error) {
	return patch.Apply(h.ctx, h.g, "p", files, nil)
}

// listing is every name below dir with its bits and its content.
func listing(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		b.WriteString(i.Mode().String() + " " + rel)
		if i.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(" " + strconv.Quote(string(content)))
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

func names(t testing.TB, dir string) (out []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		out = append(out, e.Name())
	}
	return out
}

func TestWhatIsReplacedIsKept(t *testing.T) {
	h := build(t, Options{})
	if id := h.write(t, "f", "one"); id != "" {
		t.Errorf("a new file has undo %s", id)
	}
	st, _ := os.Stat(h.dir + "/f")
	if id := h.write(t, "f", "two"); id == "" {
		t.Error("no undo id")
	}
	kept := names(t, h.state+"/undo/data")
	if len(kept) != 1 || len(names(t, h.state+"/undo/begun")) != 0 || len(names(t, h.state+"/undo/done")) != 1 {
		t.Fatalf("%v", kept)
	}
	was, _ := os.Stat(h.state + "/undo/data/" + kept[0])
	if !os.SameFile(st, was) {
		t.Error("on one file system the very file is kept, not a copy")
	}
	if len(names(t, h.dir)) != 1 {
		t.Errorf("%v", names(t, h.dir))
	}
}

func TestAFileWithMoreNamesIsCopied(t *testing.T) {
	h := build(t, Options{})
	put(t, h.dir+"/f", "one")
	if err := os.Link(h.dir+"/f", h.dir+"/g"); err != nil {
		t.Fatal(err)
	}
	h.write(t, "f", "two")
	put(t, h.dir+"/g", "changed by the other name")
	b, err := os.ReadFile(h.state + "/undo/data/" + names(t, h.state+"/undo/data")[0])
	if err != nil || string(b) != "one" {
		t.Errorf("%q %v", b, err)
	}
}

func TestPatchesAndTreesAreKept(t *testing.T) {
	h := build(t, Options{})
	put(t, h.dir+"/a", "a")
	put(t, h.dir+"/b", "b")
	put(t, h.dir+"/d/e/f", "f")
	done, err := h.apply(patch.File{Path: "a", After: []byte("A")}, patch.File{Path: "b", Delete: true}, patch.File{Path: "c", After: []byte("C")})
	if err != nil || done.Undo == "" || len(done.Warnings) > 0 {
		t.Fatalf("%+v %v", done, err)
	}
	if id, err := h.delete("d"); err != nil || id == "" {
		t.Fatalf("%q %v", id, err)
	}
	if n := names(t, h.state+"/undo/data"); len(n) != 3 {
		t.Errorf("%v", n)
	}
	if n := names(t, h.dir); len(n) != 2 {
		t.Errorf("%v", n)
	}
}

func TestTheStoreIsBounded(t *testing.T) {
	h := build(t, Options{MaxSize: 100, Entries: 3})
	for range 5 {
		h.write(t, "f", strings.Repeat("x", 40))
	}
	if n := len(names(t, h.state+"/undo/data")); n != 2 {
		t.Errorf("%d kept, of 40 bytes each in 100", n)
	}
	for range 5 {
		h.write(t, "g", "")
	}
	if n := len(names(t, h.state+"/undo/done")); n != 3 {
		t.Errorf("%d changes kept, want 3", n)
	}
	put(t, h.dir+"/big", strings.Repeat("x", 101))
	if _, err := h.delete("big"); rootbound.ReasonOf(err) != rootbound.LimitReached {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(h.dir + "/big"); err != nil {
		t.Error("it is gone all the same")
	}
}

func TestOldChangesAreForgotten(t *testing.T) {
	now := time.Now()
	h := build(t, Options{Keep: time.Hour, Now: func() time.Time { return now }})
	h.write(t, "f", "one")
	old := h.write(t, "f", "two")
	now = now.Add(2 * time.Hour)
	young := h.write(t, "f", "three")
	all, err := h.s.List()
	if err != nil || len(all) != 1 || all[0].ID != young {
		t.Errorf("%+v %v, want only %s and not %s", all, err, young, old)
	}
	if n := names(t, h.state+"/undo/data"); len(n) != 1 {
		t.Errorf("%v", n)
	}
}

// TestChangesOfOneMillisecondKeepTheirOrder: what is listed first, and forgotten last, is what was changed last, however fast
// one change follows the other, and whichever process makes it.
func TestChangesOfOneMillisecondKeepTheirOrder(t *testing.T) {
	now := time.Now().Truncate(time.Millisecond)
	o := Options{Now: func() time.Time { now = now.Add(time.Microsecond); return now }}
	a := build(t, o)
	b, err := furnish(filepath.Dir(a.dir), a.state, o)
	must(t, err)
	defer func() { b.s.Close(); b.locks.Close() }()
	b.ctx = a.ctx
	var made []string
	for i := range 20 {
		h := []*house{a, b}[i%2]
		if id := h.write(t, "f", strconv.Itoa(i)); id != "" {
			made = append([]string{id}, made...)
		}
	}
	all, err := a.s.List()
	must(t, err)
	var listed []string
	for _, c := range all {
		listed = append(listed, c.ID)
	}
	if timeOf(made[0]) != timeOf(made[len(made)-1]) || !slices.Equal(listed, made) {
		t.Errorf("listed %v, made %v", listed, made)
	}
}

// TestTheStoreIsShared: a second process's changes are seen, and its newest outlive the first one's oldest.
func TestTheStoreIsShared(t *testing.T) {
	a := build(t, Options{Entries: 4})
	b, err := furnish(filepath.Dir(a.dir), a.state, Options{Entries: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { b.s.Close(); b.locks.Close() }()
	b.ctx = a.ctx
	a.write(t, "f", "0")
	b.write(t, "g", "0")
	for i := range 3 {
		a.write(t, "f", strconv.Itoa(i))
		b.write(t, "g", strconv.Itoa(i))
	}
	a.s.own = 1 << 20 // long after
	last := a.write(t, "f", "last")
	all, err := b.s.List()
	if err != nil || len(all) != 4 || all[0].ID != last {
		t.Errorf("%+v %v", all, err)
	}
}
