//go:build unix

package patch_test

import (
	"io/fs"
	"syscall"

	"github.com/rootbound/rootbound/beneath"
)

func identity(st fs.FileInfo) beneath.ObjectID {
	s := st.Sys().(*syscall.Stat_t)
	return beneath.ObjectID{Dev: uint64(s.Dev), Ino: s.Ino}
}
