//go:build unix

package wire

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

func grouped(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// Sweep ends processes that left their group, by a text in the environment they inherited.
func Sweep(mark string) {
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range list {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte(mark)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && pid != os.Getpid() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
