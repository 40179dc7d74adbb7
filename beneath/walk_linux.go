package beneath

import (
	"io/fs"
	"strings"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// walk resolves one component at a time. Each directory on the way stays open, so ".." pops and is never asked of the
// kernel; each link is read from the descriptor that was looked at. It decides wherever the kernel alone cannot: links,
// mounts, nested projects, long paths, no openat2(2).
type walk struct {
	set       *Set
	unbounded bool // for OpenRoot: the root is "/", and ".." there stays there
	missingOK bool // stop at the first missing component, for MkdirAll

	root   int
	base   *handle // of the current root, held by the walk
	stack  []level
	path   []byte // reached
	linked bool   // a link was followed

	object int    // O_PATH descriptor of what was reached, -1 if nothing is there or atTop
	atTop  bool   // what was reached is the top of the stack, or the root
	info   Info   // of what was reached
	name   string // its name in the directory on top of the stack; "" if atTop
	rest   string // what follows a missing component (missingOK)
	byLink bool   // the last name was the text of a link, not of the caller
}

type level struct {
	fd   int
	id   ObjectID
	mark int
	cut  int // length of path without it
}

func (w *walk) close() {
	if w.object >= 0 && w.base != nil {
		unix.Close(w.object)
	}
	w.object = -1
	w.unwind()
	if w.base != nil {
		w.base.drop()
		w.base = nil
	}
}

func (w *walk) unwind() {
	for _, l := range w.stack {
		unix.Close(l.fd)
	}
	w.stack, w.path = w.stack[:0], w.path[:0]
}

// enter starts anew at the top of a member.
func (w *walk) enter(root int) error {
	h := w.set.members[root].root.h
	if !h.hold() {
		return released()
	}
	w.unwind()
	if w.base != nil {
		w.base.drop()
	}
	w.root, w.base = root, h
	return nil
}

func (w *walk) top() (fd int, id ObjectID, mark int) {
	if n := len(w.stack); n > 0 {
		l := &w.stack[n-1]
		return l.fd, l.id, l.mark
	}
	m := &w.set.members[w.root]
	return w.base.fd, m.root.id, m.mark
}

// objectFd is what was reached: the object, or the directory on top.
func (w *walk) objectFd() int {
	if w.atTop {
		fd, _, _ := w.top()
		return fd
	}
	return w.object
}

func (w *walk) reached() string {
	if w.name == "" {
		return string(w.path)
	}
	return join(string(w.path), w.name)
}

// run resolves p below member root. follow: a final link is followed too (a trailing slash asks for that anyway).
// Afterwards object, atTop, info and name tell what was reached; a missing final name is no error.
func (w *walk) run(root int, p string, follow bool) error {
	w.object = -1
	if err := w.enter(root); err != nil {
		return err
	}
	// text is what is still to be done; ends holds, for each link text being worked through, how many bytes of text
	// lie behind it. A component is the caller's own when no link text is left.
	text := p
	var ends []int
	links := 0
	for steps := 0; ; steps++ {
		if steps > maxSteps || len(text) > maxPath {
			return refuse(rootbound.PathInvalid, "too_long", nil)
		}
		name, rest, more := nextName(text)
		for len(ends) > 0 && len(text)-noise(text) <= ends[len(ends)-1] {
			ends = ends[:len(ends)-1]
		}
		if name == "" {
			return w.arriveAtTop()
		}
		if name == ".." {
			if n := len(w.stack); n > 0 {
				unix.Close(w.stack[n-1].fd)
				w.path = w.path[:w.stack[n-1].cut]
				w.stack = w.stack[:n-1]
				text = rest
				continue
			}
			if w.unbounded {
				text = rest
				continue
			}
			if len(ends) == 0 {
				return refuse(rootbound.OutsideRoot, "", nil)
			}
			tail := ends[len(ends)-1]
			next, err := w.reenter(text[:len(text)-tail], text[len(text)-tail:])
			if err != nil {
				return err
			}
			text = next
			continue
		}
		if len(name) > maxName {
			return refuse(rootbound.PathInvalid, "name_too_long", nil)
		}
		dir, dirID, mark := w.top()
		fd, err := openAt(dir, name, asPath, 0)
		last := onlyNoise(rest)
		if err == unix.ENOENT && (last || w.missingOK) {
			w.name, w.rest, w.byLink = name, rest, len(ends) > 0
			if more && !w.missingOK {
				return w.missing(p, text, rest, ends)
			}
			return nil
		}
		if err == unix.ENOENT {
			return w.missing(p, text, rest, ends)
		}
		if err != nil {
			return fail(err)
		}
		info, err := statFd(fd)
		if err != nil {
			unix.Close(fd)
			return fail(err)
		}
		if isLink(info) && (!last || follow || more) {
			target, err := w.readLink(fd, info)
			unix.Close(fd)
			if err != nil {
				return err
			}
			if links++; links > maxLinks {
				return refuse(rootbound.PathUnresolvable, "links", nil)
			}
			w.linked = true
			tail := rest
			if more {
				tail = "/" + rest
			}
			if target[0] == '/' {
				if text, err = w.jump(target, tail); err != nil {
					return err
				}
			} else {
				text = target + tail
			}
			ends = append(ends, len(tail))
			continue
		}
		if err := w.mayCross(dirID, info.ID); err != nil && !isLink(info) {
			unix.Close(fd)
			return err
		}
		if last {
			if more && !info.Mode.IsDir() {
				unix.Close(fd)
				return refuse(rootbound.PathInvalid, "trailing_slash", nil)
			}
			w.object, w.info, w.name, w.byLink = fd, info, name, len(ends) > 0
			return nil
		}
		if !info.Mode.IsDir() {
			unix.Close(fd)
			return refuse(rootbound.NotADirectory, "", nil)
		}
		if len(w.stack) >= maxDepth {
			unix.Close(fd)
			return refuse(rootbound.PathInvalid, "too_deep", nil)
		}
		if m := w.set.markOf(info.ID); m >= 0 {
			mark = m
		}
		w.stack = append(w.stack, level{fd, info.ID, mark, len(w.path)})
		if len(w.path) > 0 {
			w.path = append(w.path, '/')
		}
		w.path = append(w.path, name...)
		text = rest
	}
}

// noise counts the bytes before the first real component.
func noise(text string) int {
	name, rest, more := nextName(text)
	n := len(text) - len(name) - len(rest)
	if more {
		n--
	}
	return n
}

func (w *walk) arriveAtTop() error {
	fd, _, _ := w.top()
	info, err := statFd(fd)
	if err != nil {
		return fail(err)
	}
	w.atTop, w.info, w.name = true, info, ""
	return nil
}

// missing names the first missing part in the caller's own words, or not at all if a link's text was on the way.
func (w *walk) missing(p, text, rest string, ends []int) error {
	detail := ""
	if len(ends) == 0 && !w.linked {
		detail = strings.TrimRight(p[:len(p)-len(rest)], "/")
	}
	return refuse(rootbound.NotFound, detail, missingPart{})
}

// missingPart tells a missing directory on the way from a missing final name.
type missingPart struct{}

func (missingPart) Error() string { return "a directory on the way is missing" }

// readLink refuses the links of kernel file systems, which lead where their text does not say.
func (w *walk) readLink(fd int, info Info) (string, error) {
	m := &w.set.members[w.root]
	if info.ID.Dev != m.root.id.Dev {
		magic, err := fsMagic(fd)
		if err != nil {
			return "", fail(err)
		}
		if kernelFS(magic) {
			return "", refuse(rootbound.PathUnresolvable, "magic_link", nil)
		}
	}
	target, err := readLink(fd)
	if err == nil && target == "" {
		err = unix.ENOENT
	}
	return target, fail(err)
}

// jump follows an absolute link: its text must name a member by itself.
func (w *walk) jump(target, tail string) (text string, err error) {
	ref, ok := w.set.Map(target)
	if !ok {
		return "", refuse(rootbound.OutsideRoot, "", nil)
	}
	if err := w.enter(ref.Root); err != nil {
		return "", err
	}
	return ref.Path + tail, nil
}

// reenter follows a link whose text climbs above the root at text: the climb goes up the canonical path of the root,
// which holds no links, and what then follows in the same link's text must name a member again.
func (w *walk) reenter(text, tail string) (string, error) {
	above := w.set.members[w.root].root.path
	for {
		name, rest, _ := nextName(text)
		if name != ".." {
			break
		}
		above, text = parentOf(above), rest
	}
	return w.jump(above+"/"+text, tail)
}

// mayCross applies the member's mount policy to one step from a directory to an entry of it.
func (w *walk) mayCross(from, to ObjectID) error {
	return w.set.mayCross(w.root, from, to)
}

// missingFinal reports whether err says that only the final name is missing.
func isMissingPart(err error) bool {
	e, ok := err.(*rootbound.Error)
	if !ok {
		return false
	}
	_, ok = e.Err.(missingPart)
	return ok
}

// checkKind applies contract §5 to what a handle reached: regular files and directories, none of a kernel file system.
// magic is 0 if the object shares the root's file system.
func (s *Set) checkKind(root, fd int, info Info, how How) (magic uint32, err error) {
	r := s.members[root].root
	if info.ID.Dev != r.id.Dev {
		if magic, err = fsMagic(fd); err != nil {
			return 0, fail(err)
		}
		if kernelFS(magic) {
			return 0, refuse(rootbound.SpecialFile, "kernel", nil)
		}
	} else if kernelFS(r.magic) {
		return 0, refuse(rootbound.SpecialFile, "kernel", nil)
	}
	switch {
	case info.Mode&fs.ModeType == 0:
		if how == Dir {
			return 0, refuse(rootbound.NotADirectory, "", nil)
		}
	case info.Mode.IsDir():
		if how == File {
			return 0, refuse(rootbound.IsADirectory, "", nil)
		}
	case isLink(info):
		return 0, refuse(rootbound.PathUnresolvable, "link", nil)
	default:
		return 0, refuse(rootbound.SpecialFile, kindName(info.Mode), nil)
	}
	return magic, nil
}

func kindName(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "fifo"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return ""
}
