package beneath

import (
	"io/fs"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// Exec lets Sync set or clear the executable bits: set for those who may read.
func (s *Staged) Exec(on bool) { s.exec = &on }

// Perm gives the file these permission bits at Sync, in place of those of what it replaces.
func (s *Staged) Perm(mode fs.FileMode) { s.perm = new(mode.Perm()) }

// Hold publishes as Publish does, but keeps what was there under the temporary name, so that Withdraw can bring it back.
// Settle ends that.
func (s *Staged) Hold(old *Info) (Info, error) {
	if s.published || s.fd < 0 {
		return Info{}, released()
	}
	if err := s.settle(); err != nil {
		return Info{}, fail(err)
	}
	e := s.entry
	if err := e.set.inside(e.at.Root, s.dir.fd); err != nil {
		return Info{}, err
	}
	var err error
	if old == nil {
		err = s.create()
	} else {
		err = s.replace(*old)
	}
	if err != nil {
		return Info{}, err
	}
	s.published = true
	s.shown, err = statFd(s.fd)
	return s.shown, fail(err)
}

// Settle moves what Hold displaced to an entry of the same file system, of whatever set, where nothing may be; nil
// removes it. An error leaves it where it was. Nothing was displaced: it does nothing.
func (s *Staged) Settle(to *Entry) error {
	if s.held == nil || s.heldAt != nil {
		return nil
	}
	if to == nil {
		s.held = nil
		return fail(unix.Unlinkat(s.dir.fd, s.name, 0))
	}
	if err := to.hold(); err != nil {
		return err
	}
	defer to.dir.drop()
	if err := unix.Renameat2(s.dir.fd, s.name, to.dir.fd, to.name, unix.RENAME_NOREPLACE); err != nil {
		return fail(err)
	}
	s.heldAt = to
	return nil
}

// Withdraw takes a publication back: what it displaced stands under the name again, or nothing if it made the name. Where
// another program changed or replaced the file meanwhile, that stays (version_conflict), and what was displaced stays
// where it is. Also where the parent left the root.
func (s *Staged) Withdraw() error {
	if !s.published {
		return nil
	}
	e, dir := s.entry, s.dir.fd
	if now, err := statFd(s.fd); err != nil || !now.unchanged(s.shown) {
		return refuse(rootbound.VersionConflict, "", err)
	}
	if s.held == nil {
		if err := renameNoReplace(dir, e.name, dir, s.name, s.id); err != nil {
			return err
		}
		if got, err := statAt(dir, s.name); err != nil || !got.unchanged(s.shown) {
			_ = renameNoReplace(dir, s.name, dir, e.name, got.ID)
			return refuse(rootbound.VersionConflict, "", err)
		}
		s.published = false
		return nil
	}
	at, name := dir, s.name
	if to := s.heldAt; to != nil {
		if err := to.hold(); err != nil {
			return err
		}
		defer to.dir.drop()
		at, name = to.dir.fd, to.name
	}
	swap := func() error { return unix.Renameat2(at, name, dir, e.name, unix.RENAME_EXCHANGE) }
	if err := swap(); err != nil {
		return fail(err)
	}
	if got, err := statAt(at, name); err != nil || !got.unchanged(s.shown) {
		_ = swap()
		return refuse(rootbound.VersionConflict, "", err)
	}
	_ = unix.Unlinkat(at, name, 0)
	s.published, s.held, s.heldAt = false, nil, nil
	return nil
}

// Stat describes the file now, before and after it is published.
func (s *Staged) Stat() (Info, error) {
	i, err := statFd(s.fd)
	return i, fail(err)
}

// Exchange swaps what two entries of one file system hold: both exist before and after. mine and theirs are the
// identities e and with must hold; if they turn out to hold others (version_conflict), or a parent left its root
// (moved_out), they are swapped back.
func (e *Entry) Exchange(with *Entry, mine, theirs ObjectID) error {
	if err := e.hold(); err != nil {
		return err
	}
	defer e.dir.drop()
	if err := with.hold(); err != nil {
		return err
	}
	defer with.dir.drop()
	for _, end := range []*Entry{e, with} {
		if err := end.set.inside(end.at.Root, end.dir.fd); err != nil {
			return err
		}
	}
	swap := func() error {
		return unix.Renameat2(e.dir.fd, e.name, with.dir.fd, with.name, unix.RENAME_EXCHANGE)
	}
	if err := swap(); err != nil {
		return fail(err)
	}
	a, aerr := statAt(e.dir.fd, e.name)
	b, berr := statAt(with.dir.fd, with.name)
	err := refuse(rootbound.VersionConflict, "", nil)
	if aerr == nil && berr == nil && a.ID.Same(theirs) && b.ID.Same(mine) {
		if err = e.set.inside(e.at.Root, e.dir.fd); err == nil {
			err = with.set.inside(with.at.Root, with.dir.fd)
		}
	}
	if err != nil {
		_ = swap()
	}
	return err
}
