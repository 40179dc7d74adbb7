package beneath

import (
	"bytes"
	"io/fs"
	"strings"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// Staged is a temporary file, invisible under its final name until Publish. Order for durability: Write, Sync, Publish
// (in the lease), Entry.SyncDir. Not safe for concurrent use.
type Staged struct {
	entry     *Entry
	dir       *handle
	fd        int // for writing; -1 once closed
	name      string
	id        ObjectID
	like      *attributes
	size      int64
	published bool
	shown     Info   // as it was published
	held      *Info  // what it displaced, until Settle
	heldAt    *Entry // where that lies now; nil: under the temporary name
	exec      *bool
	perm      *fs.FileMode
}

// attributes are what a replaced file hands on to its successor.
type attributes struct {
	mode     uint32 // 0777 only: never set-id or sticky bits
	uid, gid uint32
	values   map[string][]byte // ACL and user.*, never security.*
}

const aclName = "system.posix_acl_access"

// Stage makes a temporary file in the parent directory (random fixed-length name after TempPrefix). With like it is 0600
// until Sync gives it the permission bits, the owner where allowed, the ACL and the user.* attributes of like; without,
// it has 0666 less umask from the start. journal is told its name and identity before any content is written; an error
// of it removes the file.
func (e *Entry) Stage(like *Object, journal func(name string, id ObjectID) error) (*Staged, error) {
	if err := e.hold(); err != nil {
		return nil, err
	}
	s := &Staged{entry: e, dir: e.dir, fd: -1}
	mode := uint32(0o666)
	if like != nil {
		var err error
		if s.like, err = like.attributes(e); err != nil {
			e.dir.drop()
			return nil, err
		}
		mode = 0o600
	}
	for range 16 {
		s.name = tempName()
		fd, err := openAt(e.dir.fd, s.name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, mode)
		if err == unix.EEXIST {
			continue
		}
		if err != nil {
			e.dir.drop()
			return nil, fail(err)
		}
		s.fd = fd
		break
	}
	if s.fd < 0 {
		e.dir.drop()
		return nil, refuse(rootbound.IOError, "no_temporary_name", nil)
	}
	info, err := statFd(s.fd)
	s.id = info.ID
	if err == nil && journal != nil {
		err = journal(s.name, s.id)
	}
	if err != nil {
		s.Close()
		return nil, fail(err)
	}
	return s, nil
}

// attributes reads what is kept of o. An O_PATH handle cannot read them, so the entry e, which holds o, is opened and
// compared; nil: o is open for reading.
func (o *Object) attributes(e *Entry) (*attributes, error) {
	if err := o.hold(); err != nil {
		return nil, err
	}
	defer o.h.drop()
	info, err := statFd(o.h.fd)
	if err != nil {
		return nil, fail(err)
	}
	a := &attributes{mode: uint32(info.Mode & fs.ModePerm), uid: info.UID, gid: info.GID, values: map[string][]byte{}}
	fd := o.h.fd
	names, err := listAttributes(fd)
	if err == unix.EBADF && e != nil {
		if fd, err = openAt(e.dir.fd, e.name, asRead, 0); err != nil {
			return nil, fail(err)
		}
		defer unix.Close(fd)
		if now, err := statFd(fd); err != nil || !now.ID.Same(info.ID) {
			return nil, refuse(rootbound.VersionConflict, "", err)
		}
		names, err = listAttributes(fd)
	}
	if err == unix.ENOTSUP {
		return a, nil
	}
	if err != nil {
		return nil, fail(err)
	}
	for _, name := range names {
		if name != aclName && name != defaultACL && !strings.HasPrefix(name, "user.") {
			continue
		}
		if v, err := readAttribute(fd, name); err == nil {
			a.values[name] = v
		} else if err != unix.ENODATA && err != unix.ENOTSUP {
			return nil, fail(err)
		}
	}
	return a, nil
}

func listAttributes(fd int) ([]string, error) {
	b := make([]byte, 64<<10) // the kernel's own limit
	n, err := unix.Flistxattr(fd, b)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range bytes.SplitSeq(b[:n], []byte{0}) {
		if len(name) > 0 {
			names = append(names, string(name))
		}
	}
	return names, nil
}

func readAttribute(fd int, name string) ([]byte, error) {
	for {
		n, err := unix.Fgetxattr(fd, name, nil)
		if err != nil {
			return nil, err
		}
		v := make([]byte, n)
		if n, err = unix.Fgetxattr(fd, name, v); err == unix.ERANGE {
			continue
		} else if err != nil {
			return nil, err
		}
		return v[:n], nil
	}
}

// Name is the temporary name in the parent directory.
func (s *Staged) Name() string { return s.name }

// ID is the identity of the file, before and after it is published.
func (s *Staged) ID() ObjectID { return s.id }

// Write appends p.
func (s *Staged) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := unix.Write(s.fd, p[done:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, fail(err)
		}
		done += n
		s.size += int64(n)
	}
	return done, nil
}

// Size is how many bytes were written so far.
func (s *Staged) Size() int64 { return s.size }

// Sync hands on the attributes of the replaced file and makes the content durable.
func (s *Staged) Sync() error {
	if err := s.settle(); err != nil {
		return fail(err)
	}
	return fail(fsync(s.fd))
}

// settle gives the file what like had.
func (s *Staged) settle() error {
	if a := s.like; a != nil {
		s.like = nil
		if err := a.give(s.fd); err != nil {
			return err
		}
	}
	if s.perm != nil {
		return unix.Fchmod(s.fd, uint32(*s.perm))
	}
	if s.exec == nil {
		return nil
	}
	now, err := statFd(s.fd)
	if err != nil {
		return err
	}
	mode := uint32(now.Mode & 0o777)
	if *s.exec {
		mode |= mode & 0o444 >> 2 // whoever may read
	} else {
		mode &^= 0o111
	}
	s.exec = nil
	return unix.Fchmod(s.fd, mode)
}

// give hands the attributes on. The group's bits go only to that group: if it cannot be kept, others' bits are all that
// a new group gets, and the ACL, which speaks of the old one, is left out.
func (a *attributes) give(fd int) error {
	mode := a.mode
	groupKept := true
	if err := unix.Fchown(fd, int(a.uid), int(a.gid)); err != nil {
		if err := unix.Fchown(fd, -1, int(a.gid)); err != nil {
			groupKept = false
		}
	}
	if !groupKept {
		if now, err := statFd(fd); err == nil && now.GID == a.gid {
			groupKept = true
		} else {
			mode = asOthers(mode)
		}
	}
	for name, v := range a.values {
		if (name == aclName || name == defaultACL) && !groupKept {
			continue
		}
		err := unix.Fsetxattr(fd, name, v, 0)
		if err != nil && err != unix.ENOTSUP && err != unix.EPERM {
			return err
		}
		if err != nil && name == aclName { // with an ACL the group's bits are its mask, which may be more than the group had
			mode = asOthers(mode)
		}
	}
	return unix.Fchmod(fd, mode)
}

// asOthers leaves the group those bits that others have too.
func asOthers(mode uint32) uint32 { return mode&^0o070 | mode&(mode&0o007)<<3 }

// Publish makes the file visible under the entry's name. old == nil: nothing may exist there (exists). Else what is
// there must be *old in identity, size, mtime and ctime: it is exchanged, verified once more, and swapped back if
// another program changed or replaced it meanwhile (version_conflict), so nothing of it is lost. moved_out: the parent
// left the root, undone. The result describes the published file.
func (s *Staged) Publish(old *Info) (Info, error) {
	now, err := s.Hold(old)
	if s.held != nil {
		// It stood under the name in place of what was expected: what another program puts there now comes after it.
		_ = s.Settle(nil)
	}
	return now, err
}

func (s *Staged) create() error {
	e := s.entry
	if err := renameNoReplace(s.dir.fd, s.name, s.dir.fd, e.name, s.id); err != nil {
		return err
	}
	if err := e.set.inside(e.at.Root, s.dir.fd); err != nil {
		s.removeIf(e.name)
		return err
	}
	return nil
}

func (s *Staged) replace(old Info) error {
	e, dir := s.entry, s.dir.fd
	now, err := statAt(dir, e.name)
	if err == unix.ENOENT {
		return refuse(rootbound.VersionConflict, "gone", nil)
	}
	if err != nil {
		return fail(err)
	}
	if !now.unchanged(old) || !now.CTime.Equal(old.CTime) {
		return refuse(rootbound.VersionConflict, "", nil)
	}
	if now.Mode.IsDir() {
		return refuse(rootbound.IsADirectory, "", nil)
	}
	switch err := s.exchange(); err {
	case nil:
	case unix.ENOENT:
		return refuse(rootbound.VersionConflict, "gone", nil)
	case unix.EINVAL, unix.ENOSYS:
		// A plain rename would lose what another program writes between the look and the rename.
		return refuse(rootbound.IOError, "the file system cannot exchange two files", err)
	default:
		return fail(err)
	}
	// The temporary name now holds what was there. Only the version that was expected may be dropped.
	was, err := statAt(dir, s.name)
	if err != nil || !was.unchanged(old) {
		return s.swapBack(was)
	}
	if err := e.set.inside(e.at.Root, dir); err != nil {
		s.swapBack(was)
		return err
	}
	s.held = &was
	return nil
}

func (s *Staged) exchange() error {
	return unix.Renameat2(s.dir.fd, s.name, s.dir.fd, s.entry.name, unix.RENAME_EXCHANGE)
}

// swapBack puts was under the final name again. If a third program put something there meanwhile, that is the newest
// and is put back in its turn, until what comes out is our own file or what we put there the time before.
func (s *Staged) swapBack(was Info) error {
	var before Info
	for range maxAgain {
		if err := s.exchange(); err != nil {
			break
		}
		got, err := statAt(s.dir.fd, s.name)
		if err != nil || got.ID.Same(s.id) {
			break // Close removes ours
		}
		if got.ID.Same(before.ID) {
			_ = unlink(s.dir.fd, s.name, got) // the newest replaced it anyway
			break
		}
		before, was = was, got
	}
	return refuse(rootbound.VersionConflict, "", nil)
}

// removeIf unlinks name if it is our file.
func (s *Staged) removeIf(name string) {
	if now, err := statAt(s.dir.fd, name); err == nil && now.ID.Same(s.id) {
		_ = unix.Unlinkat(s.dir.fd, name, 0)
	}
}

// Close discards the file if it was not published (by identity) and closes. Allowed when the generation is stale. A
// second Close does nothing.
func (s *Staged) Close() error {
	if s.fd < 0 {
		return nil
	}
	if !s.published {
		s.removeIf(s.name)
	}
	err := unix.Close(s.fd)
	s.fd = -1
	s.dir.drop()
	return fail(err)
}
