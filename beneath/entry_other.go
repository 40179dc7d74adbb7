//go:build !linux

package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
)

// Entry is a place where an object is or may be published: a held parent directory and one plain name.
type Entry struct {
	set     *Set
	dir     *os.Root
	dirInfo Info
	at      Ref
	name    string
	mark    int
	passed  []Passed
}

// Entry resolves the parent of at and its final name. Errors as on Linux.
func (s *Set) Entry(at Ref, follow bool) (*Entry, error) {
	if _, _, err := splitLast(at.Path); at.Root >= 0 && at.Root < len(s.members) && err != nil {
		if _, err := checkPath(at.Path); err != nil {
			return nil, err
		}
		return nil, err
	}
	a, err := s.read(at, follow)
	switch {
	case err != nil:
		return nil, err
	case a.missing != nil:
		detail := ""
		if !a.linked {
			detail = join(a.path(), a.missing[0])
		}
		return nil, refuse(rootbound.ParentMissing, detail, fs.ErrNotExist)
	case len(a.names) == 0:
		return nil, refuse(rootbound.PathInvalid, "no_name", nil)
	case a.info == nil && a.byLink:
		return nil, refuse(rootbound.PathUnresolvable, "dangling_link", nil)
	}
	return s.entry(a)
}

func (s *Set) entry(a *arrival) (*Entry, error) {
	n := len(a.names) - 1
	dir, err := s.subRoot(s.members[a.root].Root.r, strings.Join(a.names[:n], "/"), nil)
	if err != nil {
		return nil, err
	}
	f, err := dir.Open(".")
	if err != nil {
		dir.Close()
		return nil, fail(err)
	}
	defer f.Close()
	i, err := infoOfFile(f)
	if err != nil {
		dir.Close()
		return nil, err
	}
	return &Entry{set: s, dir: dir, dirInfo: i, at: Ref{a.root, a.path()}, name: a.names[n], mark: s.markAbove(a, n), passed: a.passed}, nil
}

// At is the reached path of the entry.
func (e *Entry) At() Ref { return e.at }

// Key identifies the entry for locks.
func (e *Entry) Key() Key { return Key{e.dirInfo.ID, e.name} }

// Mark is the index of the innermost mark at or above the parent, -1 for none.
func (e *Entry) Mark() int { return e.mark }

// Linked reports whether a symlink was followed on the way.
func (e *Entry) Linked() bool { return followed(e.passed) }

// Passed tells what the way to it led through: all of it where a link was followed. Not to be changed.
func (e *Entry) Passed() []Passed { return e.passed }

// Crossed reports whether the parent is on another device than the root.
func (e *Entry) Crossed() bool { return e.dirInfo.ID.Dev != e.set.members[e.at.Root].Root.id.Dev }

// Lstat describes what the entry holds now, links not followed; not_found if nothing.
func (e *Entry) Lstat() (Info, error) { return lstat(e.dir, e.name) }

// LeadFrom tells where the link in this entry would lead if it stood at to, as far as its text tells.
func (e *Entry) LeadFrom(to *Entry) (Ref, bool) {
	text, err := e.dir.Readlink(e.name)
	if err != nil {
		return Ref{}, false
	}
	text = filepath.ToSlash(text)
	if filepath.VolumeName(text) != "" {
		text = "/" + text
	}
	return textAt(e.set.paths, to.at, text)
}

// Open opens what the entry holds now: regular file or directory, never through a link.
func (e *Entry) Open(how How) (*Object, error) {
	fi, err := e.dir.Lstat(e.name)
	if err != nil {
		return nil, fail(err)
	}
	return e.set.open(e.dir, e.name, fi, e.at, e.mark, how, e.passed)
}

// Inside looks whether the parent is still where it was reached: moved_out if not.
func (e *Entry) Inside() error {
	p := filepath.FromSlash(strings.TrimSuffix(strings.TrimSuffix(e.at.Path, e.name), "/"))
	if p == "" {
		p = "."
	}
	now, err := e.set.members[e.at.Root].Root.r.Lstat(p)
	if errors.Is(err, fs.ErrClosed) {
		return released()
	}
	held, err2 := e.dir.Stat(".")
	if err != nil || err2 != nil || !os.SameFile(now, held) {
		return refuse(rootbound.MovedOut, "", nil)
	}
	return nil
}

// Mkdir makes a directory with 0777 less umask: exists, moved_out (undone).
func (e *Entry) Mkdir() error {
	if err := e.Inside(); err != nil {
		return err
	}
	if err := e.dir.Mkdir(e.name, 0o777); err != nil {
		return fail(err)
	}
	if err := e.Inside(); err != nil {
		_ = e.dir.Remove(e.name)
		return err
	}
	return nil
}

// Rename publishes what e holds under to, within one root (cross_device otherwise). Errors as on Linux.
func (e *Entry) Rename(to *Entry, expect ObjectID, overwrite bool) error {
	from, err := e.Lstat()
	if err != nil {
		return err
	}
	if expect != (ObjectID{}) && !from.ID.Same(expect) {
		return refuse(rootbound.VersionConflict, "", nil)
	}
	there, err := to.Lstat()
	switch {
	case err == nil && !overwrite:
		return refuse(rootbound.Exists, "", nil)
	case err == nil && there.ID.Same(from.ID):
		return refuse(rootbound.VersionConflict, "same_object", nil)
	case err != nil && rootbound.ReasonOf(err) != rootbound.NotFound:
		return err
	case e.at.Root != to.at.Root:
		return refuse(rootbound.CrossDevice, "", nil)
	case from.Mode.IsDir() && strings.HasPrefix(to.at.Path+"/", e.at.Path+"/"):
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "into_itself", Next: "Choose a destination outside the directory itself."}
	}
	for _, end := range []*Entry{e, to} {
		if err := end.Inside(); err != nil {
			return err
		}
	}
	r := e.set.members[e.at.Root].Root.r
	a, b := filepath.FromSlash(e.at.Path), filepath.FromSlash(to.at.Path)
	if err == nil || from.Mode.IsDir() {
		return fail(r.Rename(a, b))
	}
	if err := r.Link(a, b); err != nil { // never replaces
		return fail(err)
	}
	return fail(r.Remove(a))
}

// Remove unlinks a file, link or empty directory whose identity is expect.
func (e *Entry) Remove(expect ObjectID) error {
	if err := e.Inside(); err != nil {
		return err
	}
	now, err := e.Lstat()
	if err != nil {
		return err
	}
	if !now.ID.Same(expect) {
		return refuse(rootbound.VersionConflict, "", nil)
	}
	return fail(e.dir.Remove(e.name))
}

// SyncDir makes the directory durable where the system can.
func (e *Entry) SyncDir() error {
	f, err := e.dir.Open(".")
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	_ = f.Sync() // Windows has no such thing
	return nil
}

// Close gives the entry up. A second Close does nothing.
func (e *Entry) Close() error {
	_ = e.dir.Close()
	return nil
}

// MkdirAll makes the missing directories of at one by one. See the Linux documentation.
func (s *Set) MkdirAll(at Ref, ok func(Ref, int) error, commit func(func() error) error) (o *Object, made int, err error) {
	a, err := s.read(at, true)
	if err != nil {
		return nil, 0, err
	}
	missing := a.missing
	if a.info == nil && missing == nil && len(a.names) > 0 {
		missing, a.names = a.names[len(a.names)-1:], a.names[:len(a.names)-1]
	}
	if missing != nil && a.byLink {
		return nil, 0, refuse(rootbound.PathUnresolvable, "dangling_link", nil)
	}
	if slices.Contains(missing, "..") {
		return nil, 0, refuse(rootbound.NotFound, "", nil)
	}
	for _, name := range missing {
		a.names = append(a.names[:len(a.names):len(a.names)], name)
		e, err := s.entry(a)
		if err != nil {
			return nil, made, err
		}
		if err = ok(e.at, e.mark); err == nil {
			if err = commit(e.Mkdir); err == nil {
				made++
			} else if errors.Is(err, fs.ErrExist) {
				err = nil
			}
		}
		e.Close()
		if err != nil {
			return nil, made, err
		}
	}
	o, err = s.Open(Ref{a.root, a.path()}, Dir)
	if rootbound.ReasonOf(err) == rootbound.NotADirectory {
		err = refuse(rootbound.Exists, "", nil)
	}
	return o, made, err
}

// Staged is a temporary file, invisible under its final name until Publish. Not safe for concurrent use.
type Staged struct {
	entry     *Entry
	f         *os.File
	name      string
	id        ObjectID
	mode      fs.FileMode // 0: as made
	size      int64
	published bool
	closed    bool
	shown     Info
	held      *Info
	heldAs    string
	exec      *bool
}

// Stage makes a temporary file in the parent directory with the permission bits of like.
func (e *Entry) Stage(like *Object, journal func(name string, id ObjectID) error) (*Staged, error) {
	s := &Staged{entry: e, name: tempName()}
	mode := fs.FileMode(0o666)
	if like != nil {
		mode, s.mode = 0o600, like.info.Mode.Perm()
	}
	var err error
	if s.f, err = e.dir.OpenFile(s.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode); err != nil {
		return nil, fail(err)
	}
	i, err := infoOfFile(s.f)
	s.id = i.ID
	if err == nil && journal != nil {
		err = journal(s.name, s.id)
	}
	if err != nil {
		s.Close()
		return nil, fail(err)
	}
	return s, nil
}

// Name is the temporary name in the parent directory.
func (s *Staged) Name() string { return s.name }

// ID is the identity of the file, before and after it is published.
func (s *Staged) ID() ObjectID { return s.id }

// Write appends p.
func (s *Staged) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	s.size += int64(n)
	return n, fail(err)
}

// Size is how many bytes were written so far.
func (s *Staged) Size() int64 { return s.size }

// Sync makes the content durable.
func (s *Staged) Sync() error {
	if s.mode != 0 {
		if err := s.f.Chmod(s.mode); err != nil {
			return fail(err)
		}
	}
	if s.exec != nil {
		now, err := infoOfFile(s.f)
		if err != nil {
			return err
		}
		mode := now.Mode.Perm() &^ 0o111
		if *s.exec {
			mode |= mode & 0o444 >> 2
		}
		if err := s.f.Chmod(mode); err != nil {
			return fail(err)
		}
	}
	return fail(s.f.Sync())
}

// Publish makes the file visible under the entry's name. An old version is compared right before the rename; what is
// written between the two is lost, which Linux prevents.
func (s *Staged) Publish(old *Info) (Info, error) {
	if s.published || s.closed {
		return Info{}, released()
	}
	if err := s.entry.Inside(); err != nil {
		return Info{}, err
	}
	dir := s.entry.dir
	if old == nil {
		if err := dir.Link(s.name, s.entry.name); err != nil { // never replaces
			return Info{}, fail(err)
		}
		_ = dir.Remove(s.name)
	} else {
		now, err := s.entry.Lstat()
		if err != nil || !now.unchanged(*old) || !now.CTime.Equal(old.CTime) {
			return Info{}, refuse(rootbound.VersionConflict, "", err)
		}
		if err := dir.Rename(s.name, s.entry.name); err != nil {
			return Info{}, fail(err)
		}
	}
	s.published = true
	now, err := infoOfFile(s.f)
	s.shown = now
	return now, err
}

// Close discards the file if it was not published and closes. A second Close does nothing.
func (s *Staged) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.f.Close()
	if !s.published {
		_ = s.entry.dir.Remove(s.name)
	}
	return fail(err)
}
