package undo

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/patch"
)

// TestUndoThroughAnotherMount: what was moved into the store comes back where its place is reached through another mount by
// then, and no rename leads there.
func TestUndoThroughAnotherMount(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	h := build(t, Options{})
	for _, name := range []string{"/f", "/d/sub/f"} {
		put(t, h.dir+name, name)
		must(t, os.Chmod(h.dir+name, 0o640))
	}
	var ids []string
	for _, name := range []string{"f", "d"} {
		id, err := h.delete(name)
		must(t, err)
		ids = append(ids, id)
	}
	must(t, syscall.Mount(h.dir, h.dir, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { syscall.Unmount(h.dir, syscall.MNT_DETACH) })
	ctx, done, err := h.enter()
	must(t, err)
	defer done()
	for _, id := range ids {
		_, _, err := h.s.Restore(ctx, h.g, h.projects, id)
		must(t, err)
	}
	for _, name := range []string{"/f", "/d/sub/f"} {
		if b, err := os.ReadFile(h.dir + name); err != nil || string(b) != name {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if st, err := os.Stat(h.dir + name); err != nil || st.Mode() != 0o640 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	if left := names(t, h.state+"/undo/data"); len(left) != 0 {
		t.Errorf("the store still holds %v", left)
	}
}

// TestFullDisks: where the project's disk or the state directory's is full, a change is refused before anything changed.
func TestFullDisks(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	tmp := t.TempDir()
	rig.Tmpfs(t, tmp+"/p", 400<<10)
	rig.Tmpfs(t, tmp+"/state", 400<<10)
	h := buildAt(t, tmp, tmp+"/state", Options{})
	for _, name := range []string{"a", "b"} {
		must(t, os.WriteFile(h.dir+"/"+name, make([]byte, 40_000), 0o600))
	}
	write := func(path string, n int) error {
		return h.g.Do(h.ctx, guard.Request{Op: rootbound.OpWrite, Root: "p", Path: path}, func(ctx context.Context, on *guard.Target) error {
			_, err := fileop.Write(ctx, on, make([]byte, n), fileop.Expected{})
			return err
		})
	}
	apply := func(n int) error {
		_, err := h.apply(patch.File{Path: "a", After: make([]byte, 10)}, patch.File{Path: "c", After: make([]byte, 10)}, patch.File{Path: "b", After: make([]byte, n)})
		return err
	}
	remove := func() error { _, err := h.delete("a"); return err }
	refused := func(what string, err error) {
		t.Helper()
		if rootbound.ReasonOf(err) != rootbound.IOError || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", what, err)
		}
		for _, name := range []string{"a", "b"} {
			if b, err := os.ReadFile(h.dir + "/" + name); err != nil || len(b) != 40_000 {
				t.Errorf("%s: %s holds %d bytes, %v", what, name, len(b), err)
			}
		}
		if all := names(t, h.dir); len(all) != 2 {
			t.Errorf("%s: left %v", what, all)
		}
		if all := names(t, h.state+"/undo/begun"); len(all) != 0 {
			t.Errorf("%s: the journal holds %v", what, all)
		}
	}
	refused("a patch on a full disk", apply(1<<20))
	refused("a write on a full disk", write("a", 1<<20))
	must(t, fillUp(h.state+"/filler"))
	refused("a patch with a full state directory", apply(10))
	refused("a write with a full state directory", write("a", 10))
	refused("a deletion with a full state directory", remove())
	must(t, os.Remove(h.state+"/filler"))
	must(t, errors.Join(apply(10), remove()))
}

func fillUp(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for b := make([]byte, 4096); len(b) > 0; {
		if _, err := f.Write(b); errors.Is(err, syscall.ENOSPC) {
			b = b[:len(b)/2]
		} else if err != nil {
			return err
		}
	}
	return nil
}
