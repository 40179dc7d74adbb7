package beneath

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// handle owns one descriptor. The descriptor is closed when the last reference is dropped and not before, so that its
// number cannot come to name another object while somebody works with it.
type handle struct {
	refs atomic.Int64
	fd   int
}

func newHandle(fd int) *handle {
	h := &handle{fd: fd}
	h.refs.Store(1)
	return h
}

// hold takes a reference; false when the last one is gone, which is final.
func (h *handle) hold() bool {
	for {
		n := h.refs.Load()
		if n <= 0 {
			return false
		}
		if h.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// drop gives a reference back. One drop too many does nothing: it can make a handle unusable, never another object.
func (h *handle) drop() {
	for {
		n := h.refs.Load()
		if n <= 0 {
			return
		}
		if h.refs.CompareAndSwap(n, n-1) {
			if n == 1 {
				unix.Close(h.fd)
			}
			return
		}
	}
}

// openAt never blocks on a FIFO or a terminal and never follows a link in name.
func openAt(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

const (
	asPath = unix.O_PATH
	asRead = unix.O_RDONLY | unix.O_NONBLOCK
	asDir  = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_DIRECTORY // only for ".", see node.open
)

const statMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME | unix.STATX_MNT_ID | unix.STATX_MNT_ID_UNIQUE

// statFd describes the object behind fd, statAt an entry of the directory dir without following a link.
func statFd(fd int) (Info, error)               { return stat(fd, "", unix.AT_EMPTY_PATH) }
func statAt(dir int, name string) (Info, error) { return stat(dir, name, unix.AT_SYMLINK_NOFOLLOW) }

func stat(fd int, name string, flags int) (Info, error) {
	var st unix.Statx_t
	switch err := statx(fd, name, flags, &st); err {
	case nil:
		return infoOf(&st), nil
	case unix.ENOSYS:
		return statOld(fd, name, flags)
	default:
		return Info{}, err
	}
}

func statx(fd int, name string, flags int, st *unix.Statx_t) error {
	for {
		if err := unix.Statx(fd, name, flags|unix.AT_NO_AUTOMOUNT, statMask, st); err != unix.EINTR {
			return err
		}
	}
}

// statOld serves kernels and filters without statx(2). The mount comes from name_to_handle_at(2) where that works.
func statOld(fd int, name string, flags int) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, flags); err != nil {
		return Info{}, err
	}
	i := Info{
		ID:    ObjectID{Dev: uint64(st.Dev), Ino: st.Ino},
		Mode:  modeOf(st.Mode),
		Size:  st.Size,
		MTime: time.Unix(st.Mtim.Unix()),
		CTime: time.Unix(st.Ctim.Unix()),
		ATime: time.Unix(st.Atim.Unix()),
		Links: uint64(st.Nlink),
		UID:   st.Uid,
		GID:   st.Gid,
	}
	if _, mount, err := unix.NameToHandleAt(fd, name, flags&unix.AT_EMPTY_PATH); err == nil {
		i.ID.Mount = uint64(mount)
	}
	return i, nil
}

func infoOf(st *unix.Statx_t) Info {
	i := Info{
		ID:    idOf(st),
		Mode:  modeOf(uint32(st.Mode)),
		Size:  int64(st.Size),
		MTime: time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)),
		CTime: time.Unix(st.Ctime.Sec, int64(st.Ctime.Nsec)),
		ATime: time.Unix(st.Atime.Sec, int64(st.Atime.Nsec)),
		Links: uint64(st.Nlink),
		UID:   st.Uid,
		GID:   st.Gid,
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		i.BTime = time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	}
	return i
}

func idOf(st *unix.Statx_t) ObjectID {
	id := ObjectID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}
	if st.Mask&(unix.STATX_MNT_ID|unix.STATX_MNT_ID_UNIQUE) != 0 {
		id.Mount = st.Mnt_id
	}
	return id
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFREG:
	default:
		mode |= fs.ModeIrregular
	}
	if m&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

func isLink(i Info) bool { return i.Mode&fs.ModeSymlink != 0 }

// readLink reads a link of the directory fd or, with an empty name, the link behind an O_PATH descriptor.
func readLink(fd int, name string) (string, error) {
	for size := 256; ; size *= 2 {
		b := make([]byte, size)
		n, err := unix.Readlinkat(fd, name, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", err
		}
		if n == 0 {
			return "", unix.ENOENT // as the kernel takes it
		}
		if n < size {
			return string(b[:n]), nil
		}
	}
}

// climb tells visit the identity of the directory fd and of each directory above it, until visit returns true or the
// top is reached. It reports whether visit did. Not stepwise it costs about one system call a level but may miss a
// directory if one of them is moved meanwhile; stepwise it holds each on the way up and misses none.
func climb(fd int, stepwise bool, visit func(ObjectID) bool) (bool, error) {
	const dots = "../../../../../../../../../../../../../../../.."
	here, err := statFd(fd)
	if err != nil {
		return false, err
	}
	if visit(here.ID) {
		return true, nil
	}
	held := -1
	defer func() {
		if held >= 0 {
			unix.Close(held)
		}
	}()
	reach := 0
	for range 2 * maxDepth {
		last := here.ID
		if !stepwise {
			for reach = 1; reach <= 16; reach++ {
				if here, err = stat(fd, dots[:3*reach-1], 0); err != nil {
					return false, err
				}
				if here.ID == last {
					return false, nil // ".." of the top is the top
				}
				if visit(here.ID) {
					return true, nil
				}
				last = here.ID
			}
		}
		up, err := unix.Openat(fd, dots[:max(2, 3*(reach-1)-1)], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return false, err
		}
		if held >= 0 {
			unix.Close(held)
		}
		fd, held = up, up
		if here, err = statFd(fd); err != nil {
			return false, err
		}
		if stepwise && here.ID == last {
			return false, nil
		}
		if visit(here.ID) {
			return true, nil
		}
	}
	return false, nil
}

// fail names what the system said. The text of an errno holds no path.
func fail(err error) error {
	if err == nil {
		return nil
	}
	var no unix.Errno
	if !errors.As(err, &no) {
		var e *rootbound.Error
		if errors.As(err, &e) {
			return err
		}
		return refuse(rootbound.IOError, "", err)
	}
	reason, detail := rootbound.IOError, no.Error()
	switch no {
	case unix.ENOENT, unix.ESTALE:
		reason, detail = rootbound.NotFound, ""
	case unix.ENOTDIR:
		reason, detail = rootbound.NotADirectory, ""
	case unix.EISDIR:
		reason, detail = rootbound.IsADirectory, ""
	case unix.ELOOP:
		reason, detail = rootbound.PathUnresolvable, ""
	case unix.ENAMETOOLONG:
		reason, detail = rootbound.PathInvalid, "name_too_long"
	case unix.EILSEQ:
		reason, detail = rootbound.PathInvalid, "name_not_possible"
	case unix.EEXIST:
		reason, detail = rootbound.Exists, ""
	case unix.ENOTEMPTY:
		reason, detail = rootbound.Exists, "not_empty"
	case unix.EXDEV:
		reason, detail = rootbound.CrossDevice, ""
	case unix.ENXIO, unix.ENODEV:
		reason, detail = rootbound.SpecialFile, ""
	}
	e := &rootbound.Error{Reason: reason, Detail: detail, Err: no}
	switch no {
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN, unix.ENOSPC, unix.EDQUOT, unix.EBUSY, unix.ETXTBSY:
		e.Retryable = true
	}
	return e
}
