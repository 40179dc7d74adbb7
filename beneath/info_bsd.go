//go:build unix && !linux && !darwin

package beneath

import (
	"io/fs"
	"os"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

// infoOf leaves out the times whose names differ between these systems; the modification time stands for the change time.
func infoOf(fi fs.FileInfo) Info {
	i := Info{Mode: fi.Mode(), Size: fi.Size(), MTime: fi.ModTime(), CTime: fi.ModTime(), Links: 1}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		i.ID = ObjectID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}
		i.Links, i.UID, i.GID = uint64(st.Nlink), st.Uid, st.Gid
	}
	return i
}

func idOfHandle(*os.File) (ObjectID, uint64) { return ObjectID{}, 1 }
