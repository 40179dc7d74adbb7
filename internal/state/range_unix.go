//go:build unix

package state

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func tryRange(f *os.File, s slot) error { return setRange(f, s, 1, unix.F_WRLCK) }

func freeRange(f *os.File, s slot) error { return setRange(f, s, 1, unix.F_UNLCK) }

// tryWhole locks the file from its first to its last possible byte.
func tryWhole(f *os.File) error { return setRange(f, 0, 0, unix.F_WRLCK) }

func setRange(f *os.File, s slot, n int64, kind int16) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		lock := unix.Flock_t{Type: kind, Start: int64(s), Len: n}
		for {
			failed = unix.FcntlFlock(fd, setLock, &lock)
			if failed != unix.EINTR {
				return
			}
		}
	})
	if err == nil {
		err = failed
	}
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return errBusy
	}
	return err
}
