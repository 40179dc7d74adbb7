package beneath

import (
	"sync/atomic"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// Entry is a place where an object is or may be published: a held parent directory and one plain name. Not safe for
// concurrent use except Close and the getters.
type Entry struct {
	dir     *handle // O_PATH
	shut    atomic.Bool
	set     *Set
	at      Ref
	name    string
	dirInfo Info
	mark    int
	passed  []Passed
}

// Entry resolves the parent of at and its final name. With follow, a final link is followed to the entry it names (a
// dangling link is path_unresolvable, Detail "dangling_link"); without, the entry is the link itself.
// parent_missing (Detail: the first missing part, relative to the root and in the caller's words), not_a_directory,
// outside_root, path_invalid (".", "..", root, trailing slash).
func (s *Set) Entry(at Ref, follow bool) (*Entry, error) {
	if at.Root < 0 || at.Root >= len(s.members) {
		return nil, refuse(rootbound.OutsideRoot, "", nil)
	}
	if _, err := checkPath(at.Path); err != nil {
		return nil, err
	}
	dir, name, err := splitLast(at.Path)
	if err != nil {
		return nil, err
	}
	if e, err := s.entryByKernel(Ref{at.Root, dir}, name, follow); e != nil || err != nil {
		return e, err
	}
	w := walk{set: s}
	defer w.close()
	if err := w.run(at.Root, at.Path, follow); err != nil {
		if isMissingPart(err) {
			err = refuse(rootbound.ParentMissing, err.(*rootbound.Error).Detail, unix.ENOENT)
		}
		return nil, err
	}
	switch {
	case w.atTop: // a link to a root or to "..": it has no name of its own
		return nil, refuse(rootbound.PathInvalid, "no_name", nil)
	case w.object < 0 && w.byLink():
		return nil, refuse(rootbound.PathUnresolvable, "dangling_link", nil)
	}
	return w.entry(w.name)
}

// entryByKernel returns neither entry nor error where the walk must decide.
func (s *Set) entryByKernel(dir Ref, name string, follow bool) (*Entry, error) {
	clean, _ := checkPath(dir.Path)
	hit, ok, err := s.byKernel(dir, clean, unix.O_PATH|unix.O_DIRECTORY)
	if !ok {
		if rootbound.ReasonOf(err) == rootbound.NotFound {
			err = nil // the walk names the missing part
		}
		return nil, err
	}
	h := newHandle(hit.fd)
	if follow {
		if i, err := statAt(h.fd, name); err == nil && isLink(i) {
			h.drop()
			return nil, nil
		}
	}
	at := Ref{hit.at.Root, join(hit.at.Path, name)}
	return s.newEntry(h, at, name, s.members[at.Root].mark, hit.passed)
}

// entry makes an Entry of the directory on top of the walk.
func (w *walk) entry(name string) (*Entry, error) {
	at := Ref{w.root, join(string(w.path), name)}
	n := len(w.stack)
	_, _, mark := w.top()
	if n == 0 {
		w.base.hold()
		return w.set.newEntry(w.base, at, name, mark, w.passed)
	}
	fd := w.stack[n-1].fd
	w.stack = w.stack[:n-1]
	return w.set.newEntry(newHandle(fd), at, name, mark, w.passed)
}

// newEntry takes over one reference of dir and checks the directory.
func (s *Set) newEntry(dir *handle, at Ref, name string, mark int, passed []Passed) (*Entry, error) {
	info, err := statFd(dir.fd)
	if err == nil {
		_, err = s.checkKind(at.Root, dir.fd, info, Dir)
	}
	if err != nil {
		dir.drop()
		return nil, fail(err)
	}
	return &Entry{dir: dir, set: s, at: at, name: name, dirInfo: info, mark: mark, passed: passed}, nil
}

func (e *Entry) hold() error {
	if e.shut.Load() || !e.dir.hold() {
		return released()
	}
	return nil
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

// Crossed reports whether the parent is on another mount than the root.
func (e *Entry) Crossed() bool { return e.dirInfo.ID.Mount != e.set.members[e.at.Root].root.id.Mount }

// Lstat describes what the entry holds now, links not followed; not_found if nothing.
func (e *Entry) Lstat() (Info, error) {
	if err := e.hold(); err != nil {
		return Info{}, err
	}
	defer e.dir.drop()
	i, err := statAt(e.dir.fd, e.name)
	return i, fail(err)
}

// LeadFrom tells where the link in this entry would lead if it stood at to, as far as its text tells: for Set.Open and
// Set.Trace. False for what is no link, and for a text that leads out of the set. The answer may be old when it arrives:
// whoever follows the link later is judged again.
func (e *Entry) LeadFrom(to *Entry) (Ref, bool) {
	if e.hold() != nil {
		return Ref{}, false
	}
	defer e.dir.drop()
	fd, err := openAt(e.dir.fd, e.name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return Ref{}, false
	}
	defer unix.Close(fd)
	text, err := readLink(fd, "")
	if err != nil || text == "" {
		return Ref{}, false
	}
	return textAt(e.set.paths, to.at, text)
}

// Open opens what the entry holds now: regular file or directory, never through a link (path_unresolvable).
func (e *Entry) Open(how How) (*Object, error) {
	if err := e.hold(); err != nil {
		return nil, err
	}
	defer e.dir.drop()
	return e.set.openNode(e.dir.fd, e.dirInfo.ID, e.name, e.at, e.mark, how, e.passed)
}

// openNode opens an entry of a held directory. O_DIRECTORY is not used on a name: gVisor then follows a link.
func (s *Set) openNode(dir int, dirID ObjectID, name string, at Ref, mark int, how How, passed []Passed) (*Object, error) {
	flags := asRead
	if how == Handle {
		flags = asPath
	}
	fd, err := openAt(dir, name, flags, 0)
	if err == unix.ELOOP {
		return nil, refuse(rootbound.PathUnresolvable, "link", err)
	}
	if err != nil {
		return nil, fail(err)
	}
	o, err := s.object(fd, at, mark, how, passed)
	if err != nil {
		return nil, err
	}
	if err := s.mayCross(at.Root, dirID, o.info.ID); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// Inside climbs from the parent to the root by identity: moved_out if the parent left the root.
func (e *Entry) Inside() error {
	if err := e.hold(); err != nil {
		return err
	}
	defer e.dir.drop()
	return e.set.inside(e.at.Root, e.dir.fd)
}

func (s *Set) inside(root, dir int) error {
	id := s.members[root].root.id
	isRoot := func(at ObjectID) bool { return at == id }
	for _, stepwise := range []bool{false, true} {
		found, err := climb(dir, stepwise, isRoot)
		if found {
			return nil
		}
		if err != nil && err != unix.ENOENT {
			return fail(err)
		}
	}
	return refuse(rootbound.MovedOut, "", nil)
}

// guarded runs effect between two looks at where the parent is; undo takes the effect back if the parent left the root
// meanwhile (contract §5).
func (e *Entry) guarded(effect func() error, undo func()) error {
	if err := e.set.inside(e.at.Root, e.dir.fd); err != nil {
		return err
	}
	if err := effect(); err != nil {
		return err
	}
	if err := e.set.inside(e.at.Root, e.dir.fd); err != nil {
		undo()
		return err
	}
	return nil
}

// Mkdir makes a directory with 0777 less umask: exists, not_found if the parent was removed, moved_out (undone).
func (e *Entry) Mkdir() error {
	if err := e.hold(); err != nil {
		return err
	}
	defer e.dir.drop()
	return e.guarded(
		func() error { return fail(unix.Mkdirat(e.dir.fd, e.name, 0o777)) },
		func() { _ = unix.Unlinkat(e.dir.fd, e.name, unix.AT_REMOVEDIR) },
	)
}

// Remove unlinks a file, link or empty directory whose identity is expect: version_conflict for another object,
// exists (Detail "not_empty"), moved_out.
func (e *Entry) Remove(expect ObjectID) error {
	if err := e.hold(); err != nil {
		return err
	}
	defer e.dir.drop()
	if err := e.set.inside(e.at.Root, e.dir.fd); err != nil {
		return err
	}
	now, err := statAt(e.dir.fd, e.name)
	if err != nil {
		return fail(err)
	}
	if !now.ID.Same(expect) {
		return refuse(rootbound.VersionConflict, "", nil)
	}
	return fail(unlink(e.dir.fd, e.name, now))
}

func unlink(dir int, name string, what Info) error {
	flags := 0
	if what.Mode.IsDir() {
		flags = unix.AT_REMOVEDIR
	}
	return filled(unix.Unlinkat(dir, name, flags))
}

// SyncDir makes the directory durable. Outside any lease.
func (e *Entry) SyncDir() error {
	if err := e.hold(); err != nil {
		return err
	}
	defer e.dir.drop()
	fd, err := openAt(e.dir.fd, ".", asDir, 0)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(fd)
	if err := fsync(fd); err != nil && err != unix.EINVAL { // EINVAL: the file system syncs by itself or not at all
		return fail(err)
	}
	return nil
}

func fsync(fd int) error {
	for {
		if err := unix.Fsync(fd); err != unix.EINTR {
			return err
		}
	}
}

// Close gives the entry up. A second Close does nothing.
func (e *Entry) Close() error {
	if !e.shut.Swap(true) {
		e.dir.drop()
	}
	return nil
}
