//go:build !unix

package wire

import "os/exec"

func grouped(*exec.Cmd) {}

func killGroup(c *exec.Cmd) { c.Process.Kill() }
