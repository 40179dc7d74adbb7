package beneath

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

const nonblock = 0

// infoOf has no identity: Windows tells it for an open handle only.
func infoOf(fi fs.FileInfo) Info {
	i := Info{Mode: fi.Mode(), Size: fi.Size(), MTime: fi.ModTime(), CTime: fi.ModTime(), Links: 1}
	if d, ok := fi.Sys().(*syscall.Win32FileAttributeData); ok {
		i.ATime, i.BTime = time.Unix(0, d.LastAccessTime.Nanoseconds()), time.Unix(0, d.CreationTime.Nanoseconds())
	}
	return i
}

func idOfHandle(f *os.File) (id ObjectID, links uint64) {
	links = 1
	c, err := f.SyscallConn()
	if err != nil {
		return id, links
	}
	_ = c.Control(func(h uintptr) {
		var d windows.ByHandleFileInformation
		if windows.GetFileInformationByHandle(windows.Handle(h), &d) == nil {
			id = ObjectID{Dev: uint64(d.VolumeSerialNumber), Ino: uint64(d.FileIndexHigh)<<32 | uint64(d.FileIndexLow)}
			links = uint64(d.NumberOfLinks)
		}
	})
	return id, links
}
