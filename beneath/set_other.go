//go:build !linux

package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rootbound/rootbound"
)

// Set is an immutable, ordered set of roots; see the Linux documentation. Safe for concurrent use.
type Set struct {
	members []Member
	base    []int // mark of each root
	paths   []spelling
	marks   []ObjectID
}

// NewSet makes a set of members in their order.
func NewSet(members []Member, marks []ObjectID) *Set {
	s := &Set{members: members, paths: spellings(members), marks: marks}
	for _, m := range members {
		mark := s.markOf(m.Root.id)
		for p := m.Root.path; mark < 0 && len(marks) > 0 && p != parentOf(p); {
			p = parentOf(p)
			if f, err := os.Open(systemPath(p)); err == nil {
				if i, err := infoOfFile(f); err == nil {
					mark = s.markOf(i.ID)
				}
				f.Close()
			}
		}
		s.base = append(s.base, mark)
	}
	return s
}

// Map maps an absolute path by components to the longest member path; the remainder is returned uncleaned.
func (s *Set) Map(abs string) (Ref, bool) {
	abs = filepath.ToSlash(abs)
	if filepath.VolumeName(abs) != "" {
		abs = "/" + abs
	}
	return mapPath(s.paths, abs)
}

func (s *Set) markOf(id ObjectID) int {
	for i, m := range s.marks {
		if m.Same(id) {
			return i
		}
	}
	return -1
}

// arrival is where reading the links on the way led: a path below root without a link, at the time it was looked at.
type arrival struct {
	root    int
	names   []string
	info    fs.FileInfo // nil: the final name is missing
	linked  bool
	passed  []Passed
	lost    *Passed  // an error: the link that cannot be followed
	noDir   bool     // an error: the last name is no directory
	rest    string   // an error: the names behind the last one
	byLink  bool     // the final name is the text of a link
	missing []string // names from the first missing one on, if more than the final one is missing
}

func (a *arrival) path() string { return strings.Join(a.names, "/") }

func (a *arrival) open() string {
	if len(a.names) == 0 {
		return "."
	}
	return filepath.FromSlash(a.path())
}

// read puts the text of each link on the way in its place. os.Root then opens what is left, and keeps it inside. An error
// comes with what was found until then, where that is anything.
func (s *Set) read(at Ref, follow bool) (*arrival, error) {
	if at.Root < 0 || at.Root >= len(s.members) {
		return nil, refuse(rootbound.OutsideRoot, "", nil)
	}
	if _, err := checkPath(at.Path); err != nil {
		return nil, err
	}
	a := &arrival{root: at.Root}
	text := at.Path
	var within []linkText
	links := 0
	for range maxSteps {
		for n := len(within); n > 0 && len(text)-noise(text) <= within[n-1].tail; n-- {
			within = within[:n-1]
		}
		name, rest, more := nextName(text)
		r := s.members[a.root].Root.r
		switch {
		case name == "":
			i, err := r.Lstat(a.open())
			a.info = i
			return a, fail(err)
		case name == ".." && len(a.names) > 0:
			var err error
			if a.passed, err = pass(a.passed, Passed{Ref{a.root, a.path()}, s.markAbove(a, len(a.names)), true, a.linked}); err != nil {
				return a, err
			}
			a.names, text = a.names[:len(a.names)-1], rest
			continue
		case name == "..":
			if len(within) == 0 {
				return a, refuse(rootbound.OutsideRoot, "", nil)
			}
			in := within[len(within)-1]
			cut := len(text) - in.tail
			ref, ok := mapPath(s.paths, climbOut(s.members[a.root].Root.path, text[:cut]))
			if !ok {
				a.lost = &in.link
				return a, refuse(rootbound.OutsideRoot, "", nil)
			}
			a.root, text = ref.Root, ref.Path+text[cut:]
			continue
		case !filepath.IsLocal(name):
			return a, refuse(rootbound.PathInvalid, "name_not_possible", nil)
		}
		last := onlyNoise(rest)
		a.names = append(a.names, name)
		i, err := r.Lstat(a.open())
		if errors.Is(err, fs.ErrNotExist) {
			a.byLink = len(within) > 0
			if last {
				return a, nil
			}
			a.names = a.names[:len(a.names)-1]
			for ; name != ""; name, rest, _ = nextName(rest) {
				a.missing = append(a.missing, name)
			}
			return a, nil
		}
		if err != nil {
			a.rest = rest
			return a, fail(err)
		}
		if i.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 && (!last || follow || more) { // junctions are irregular
			p := Passed{Ref{a.root, a.path()}, s.markAbove(a, len(a.names)-1), false, a.linked}
			a.lost, a.linked = &p, true
			if a.passed, err = pass(a.passed, p); err != nil {
				return a, err
			}
			if links++; links > maxLinks {
				return a, refuse(rootbound.PathUnresolvable, "links", nil)
			}
			target, err := r.Readlink(a.open())
			if err != nil {
				return a, fail(err)
			}
			a.names = a.names[:len(a.names)-1]
			tail := rest
			if more {
				tail = "/" + rest
			}
			if filepath.IsAbs(target) {
				ref, ok := s.Map(target)
				if !ok {
					return a, refuse(rootbound.OutsideRoot, "", nil)
				}
				a.root, a.names, target = ref.Root, nil, ref.Path
			}
			if text = filepath.ToSlash(target) + tail; len(text) > maxPath {
				return a, refuse(rootbound.PathInvalid, "too_long", nil)
			}
			within = append(within, linkText{p, len(tail)})
			a.lost = nil
			continue
		}
		if last {
			if more && !i.IsDir() {
				a.noDir = true
				return a, slashAtEnd()
			}
			a.info, a.byLink = i, len(within) > 0
			return a, nil
		}
		if !i.IsDir() {
			a.noDir, a.rest = true, rest
			return a, refuse(rootbound.NotADirectory, "", nil)
		}
		text = rest
	}
	return a, refuse(rootbound.PathInvalid, "too_long", nil)
}

// markAbove is the innermost mark at or above the first n names.
func (s *Set) markAbove(a *arrival, n int) int {
	for ; n > 0 && len(s.marks) > 0; n-- {
		f, err := s.members[a.root].Root.r.Open(filepath.Join(a.names[:n]...))
		if err != nil {
			continue
		}
		i, err := infoOfFile(f)
		f.Close()
		if m := s.markOf(i.ID); err == nil && m >= 0 {
			return m
		}
	}
	return s.base[a.root]
}

func checkKind(m fs.FileMode, how How) error {
	switch {
	case m.IsDir() && how == File:
		return refuse(rootbound.IsADirectory, "", nil)
	case m.IsDir():
	case m&fs.ModeType == 0 && how == Dir:
		return refuse(rootbound.NotADirectory, "", nil)
	case m&fs.ModeType == 0:
	case m&fs.ModeSymlink != 0:
		return refuse(rootbound.PathUnresolvable, "link", nil)
	default:
		return refuse(rootbound.SpecialFile, "", nil)
	}
	return nil
}

// Open resolves at, checks the kind before and on the handle, and returns it. Errors as on Linux.
func (s *Set) Open(at Ref, how How) (*Object, error) {
	a, err := s.read(at, true)
	if err != nil {
		return nil, err
	}
	if a.info == nil {
		return nil, refuse(rootbound.NotFound, "", nil)
	}
	mark := s.markAbove(a, len(a.names))
	return s.open(s.members[a.root].Root.r, a.open(), a.info, Ref{a.root, a.path()}, mark, how, a.passed)
}

func (s *Set) open(r *os.Root, name string, seen fs.FileInfo, at Ref, mark int, how How, passed []Passed) (*Object, error) {
	if err := checkKind(seen.Mode(), how); err != nil {
		return nil, err
	}
	f, err := r.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, fail(err)
	}
	i, err := infoOfFile(f)
	if err == nil {
		err = checkKind(i.Mode, how)
	}
	if now, err2 := f.Stat(); err == nil && (err2 != nil || !os.SameFile(now, seen)) {
		err = &rootbound.Error{Reason: rootbound.IOError, Detail: "changing", Retryable: true}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Object{set: s, f: f, at: at, info: i, mark: mark, passed: passed}, nil
}
