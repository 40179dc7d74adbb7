//go:build unix

package config

import (
	"io/fs"
	"syscall"
)

// inode numbers a directory on its file system; 0: not known. Device numbers may differ after a restart of the machine.
func inode(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}
