//go:build unix

package fileop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs cmd without privileges.
func asNobody(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

// openUp lets everybody reach dir, which the test's own temporary directory does not.
func openUp(t *testing.T, dir string) {
	t.Helper()
	for d := dir; d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTreeTellsWhatItCouldNotRead(t *testing.T) {
	if os.Getenv("ROOTBOUND_TREE_DIR") == "" && os.Geteuid() == 0 {
		dir := t.TempDir()
		put(t, dir+"/no/x", "")
		put(t, dir+"/yes/y", "")
		if err := os.Chmod(dir+"/no", 0); err != nil {
			t.Fatal(err)
		}
		openUp(t, dir)
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), "ROOTBOUND_TREE_DIR="+dir)
		asNobody(cmd)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v %s", err, out)
		}
		return
	}
	dir := os.Getenv("ROOTBOUND_TREE_DIR")
	if dir == "" {
		dir = t.TempDir()
		put(t, dir+"/no/x", "")
		put(t, dir+"/yes/y", "")
		if err := os.Chmod(dir+"/no", 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir+"/no", 0o755) })
	}
	tr, err := Grow(bg, openDir(t, dir), TreeOptions{})
	if err != nil || flat(tr) != ">no/ >yes/ >>y" || tr.Skipped.Count != 1 || strings.Join(tr.Skipped.Paths, " ") != "no" {
		t.Errorf("%q %+v %v", flat(tr), tr.Skipped, err)
	}
}
