package truth

import (
	"fmt"
	"io/fs"
	"syscall"
)

func identity(info fs.FileInfo) (id, times string) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", info.ModTime().String()
	}
	return fmt.Sprintf("%d:%d %d %d:%d", s.Dev, s.Ino, s.Nlink, s.Uid, s.Gid), fmt.Sprint(s.Mtim, s.Ctim)
}
