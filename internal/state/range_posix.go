//go:build unix && !linux

package state

import "golang.org/x/sys/unix"

// The lock belongs to the process, and closing any descriptor of the file drops it: each file is opened once a process.
const setLock = unix.F_SETLK
