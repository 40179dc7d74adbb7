package state

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func tryRange(f *os.File, s slot) error {
	at := offset(s)
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errBusy
	}
	return err
}

func freeRange(f *os.File, s slot) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, offset(s))
}

// tryWhole locks a byte far behind every content: a lock on Windows keeps others from reading what it covers.
func tryWhole(f *os.File) error { return tryRange(f, 1<<61) }

func offset(s slot) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(s), OffsetHigh: uint32(s >> 32)}
}
