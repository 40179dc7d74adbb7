package beneath

import (
	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// hit is what openat2(2) reached: a descriptor, and where, links replaced.
type hit struct {
	fd     int
	at     Ref
	passed []Passed
}

// byKernel resolves by openat2(2), which never follows a link for us: so the cleaned text is where it arrived. Each link
// that stops it is read and put in place, and the kernel resolves the new text from the root. ok is false where the walk
// must decide, because it knows more, at a higher price. clean is at.Path cleaned. not_found is certain here, any other
// refusal comes from the walk.
func (s *Set) byKernel(at Ref, clean string, flags uint64) (h hit, ok bool, err error) {
	var passed []Passed
	for links := 0; links <= maxLinks; links++ {
		m := &s.members[at.Root]
		if s.walkOnly || m.below || m.root.noOpenat2.Load() {
			return hit{}, false, nil
		}
		if !m.root.h.hold() {
			return hit{}, false, released()
		}
		fd, err := m.openat2(at.Path, flags)
		if err == unix.ELOOP {
			at, err = s.replaceLink(m, at, &passed)
		}
		m.root.h.drop()
		switch {
		case fd >= 0:
			if links > 0 {
				if clean, err = checkPath(at.Path); err == nil {
					err = leftAgain(at, len(at.Path), m.mark, &passed)
				}
				if err != nil {
					unix.Close(fd)
					return hit{}, false, nil
				}
			}
			return hit{fd, Ref{at.Root, clean}, passed}, true, nil
		case err == unix.ENOENT && links == 0:
			return hit{}, false, refuse(rootbound.NotFound, "", err)
		case err == unix.EMFILE || err == unix.ENFILE || err == unix.ENOMEM:
			return hit{}, false, fail(err) // the walk would only need more
		case err != nil:
			return hit{}, false, nil
		}
	}
	return hit{}, false, nil
}

// openat2 resolves p beneath the root without following any link.
func (m *member) openat2(p string, flags uint64) (int, error) {
	if p == "" {
		p = "."
	}
	how := unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	if m.denyMounts {
		how.Resolve |= unix.RESOLVE_NO_XDEV
	}
	err := error(unix.EAGAIN)
	for n := 0; n < maxAgain && (err == unix.EAGAIN || err == unix.EINTR); n++ {
		var fd int
		if fd, err = unix.Openat2(m.root.h.fd, p, &how); err == nil {
			return fd, nil
		}
	}
	if err == unix.ENOSYS || err == unix.EPERM {
		// A filter may have come after the start, but EPERM has other causes too: never believe a single call.
		if !probe(m.root.h.fd) {
			m.root.noOpenat2.Store(true)
		}
	}
	return -1, err
}

// replaceLink puts the text of the first link of at.Path in its place. Which component is the first link is found by
// halving: a longer beginning of the path has a link if a shorter one has. EXDEV where the link's text must be judged
// by the walk. What the path passes up to there, the link too, is added to passed.
func (s *Set) replaceLink(m *member, at Ref, passed *[]Passed) (Ref, error) {
	cuts := make([]int, 1, 16) // where the n-th component ends
	for rest := at.Path; ; {
		name, more, _ := nextName(rest)
		if name == "" {
			break
		}
		cuts = append(cuts, len(at.Path)-len(rest)+noise(rest)+len(name))
		rest = more
	}
	dir := -1
	defer func() {
		if dir >= 0 {
			unix.Close(dir)
		}
	}()
	free, bound := 0, len(cuts)-1 // the first free components hold no link, the first bound ones do
	for bound-free > 1 {
		mid := (free + bound) / 2
		fd, err := m.openat2(at.Path[:cuts[mid]], unix.O_PATH|unix.O_DIRECTORY)
		switch {
		case err == nil:
			if dir >= 0 {
				unix.Close(dir)
			}
			dir, free = fd, mid
		case err == unix.ELOOP:
			bound = mid
		default:
			return at, err
		}
	}
	in := m.root.h.fd
	if dir >= 0 {
		in = dir
		var st unix.Stat_t
		if err := unix.Fstat(dir, &st); err != nil {
			return at, err
		}
		if uint64(st.Dev) != m.root.id.Dev {
			return at, unix.EXDEV // maybe a magic link
		}
	}
	name, rest, more := nextName(at.Path[cuts[free]:])
	target, err := readLink(in, name)
	if err != nil {
		return at, err // EINVAL: no link any more
	}
	if more {
		rest = "/" + rest
	}
	if err := leftAgain(at, cuts[free], m.mark, passed); err != nil {
		return at, err
	}
	up, err := checkPath(at.Path[:cuts[free]]) // what it leaves again is told by now, and must not be told once more
	if err == nil {
		*passed, err = pass(*passed, Passed{Ref{at.Root, join(up, name)}, m.mark, false, followed(*passed)})
	}
	if err != nil {
		return at, err
	}
	if target[0] == '/' {
		ref, ok := s.Map(target)
		if !ok {
			return at, unix.EXDEV
		}
		return Ref{ref.Root, ref.Path + rest}, nil
	}
	return Ref{at.Root, join(up, target+rest)}, nil
}

// leftAgain adds the directories that the first n bytes of a path, which hold no link, leave by "..".
func leftAgain(at Ref, n, mark int, passed *[]Passed) error {
	linked := followed(*passed)
	for rest := at.Path[:n]; ; {
		name, more, _ := nextName(rest)
		if name == "" {
			return nil
		}
		if name == ".." {
			before := at.Path[:n-len(rest)+noise(rest)]
			dir, err := checkPath(before)
			if err == nil {
				*passed, err = pass(*passed, Passed{Ref{at.Root, dir}, mark, true, linked})
			}
			if err != nil {
				return err
			}
		}
		rest = more
	}
}
