package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// OwnMounts reports whether the test is in a process with mounts of its own, which end with it; if not, it runs the test in
// one, with its result, and the caller is to return.
func OwnMounts(t *testing.T) bool {
	t.Helper()
	const inside = "RB_TEST_MOUNTS"
	if os.Getenv(inside) != "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	c := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=120s")
	c.Env = append(os.Environ(), inside+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 { // root of a user namespace may mount as well
		c.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // the death signal follows the thread that started the child
	defer runtime.UnlockOSThread()
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skip("environment: no mount namespace: ", err)
	}
	if _, why, skipped := strings.Cut(string(out), "environment: "); skipped && strings.Contains(string(out), "--- SKIP: "+t.Name()) {
		t.Skip("environment: ", why)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// Tmpfs mounts a file system of size bytes in memory at a directory, which it makes if need be. The caller has OwnMounts.
func Tmpfs(t testing.TB, at string, size int) {
	t.Helper()
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", at, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
}
