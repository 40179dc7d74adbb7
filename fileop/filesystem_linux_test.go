package fileop

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/rig"
)

// filesystemEnv names the file system this test process makes for itself and runs on.
const (
	filesystemEnv = "ROOTBOUND_FILEOP_FILESYSTEM"
	lacking       = 4 // exit code: this machine cannot make it
)

func onFilesystem(m *testing.M) int {
	kind := os.Getenv(filesystemEnv)
	if kind == "" {
		return m.Run()
	}
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		var at string
		if at, err = rig.Mount(kind, os.Getenv("TMPDIR")); err == nil {
			err = os.Setenv("TMPDIR", at)
		}
	}
	switch {
	case errors.Is(err, rig.ErrLacking):
		fmt.Println(err)
		return lacking
	case err != nil:
		fmt.Println("cannot make the file system:", err)
		return 3
	}
	return m.Run()
}

// TestElsewhere runs what depends on the file system on each that this machine has.
func TestElsewhere(t *testing.T) {
	if os.Getenv(filesystemEnv) != "" {
		t.Fatal("already elsewhere")
	}
	for _, kind := range rig.Filesystems() {
		t.Run(kind, func(t *testing.T) {
			if os.Getuid() != 0 {
				t.Skip("needs root to mount")
			}
			dir, err := os.MkdirTemp("/dev/shm", "rootbound-test-") // memory where there is some: much is synced
			if err != nil {
				dir = t.TempDir()
			}
			defer os.RemoveAll(dir)
			cmd := exec.Command("/proc/self/exe", "-test.timeout=600s",
				"-test.run=^(TestWrite.*|TestExpectedVersion|TestWhatAnotherProgramWroteIsNotLost|TestBytesAreComparedToo|TestRefusedCommit.*|TestParallelEdits.*|TestEditFile|TestMove|TestList.*|TestTree|TestTreeBelow.*|TestReadParts|TestSparse.*)$")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
			cmd.Env = append(os.Environ(), filesystemEnv+"="+kind, "TMPDIR="+dir)
			out, err := cmd.CombinedOutput()
			switch {
			case cmd.ProcessState.ExitCode() == lacking:
				t.Skipf("%s", out)
			case err != nil:
				t.Errorf("%v\n%s", err, out)
			case bytes.Contains(out, []byte("no tests to run")):
				t.Error("nothing was run")
			}
		})
	}
}
