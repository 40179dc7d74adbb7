//go:build unix

package main

import (
	"os"
	"syscall"
)

// stdin is standard input. Where it is a pipe, reads wait in the poller instead of holding a thread: every call would
// otherwise pay for handing the processor on to another one. Only a pipe: its reading end is this process's alone, while
// a terminal is shared with whoever else uses it.
func stdin() *os.File {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode().Type() != os.ModeNamedPipe || syscall.SetNonblock(0, true) != nil {
		return os.Stdin
	}
	return os.NewFile(0, os.Stdin.Name())
}
