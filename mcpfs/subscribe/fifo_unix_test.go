//go:build unix

package subscribe

import "syscall"

func fifo(at string) error { return syscall.Mkfifo(at, 0o600) }
