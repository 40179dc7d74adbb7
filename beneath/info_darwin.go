package beneath

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

func infoOf(fi fs.FileInfo) Info {
	i := Info{Mode: fi.Mode(), Size: fi.Size(), MTime: fi.ModTime(), Links: 1}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		i.ID = ObjectID{Dev: uint64(st.Dev), Ino: st.Ino}
		i.Links, i.UID, i.GID = uint64(st.Nlink), st.Uid, st.Gid
		i.CTime, i.ATime = time.Unix(st.Ctimespec.Unix()), time.Unix(st.Atimespec.Unix())
		i.BTime = time.Unix(st.Birthtimespec.Unix())
	}
	return i
}

func idOfHandle(*os.File) (ObjectID, uint64) { return ObjectID{}, 1 }
