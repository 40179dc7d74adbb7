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
	flags := uintptr(unix.CLONE_NEWNS)
	if os.Getuid() != 0 { // root of a user namespace may mount as well
		flags |= unix.CLONE_NEWUSER
	}
	if !own(t, "mounts", flags) {
		return false
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	return true
}

// OwnLimits is like OwnMounts for a user namespace, whose limits Limit sets.
func OwnLimits(t *testing.T) bool {
	t.Helper()
	return own(t, "limits", unix.CLONE_NEWUSER)
}

// Limit sets a limit of user_namespaces(7), as in "max_inotify_watches". The caller has OwnLimits.
func Limit(t *testing.T, name string, n int) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/user/"+name, fmt.Append(nil, n), 0o644); err != nil {
		t.Skip("environment: no limits of its own: ", err)
	}
}

// own reports whether the test is in a process made for it with those namespaces; if not, it runs the test in one.
func own(t *testing.T, what string, namespaces uintptr) bool {
	t.Helper()
	const inside = "RB_TEST_OWN"
	if os.Getenv(inside) == what {
		return true
	}
	c := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	c.Env = append(os.Environ(), inside+"="+what)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	if namespaces&unix.CLONE_NEWUSER != 0 {
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // the death signal follows the thread that started the child
	defer runtime.UnlockOSThread()
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skip("environment: no namespace: ", err)
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
