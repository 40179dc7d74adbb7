package undo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/patch"
)

// TestFullDisks: where the project's disk or the state directory's is full, a change is refused before anything changed.
func TestFullDisks(t *testing.T) { namespaced(t, "full") }

// TestUndoThroughAnotherMount: what was moved into the store comes back where its place is reached through another mount by
// then, and no rename leads there.
func TestUndoThroughAnotherMount(t *testing.T) { namespaced(t, "bound") }

// namespaced runs a part of this program in a mount namespace of its own.
func namespaced(t *testing.T, part string) {
	t.Helper()
	tmp := t.TempDir()
	cmd := childCommand("/proc/self/exe", nil, part, tmp, tmp+"/state")
	cmd.Args = cmd.Args[:1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case !errors.As(err, &exit):
		t.Skipf("environment: no mount namespace: %v", err)
	case strings.HasPrefix(string(out), "mount:"):
		t.Skipf("environment: %s", out)
	default:
		t.Errorf("%v %s", err, out)
	}
}

// bound deletes with the project on the store's mount, and takes it back with a mount between.
func bound(tmp, stateDir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	h, err := furnish(tmp, stateDir, Options{})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(h.dir+"/d/sub", 0o700); err != nil {
		return err
	}
	for _, name := range []string{"/f", "/d/sub/f"} {
		if err := os.WriteFile(h.dir+name, []byte(name), 0o640); err != nil {
			return err
		}
	}
	ctx, done, err := h.enter()
	if err != nil {
		return err
	}
	h.ctx = ctx
	var ids []string
	for _, name := range []string{"f", "d"} {
		id, err := h.delete(name)
		if err != nil {
			done()
			return err
		}
		ids = append(ids, id)
	}
	done()
	if err := syscall.Mount(h.dir, h.dir, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	if ctx, done, err = h.enter(); err != nil {
		return err
	}
	defer done()
	for _, id := range ids {
		if _, _, err := h.s.Restore(ctx, h.g, h.projects, id); err != nil {
			return err
		}
	}
	for _, name := range []string{"/f", "/d/sub/f"} {
		if b, err := os.ReadFile(h.dir + name); err != nil || string(b) != name {
			return fmt.Errorf("%s: %q, %v", name, b, err)
		}
		if st, err := os.Stat(h.dir + name); err != nil || st.Mode() != 0o640 {
			return fmt.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	if left, err := os.ReadDir(stateDir + "/undo/data"); err != nil || len(left) != 0 {
		return fmt.Errorf("the store still holds %v, %v", left, err)
	}
	return nil
}

// full runs in a mount namespace of its own.
func full(tmp, stateDir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	for _, dir := range []string{tmp + "/p", stateDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=400k,mode=700"); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
	}
	h, err := furnish(tmp, stateDir, Options{})
	if err != nil {
		return err
	}
	ctx, done, err := h.enter()
	if err != nil {
		return err
	}
	defer done()
	h.ctx = ctx
	for name, size := range map[string]int{"a": 40_000, "b": 40_000} {
		if err := os.WriteFile(h.dir+"/"+name, make([]byte, size), 0o600); err != nil {
			return err
		}
	}
	write := func(path string, n int) error {
		return h.g.Do(ctx, guard.Request{Op: rootbound.OpWrite, Root: "p", Path: path}, func(ctx context.Context, on *guard.Target) error {
			_, err := fileop.Write(ctx, on, make([]byte, n), fileop.Expected{})
			return err
		})
	}
	apply := func(n int) error {
		_, err := h.apply(patch.File{Path: "a", After: make([]byte, 10)}, patch.File{Path: "c", After: make([]byte, 10)}, patch.File{Path: "b", After: make([]byte, n)})
		return err
	}
	remove := func() error { _, err := h.delete("a"); return err }
	refused := func(what string, err error) error {
		if rootbound.ReasonOf(err) != rootbound.IOError || !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("%s: %v", what, err)
		}
		for _, name := range []string{"a", "b"} {
			if b, err := os.ReadFile(h.dir + "/" + name); err != nil || len(b) != 40_000 {
				return fmt.Errorf("%s: %s holds %d bytes, %v", what, name, len(b), err)
			}
		}
		if all, err := os.ReadDir(h.dir); err != nil || len(all) != 2 {
			return fmt.Errorf("%s: left %v, %v", what, all, err)
		}
		if all, err := os.ReadDir(stateDir + "/undo/begun"); err != nil || len(all) != 0 {
			return fmt.Errorf("%s: the journal holds %v, %v", what, all, err)
		}
		return nil
	}
	if err := errors.Join(
		refused("a patch on a full disk", apply(1<<20)),
		refused("a write on a full disk", write("a", 1<<20)),
	); err != nil {
		return err
	}
	if err := fillUp(stateDir + "/filler"); err != nil {
		return err
	}
	if err := errors.Join(
		refused("a patch with a full state directory", apply(10)),
		refused("a write with a full state directory", write("a", 10)),
		refused("a deletion with a full state directory", remove()),
	); err != nil {
		return err
	}
	if err := os.Remove(stateDir + "/filler"); err != nil {
		return err
	}
	return errors.Join(apply(10), remove())
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
