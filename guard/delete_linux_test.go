package guard_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
	"golang.org/x/sys/unix"
)

// Mounts are not crossed: neither below what is deleted nor as it.
func TestDeleteCrossesNoMount(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	h := build(t, guard.Options{NoSlow: true}, func(dir string) {
		rig.Tmpfs(t, filepath.Join(dir, "p/d/m"), 1<<16)
	}, one(rootbound.Full))
	h.file("p/d/a", "a")
	h.file("p/d/m/f", "f")
	h.file("p/e/f", "f")
	h.file("p/one", "1")
	must(t, unix.Mount(filepath.Join(h.dir, "p/one"), filepath.Join(h.dir, "p/e/f"), "", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(h.dir, "p/e/f"), unix.MNT_DETACH) })
	before := h.all("p")
	for _, p := range []string{"d", "d/m", "e", "e/f"} {
		_, err := h.delete(guard.Request{Path: p, Recursive: true})
		refused(t, p, err, rootbound.CrossDevice)
		if now := h.all("p"); now != before {
			t.Fatalf("%s: %s\nbefore %s", p, now, before)
		}
	}
	_, err := h.delete(guard.Request{Path: "d/m/f"})
	must(t, err)
	h.gone("p/d/m/f")
}

// What cannot be removed to the end is put back, and told.
func TestDeleteTellsWhatIsGone(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
	h.file("p/d/a", "a")
	h.file("p/d/b/c", "c")
	h.file("p/d/z", "z")
	h.file("out", "OUT")
	err := h.do(guard.Request{Op: rootbound.OpDelete, Path: "d", Recursive: true}, func(ctx context.Context, on *guard.Target) error {
		looks := 0
		s := &slow{Target: on, tree: func() { looks++ }}
		s.copied = func() {
			if looks == 0 { // before the rename
				return
			}
			s.copied = nil // the first entry is gone: what is mounted now nobody has seen
			list, err := filepath.Glob(filepath.Join(h.dir, "p", beneath.TempPrefix+"*", "b/c"))
			must(t, err)
			must(t, unix.Mount(filepath.Join(h.dir, "out"), list[0], "", unix.MS_BIND, ""))
		}
		_, err := fileop.Delete(ctx, s, fileop.Expected{})
		return err
	})
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(h.dir, "p/d/b/c"), unix.MNT_DETACH) })
	refused(t, "a mount", err, rootbound.Exists)
	says(t, err, "1 entries are gone, the rest is where it was")
	h.holds("p", "d/ d/b/ d/b/c=OUT d/z=z")
	h.has("out", "OUT")
}
