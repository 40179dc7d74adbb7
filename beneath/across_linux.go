package beneath

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// What a copy to another file system needs beside Stage and Rename: names inside a held directory, a directory that is
// not visible under its final name yet, reading back, and handing on what is not content.

const defaultACL = "system.posix_acl_default" // directories only

// Entry is the place of name, one plain component, in the directory o.
func (o *Object) Entry(name string) (*Entry, error) {
	if !plainName(name) {
		return nil, refuse(rootbound.PathInvalid, "", nil)
	}
	if !o.IsDir() {
		return nil, refuse(rootbound.NotADirectory, "", nil)
	}
	if err := o.hold(); err != nil {
		return nil, err
	}
	return &Entry{dir: &o.h, set: o.set, at: Ref{o.at.Root, join(o.at.Path, name)}, name: name, dirInfo: o.info, mark: o.mark, passed: o.passed}, nil
}

// Beside is the entry of a fresh temporary name in the same directory. Nothing is made.
func (e *Entry) Beside() (*Entry, error) {
	if err := e.hold(); err != nil {
		return nil, err
	}
	name := tempName()
	return &Entry{dir: e.dir, set: e.set, at: beside(e.at, name), name: name, dirInfo: e.dirInfo, mark: e.mark, passed: e.passed}, nil
}

// Writable is nil if this process may make and remove names in the parent: what a rename would ask for at both ends and
// a copy finds out too late. An answer for now; io_error as access(2) says it.
func (e *Entry) Writable() error {
	if err := e.hold(); err != nil {
		return err
	}
	defer e.dir.drop()
	return fail(unix.Faccessat(e.dir.fd, ".", unix.W_OK|unix.X_OK, 0))
}

// MkdirPrivate makes a directory that only this user may enter and opens it: the beginning of a tree that is published
// by Rename. Errors as Mkdir and Open.
func (e *Entry) MkdirPrivate() (*Object, error) {
	if err := e.hold(); err != nil {
		return nil, err
	}
	defer e.dir.drop()
	if err := unix.Mkdirat(e.dir.fd, e.name, 0o700); err != nil {
		return nil, fail(err)
	}
	o, err := e.Open(Dir)
	if err != nil {
		_ = unix.Unlinkat(e.dir.fd, e.name, unix.AT_REMOVEDIR)
	}
	return o, err
}

// RemoveTemporary removes a temporary file or tree whose identity is want, wherever its directory was moved meanwhile:
// what was never published is nobody's. It refuses every name but a temporary one, follows no link and crosses no
// mount (exists, Detail "not_empty", if there is one). version_conflict: something else is there.
func (e *Entry) RemoveTemporary(want ObjectID) error { return e.RemoveTree(want, nil) }

// RemoveTree is RemoveTemporary; gone, if not nil, is told of each entry that was removed.
func (e *Entry) RemoveTree(want ObjectID, gone func()) error {
	if !strings.HasPrefix(e.name, TempPrefix) {
		return refuse(rootbound.InternalError, "", nil)
	}
	if err := e.hold(); err != nil {
		return err
	}
	defer e.dir.drop()
	r := remover{gone: gone, reader: newReader(context.Background())}
	return fail(r.entry(&emptied{fd: e.dir.fd}, e.name, want))
}

type remover struct {
	gone func()
	reader
}

// emptied is a directory whose entries are removed. Far above the one that is emptied now they are closed, and opened again by
// ".." if that is the very same: a deep tree must not take the descriptors of all others.
type emptied struct {
	fd int // -1: closed
	id ObjectID
	up *emptied // nil: the tree is in it, and it is not ours to close
}

// spare closes what lies too far above.
func (d *emptied) spare() {
	for range heldLevels {
		if d = d.up; d == nil {
			return
		}
	}
	if d.up != nil {
		d.close()
	}
}

// regain opens the directory that d is in again.
func (d *emptied) regain() error {
	if d.up.fd >= 0 {
		return nil
	}
	fd, err := openAt(d.fd, "..", asRead, 0)
	if err != nil {
		return err
	}
	if now, err := statFd(fd); err != nil || now.ID != d.up.id {
		unix.Close(fd)
		return refuse(rootbound.VersionConflict, "", err)
	}
	d.up.fd = fd
	return nil
}

func (d *emptied) close() {
	if d.fd >= 0 {
		unix.Close(d.fd)
		d.fd = -1
	}
}

func (r *remover) entry(dir *emptied, name string, want ObjectID) error {
	i, err := statAt(dir.fd, name)
	if err != nil {
		return err
	}
	if !i.ID.Same(want) {
		return refuse(rootbound.VersionConflict, "", nil)
	}
	return r.known(dir, name, i)
}

// known removes what was found to be i.
func (r *remover) known(dir *emptied, name string, i Info) error {
	if i.Mode.IsDir() {
		if err := r.empty(dir, name, i.ID); err != nil {
			return err
		}
	}
	err := unlink(dir.fd, name, i)
	if err == nil && r.gone != nil {
		r.gone()
	}
	return err
}

func (r *remover) empty(dir *emptied, name string, want ObjectID) error {
	fd, err := openAt(dir.fd, name, asRead, 0)
	if err != nil {
		return err
	}
	d := &emptied{fd, want, dir}
	defer d.close()
	if now, err := statFd(fd); err != nil || now.ID != want {
		return refuse(rootbound.VersionConflict, "", err)
	}
	_ = unix.Fchmod(fd, 0o700) // it may have been given the bits of a directory nothing can be removed from
	d.spare()
	l := listing{fd: fd}
	if _, err := r.read(&l, "", nil); err != nil {
		return err
	}
	for _, entry := range l.sorted {
		name := l.nameOf(&entry)
		if entry.kind != unix.DT_DIR && entry.kind != unix.DT_UNKNOWN {
			// unlink(2) takes nothing but this name: it removes no directory, follows no link, and a mount point is EBUSY
			err := unix.Unlinkat(d.fd, name, 0)
			if err == nil && r.gone != nil {
				r.gone()
			}
			if err == nil || err == unix.ENOENT || err == unix.EBUSY {
				continue // a mount point stays, and so does what it is in: exists
			}
			if err != unix.EISDIR && err != unix.EPERM { // it became a directory
				return err
			}
		}
		i, err := statAt(d.fd, name)
		if err == unix.ENOENT || err == nil && i.ID.Mount != want.Mount {
			continue
		}
		if err == nil {
			err = r.known(d, name, i)
		}
		if err != nil {
			return err
		}
	}
	return d.regain()
}

// Resemble gives the directory o what from has beside its entries: permission bits (never set-id or sticky), the owner
// where allowed, ACLs, user.* attributes and times; and makes o durable. After its last entry was made.
func (o *Object) Resemble(from *Object) error { return o.resemble(from, true) }

// ResembleNow is Resemble without the times.
func (o *Object) ResembleNow(from *Object) error { return o.resemble(from, false) }

func (o *Object) resemble(from *Object, times bool) error {
	a, err := from.attributes(nil)
	if err != nil {
		return err
	}
	if err := o.hold(); err != nil {
		return err
	}
	defer o.h.drop()
	if times {
		setTimes(o.h.fd, from.info)
	}
	if err := a.give(o.h.fd); err != nil {
		return fail(err)
	}
	if err := fsync(o.h.fd); err != nil && err != unix.EINVAL {
		return fail(err)
	}
	return nil
}

// Date gives the file the access and modification times of i, where the system can. After the last Write.
func (s *Staged) Date(i Info) { setTimes(s.fd, i) }

// setTimes needs utimensat(2) with AT_EMPTY_PATH, Linux 5.8. Times are a courtesy: without them the copy is whole.
func setTimes(fd int, i Info) {
	at := func(t time.Time) unix.Timespec {
		ts, err := unix.TimeToTimespec(t)
		if err != nil || t.IsZero() {
			return unix.Timespec{Nsec: unix.UTIME_OMIT}
		}
		return ts
	}
	_ = unix.UtimesNanoAt(fd, "", []unix.Timespec{at(i.ATime), at(i.MTime)}, unix.AT_EMPTY_PATH)
}

// ReadAt reads back what was written, like io.ReaderAt; after Sync from the disk where the system lets go of its cache.
func (s *Staged) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 {
		_ = unix.Fadvise(s.fd, 0, 0, unix.FADV_DONTNEED)
	}
	done := 0
	for done < len(p) {
		n, err := unix.Pread(s.fd, p[done:], off+int64(done))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return done, fail(err)
		case n == 0:
			return done, io.EOF
		default:
			done += n
		}
	}
	return done, nil
}
