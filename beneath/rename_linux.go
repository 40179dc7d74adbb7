package beneath

import (
	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// Rename publishes what e holds under to. Without overwrite an existing destination (a dangling link too) is exists.
// expect, if not zero, is the identity e must hold: version_conflict otherwise, also if both ends are one object (Detail
// "same_object"), for which rename(2) does nothing. cross_device, path_invalid (Detail "into_itself"), moved_out (undone
// unless something was overwritten).
func (e *Entry) Rename(to *Entry, expect ObjectID, overwrite bool) error {
	if err := e.hold(); err != nil {
		return err
	}
	defer e.dir.drop()
	if err := to.hold(); err != nil {
		return err
	}
	defer to.dir.drop()
	for _, end := range []*Entry{e, to} {
		if err := end.set.inside(end.at.Root, end.dir.fd); err != nil {
			return err
		}
	}
	from, err := statAt(e.dir.fd, e.name)
	if err != nil {
		return fail(err)
	}
	if expect != (ObjectID{}) && !from.ID.Same(expect) {
		return refuse(rootbound.VersionConflict, "", nil)
	}
	there, err := statAt(to.dir.fd, to.name)
	switch {
	case err == nil && !overwrite:
		return refuse(rootbound.Exists, "", nil)
	case err == nil && there.ID.Same(from.ID):
		return refuse(rootbound.VersionConflict, "same_object", nil)
	case err != nil && err != unix.ENOENT:
		return fail(err)
	}
	if from.Mode.IsDir() {
		if below, err := climb(to.dir.fd, true, from.ID.Same); below || err != nil {
			if below {
				return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "into_itself", Next: "Choose a destination outside the directory itself."}
			}
			return fail(err)
		}
	}
	replaced := err == nil
	if replaced {
		err = fail(filled(unix.Renameat2(e.dir.fd, e.name, to.dir.fd, to.name, 0)))
	} else if err = renameNoReplace(e.dir.fd, e.name, to.dir.fd, to.name, from.ID); overwrite && rootbound.ReasonOf(err) == rootbound.Exists {
		return refuse(rootbound.VersionConflict, "", err) // it came after the look: nobody has judged it
	}
	if err != nil {
		return err
	}
	// Only now is it known what was taken: another program may have changed the entry after the look.
	if moved, err := statAt(to.dir.fd, to.name); err != nil || !moved.ID.Same(from.ID) {
		if err == nil && !replaced {
			_ = renameNoReplace(to.dir.fd, to.name, e.dir.fd, e.name, moved.ID)
		}
		return refuse(rootbound.VersionConflict, "", err)
	}
	if err := to.set.inside(to.at.Root, to.dir.fd); err != nil {
		if !replaced {
			_ = renameNoReplace(to.dir.fd, to.name, e.dir.fd, e.name, from.ID)
		}
		return err
	}
	return nil
}

// filled: rename(2) and rmdir(2) may say EEXIST for a directory that is not empty; XFS does.
func filled(err error) error {
	if err == unix.EEXIST {
		return unix.ENOTEMPTY
	}
	return err
}

// renameNoReplace never replaces anything. Where the file system lacks the flag, a second name and the removal of the
// first do the same for files; directories are refused there.
func renameNoReplace(fromDir int, from string, toDir int, to string, id ObjectID) error {
	err := unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return fail(err)
	}
	lacking := refuse(rootbound.IOError, "the file system cannot rename without replacing", err)
	if now, err := statAt(fromDir, from); err != nil || now.Mode.IsDir() {
		return lacking
	}
	if err := unix.Linkat(fromDir, from, toDir, to, 0); err == unix.EPERM || err == unix.ENOTSUP || err == unix.ENOSYS {
		return lacking
	} else if err != nil {
		return fail(err)
	}
	if now, err := statAt(fromDir, from); err == nil && now.ID.Same(id) {
		_ = unix.Unlinkat(fromDir, from, 0)
	}
	return nil
}
