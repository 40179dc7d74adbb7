package beneath

import (
	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// Set is an immutable, ordered set of roots: links may lead from one to another. It borrows its roots: they must be
// retained while the Set is used; with a root whose last reference is gone every operation is generation_stale. marks
// are directories (by identity, on whatever mount) whose innermost match at or above an object is reported by
// Object.Mark and Entry.Mark: nested projects. What lies above a root counts as it was when the Set was made. Safe for
// concurrent use.
type Set struct {
	members  []member
	paths    []spelling
	marks    []ObjectID
	walkOnly bool // tests run everything on both resolvers
}

type member struct {
	root       *Root
	denyMounts bool
	mark       int  // innermost mark at or above the root
	below      bool // marks other than the root itself may lie below it
}

// NewSet makes a set of members in their order. It climbs from each root to find the marks above it.
func NewSet(members []Member, marks []ObjectID) *Set {
	s := &Set{paths: spellings(members), marks: marks}
	for _, m := range members {
		in := member{root: m.Root, denyMounts: m.DenyMounts, mark: -1}
		for _, id := range marks {
			in.below = in.below || !id.Same(m.Root.id)
		}
		if len(marks) > 0 && m.Root.h.hold() {
			// An error leaves -1: above the root nothing is known, and the caller's own project applies.
			_, _ = climb(m.Root.h.fd, true, func(id ObjectID) bool {
				in.mark = s.markOf(id)
				return in.mark >= 0
			})
			m.Root.h.drop()
		}
		s.members = append(s.members, in)
	}
	return s
}

// Map maps an absolute path by components to the longest member path; the remainder is returned uncleaned. "." and empty
// components are skipped, ".." inside the matched part matches nothing. No disk access.
func (s *Set) Map(abs string) (Ref, bool) { return mapPath(s.paths, abs) }

func (s *Set) markOf(id ObjectID) int {
	for i, m := range s.marks {
		if m.Same(id) {
			return i
		}
	}
	return -1
}

func (s *Set) mayCross(root int, from, to ObjectID) error {
	if !s.members[root].denyMounts || (from.Mount == to.Mount && to.Mount != 0) {
		return nil
	}
	for i := range s.members {
		if s.members[i].root.id == to {
			return nil
		}
	}
	return refuse(rootbound.RuleDenied, "mounts", nil)
}

func flagsFor(how How) uint64 {
	switch how {
	case Handle:
		return unix.O_PATH
	case Dir:
		return unix.O_RDONLY | unix.O_NONBLOCK | unix.O_DIRECTORY
	}
	return unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
}

// Open resolves at (following links as the set allows), checks the kind on the handle and returns it.
// Errors are *rootbound.Error: outside_root, not_found, path_unresolvable, path_invalid (NUL, over-long, absolute,
// trailing slash on a file), special_file, is_a_directory, not_a_directory, rule_denied (Detail "mounts"), io_error. The
// empty path is the root itself.
func (s *Set) Open(at Ref, how How) (*Object, error) {
	if at.Root < 0 || at.Root >= len(s.members) {
		return nil, refuse(rootbound.OutsideRoot, "", nil)
	}
	clean, err := checkPath(at.Path)
	if err != nil {
		return nil, err
	}
	hit, ok, err := s.byKernel(at, clean, flagsFor(how))
	if err != nil {
		return nil, err
	}
	if ok {
		return s.object(hit.fd, hit.at, s.members[hit.at.Root].mark, how, hit.passed)
	}
	for range maxAgain {
		o, again, err := s.openByWalk(at, how)
		if !again {
			return o, err
		}
	}
	return nil, &rootbound.Error{Reason: rootbound.IOError, Detail: "changing", Retryable: true}
}

// object takes over fd, checks it and wraps it.
func (s *Set) object(fd int, at Ref, mark int, how How, passed []Passed) (*Object, error) {
	info, err := statFd(fd)
	if err != nil {
		unix.Close(fd)
		return nil, fail(err)
	}
	magic, err := s.checkKind(at.Root, fd, info, how)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return s.wrap(fd, at, info, magic, mark, passed), nil
}

// wrap takes over a checked descriptor. mark is that of the directory it is in.
func (s *Set) wrap(fd int, at Ref, info Info, magic uint32, mark int, passed []Passed) *Object {
	if info.Mode.IsDir() {
		if m := s.markOf(info.ID); m >= 0 {
			mark = m
		}
	}
	o := &Object{set: s, at: at, mark: mark, info: info, magic: magic, passed: passed}
	o.h.fd = fd
	o.h.refs.Store(1)
	return o
}

// openByWalk opens for reading what the walk reached by O_PATH. again: a final name changed in between.
func (s *Set) openByWalk(at Ref, how How) (o *Object, again bool, err error) {
	w := walk{set: s, read: how != Handle}
	defer w.close()
	if err := w.run(at.Root, at.Path, true); err != nil {
		if isMissingPart(err) {
			err = refuse(rootbound.NotFound, "", unix.ENOENT)
		}
		return nil, false, err
	}
	if w.object < 0 && !w.atTop {
		return nil, false, refuse(rootbound.NotFound, "", nil)
	}
	magic, err := s.checkKind(w.root, w.objectFd(), w.info, how)
	if err != nil {
		return nil, false, err
	}
	var fd int
	dir, _, mark := w.top()
	at = Ref{w.root, w.reached()}
	if w.opened || how == Handle && !w.atTop {
		fd, w.object = w.object, -1
		return s.wrap(fd, at, w.info, magic, mark, w.passed), false, nil
	}
	switch {
	case how == Handle:
		fd, err = openAt(dir, ".", asPath, 0)
	case w.info.Mode.IsDir():
		fd, err = openAt(w.objectFd(), ".", asDir, 0)
	default:
		fd, err = openAt(dir, w.name, asRead, 0)
		if err == unix.ENOENT || err == unix.ELOOP || err == unix.ENXIO {
			return nil, true, nil
		}
	}
	if err != nil {
		return nil, false, fail(err)
	}
	o, err = s.object(fd, at, mark, how, w.passed)
	if err == nil && o.info.ID != w.info.ID || rootbound.ReasonOf(err) == rootbound.SpecialFile {
		if o != nil {
			o.Close()
		}
		return nil, true, nil
	}
	return o, false, err
}
