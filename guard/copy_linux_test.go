package guard_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
	"golang.org/x/sys/unix"
)

// A copy reaches another file system and comes from one, and goes through a mount point where mounts are allowed; a full
// disk leaves nothing.
func TestCopyAndMounts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("environment: needs root to mount proc")
	}
	if !rig.OwnMounts(t) {
		return
	}
	for _, deny := range []bool{false, true} {
		p := one(rootbound.ReadWrite)
		p.DenyMounts = deny
		h := build(t, guard.Options{NoSlow: true, Journal: &ledger{}}, func(dir string) {
			rig.Tmpfs(t, filepath.Join(dir, "p/d/m"), 1<<17)
		}, p)
		h.file("p/d/a", "a")
		h.file("p/d/m/f", "f")
		h.file("p/big", string(make([]byte, 1<<18)))
		want := rootbound.Reason("")
		if deny {
			want = rootbound.RuleDenied
		}
		for _, c := range [][2]string{{"d/a", "d/m/a"}, {"d/m/f", "f"}, {"d", "c"}} {
			_, err := h.copy(guard.Request{Path: c[0], Dest: c[1]})
			refused(t, c[0]+" → "+c[1], err, want)
		}
		if deny {
			h.gone("p/c")
			continue
		}
		h.has("p/d/m/a", "a")
		h.has("p/f", "f")
		h.has("p/c/m/f", "f")
		_, err := h.copy(guard.Request{Path: "big", Dest: "d/m/big"})
		refused(t, "a full disk", err, rootbound.IOError)
		if got := h.names("p/d/m"); got != "a f" {
			t.Errorf("left over: %s", got)
		}
	}
	// kernel file systems are nobody's source
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.ReadWrite))
	h.mkdirs("p/d/proc")
	must(t, unix.Mount("proc", filepath.Join(h.dir, "p/d/proc"), "proc", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(h.dir, "p/d/proc"), unix.MNT_DETACH) })
	for _, c := range []string{"d", "d/proc", "d/proc/version"} {
		_, err := h.copy(guard.Request{Path: c, Dest: "c"})
		refused(t, c, err, rootbound.SpecialFile)
	}
	if _, err := os.Lstat(filepath.Join(h.dir, "p/c")); err == nil {
		t.Error("something was made")
	}
}
