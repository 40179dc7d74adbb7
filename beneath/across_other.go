//go:build !linux

package beneath

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/rootbound/rootbound"
)

// Entry is the place of name, one plain component, in the directory o.
func (o *Object) Entry(name string) (*Entry, error) {
	if !plainName(name) || !filepath.IsLocal(name) {
		return nil, refuse(rootbound.PathInvalid, "", nil)
	}
	if !o.IsDir() {
		return nil, refuse(rootbound.NotADirectory, "", nil)
	}
	dir, err := o.set.subRoot(o.set.members[o.at.Root].Root.r, o.at.Path, o.f)
	if err != nil {
		return nil, err
	}
	return &Entry{set: o.set, dir: dir, dirInfo: o.info, at: Ref{o.at.Root, join(o.at.Path, name)}, name: name, mark: o.mark, passed: o.passed}, nil
}

// Beside is the entry of a fresh temporary name in the same directory. Nothing is made.
func (e *Entry) Beside() (*Entry, error) {
	dir, err := e.dir.OpenRoot(".")
	if err != nil {
		return nil, fail(err)
	}
	name := tempName()
	return &Entry{set: e.set, dir: dir, dirInfo: e.dirInfo, at: beside(e.at, name), name: name, mark: e.mark, passed: e.passed}, nil
}

// Writable is not known here before it is tried.
func (e *Entry) Writable() error { return nil }

// MkdirPrivate makes a directory that only this user may enter and opens it.
func (e *Entry) MkdirPrivate() (*Object, error) {
	if err := e.dir.Mkdir(e.name, 0o700); err != nil {
		return nil, fail(err)
	}
	o, err := e.Open(Dir)
	if err != nil {
		_ = e.dir.Remove(e.name)
	}
	return o, err
}

// RemoveTemporary removes a temporary file or tree whose identity is want.
func (e *Entry) RemoveTemporary(want ObjectID) error { return e.RemoveTree(want, nil) }

// RemoveTree is RemoveTemporary; gone, if not nil, is told of what was removed once all of it is.
func (e *Entry) RemoveTree(want ObjectID, gone func()) error {
	if !strings.HasPrefix(e.name, TempPrefix) {
		return refuse(rootbound.InternalError, "", nil)
	}
	now, err := e.Lstat()
	if err != nil {
		return err
	}
	if !now.ID.Same(want) {
		return refuse(rootbound.VersionConflict, "", nil)
	}
	err = e.dir.RemoveAll(e.name)
	if err == nil && gone != nil {
		gone()
	}
	return fail(err)
}

// Resemble gives the directory o the permission bits of from and makes it durable where the system can.
func (o *Object) Resemble(from *Object) error {
	if err := o.f.Chmod(from.info.Mode.Perm()); err != nil {
		return fail(err)
	}
	_ = o.f.Sync()
	return nil
}

// ResembleNow is Resemble without the times, which it does not set here.
func (o *Object) ResembleNow(from *Object) error { return o.Resemble(from) }

// Date gives the file the access and modification times of i, where the system can.
func (s *Staged) Date(i Info) {
	_ = s.entry.dir.Chtimes(s.name, i.ATime, i.MTime)
}

// ReadAt reads back what was written, like io.ReaderAt.
func (s *Staged) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.f.ReadAt(p, off)
	if err == io.EOF {
		return n, err
	}
	return n, fail(err)
}
