//go:build unix

package state

import (
	"io/fs"
	"syscall"
)

const checksModes = true

func ownerOf(st fs.FileInfo) (int, bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}

// identity gives device and inode.
func identity(st fs.FileInfo) (dev, ino uint64, ok bool) {
	s, isStat := st.Sys().(*syscall.Stat_t)
	if !isStat {
		return 0, 0, false
	}
	return uint64(s.Dev), uint64(s.Ino), true
}
