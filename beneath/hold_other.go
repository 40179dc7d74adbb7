//go:build !linux

package beneath

import (
	"io/fs"

	"github.com/rootbound/rootbound"
)

// Exec lets Sync set or clear the executable bits: set for those who may read.
func (s *Staged) Exec(on bool) { s.exec = &on }

// Perm gives the file these permission bits at Sync, in place of those of what it replaces.
func (s *Staged) Perm(mode fs.FileMode) { s.mode = mode.Perm() }

// Hold publishes as Publish does, but keeps what was there under a second temporary name, so that Withdraw can bring it
// back. Settle ends that.
func (s *Staged) Hold(old *Info) (Info, error) {
	if s.published || s.closed {
		return Info{}, released()
	}
	dir := s.entry.dir
	if old != nil {
		s.heldAs = tempName()
		if err := dir.Link(s.entry.name, s.heldAs); err != nil {
			return Info{}, fail(err)
		}
		now, err := s.entry.Lstat() // the second name changed ctime
		if err != nil || !now.unchanged(*old) {
			_ = dir.Remove(s.heldAs)
			return Info{}, refuse(rootbound.VersionConflict, "", err)
		}
		old, s.held = &now, old
	}
	now, err := s.Publish(old)
	if err != nil && s.held != nil {
		_ = dir.Remove(s.heldAs)
		s.held = nil
	}
	return now, err
}

// Settle moves what Hold displaced to an entry of the same file system; nil removes it.
func (s *Staged) Settle(to *Entry) error {
	if s.held == nil {
		return nil
	}
	if to != nil {
		return refuse(rootbound.CrossDevice, "", nil)
	}
	s.held = nil
	return fail(s.entry.dir.Remove(s.heldAs))
}

// Withdraw takes a publication back, unless another program changed or replaced the file meanwhile (version_conflict).
func (s *Staged) Withdraw() error {
	if !s.published {
		return nil
	}
	now, err := s.entry.Lstat()
	if err != nil || !now.unchanged(s.shown) {
		return refuse(rootbound.VersionConflict, "", err)
	}
	dir := s.entry.dir
	if s.held != nil {
		err = dir.Rename(s.heldAs, s.entry.name)
	} else {
		err = dir.Remove(s.entry.name)
	}
	if err != nil {
		return fail(err)
	}
	s.published, s.held = false, nil
	return nil
}

// Stat describes the file now, before and after it is published.
func (s *Staged) Stat() (Info, error) { return infoOfFile(s.f) }

// Exchange is not to be had here.
func (e *Entry) Exchange(_ *Entry, _, _ ObjectID) error {
	return refuse(rootbound.IOError, "the system cannot exchange two files", nil)
}
