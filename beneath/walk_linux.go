package beneath

import (
	"strings"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// walk resolves one component at a time. The directories on the way stay open, so ".." pops; the kernel is asked for it only
// where so many lie below that one was closed, and must then give that very directory. Each link is read from the descriptor that was looked at. It decides wherever the kernel alone cannot: links
// out of a root and back, mounts, nested projects, long paths, no openat2(2).
type walk struct {
	set       *Set
	unbounded bool // for OpenRoot: the root is "/", and ".." there stays there
	missingOK bool // stop at the first missing component, for MkdirAll
	read      bool // open the object for reading where that is possible at once

	// text is what is still to be done of sent; within holds the links whose text is being worked through. A component is
	// the caller's own when there is none.
	sent, text string
	within     []linkText
	links      int
	passed     []Passed // whatever the path was, once a link was followed or a ".." left something
	lost       *Passed  // a link that cannot be followed
	stuck      End      // why the top of the stack cannot be gone through
	slash      bool     // the final name is no directory, and a slash follows it

	root  int
	base  *handle // of the current root, held by the walk
	stack []level
	path  []byte // reached

	object int    // O_PATH (or opened) descriptor of what was reached, -1 if nothing is there or atTop
	opened bool   // object is open for reading
	atTop  bool   // what was reached is the top of the stack, or the root
	info   Info   // of what was reached
	name   string // its name in the directory on top of the stack; "" if atTop
	rest   string // what follows a missing component (missingOK)
}

// level is one component on the way. It is settled once it is known to be a directory; until something is opened in it,
// it may be anything, and opening in it fails with ENOTDIR for all but directories.
type level struct {
	fd      int // -1: closed, and was is who it is. The top is never closed
	was     ObjectID
	cut     int // length of path without it
	settled bool
	id      ObjectID // where marks or mounts ask for it
	mark    int
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
		if l.fd >= 0 {
			unix.Close(l.fd)
		}
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

func (w *walk) pop() level {
	l := w.stack[len(w.stack)-1]
	w.stack, w.path = w.stack[:len(w.stack)-1], w.path[:l.cut]
	return l
}

func (w *walk) top() (fd int, id ObjectID, mark int) { return w.under(len(w.stack)) }

// under is the directory below which level n is, or will be.
func (w *walk) under(n int) (fd int, id ObjectID, mark int) {
	if n > 0 {
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
	w.object, w.sent, w.text = -1, p, p
	if err := w.enter(root); err != nil {
		return err
	}
	for range maxSteps {
		for n := len(w.within); n > 0 && len(w.text)-noise(w.text) <= w.within[n-1].tail; n-- {
			w.within = w.within[:n-1]
		}
		var done bool
		var err error
		switch name, rest, more := nextName(w.text); {
		case name == "":
			return w.arriveAtTop()
		case name == "..":
			err = w.up(rest)
		case len(name) > maxName:
			err = w.refuse("name_too_long")
		case onlyNoise(rest):
			done, err = w.final(name, rest, more, follow)
		default:
			done, err = w.down(name, rest)
		}
		if done || err != nil {
			return err
		}
	}
	for {
		if err := w.refuse("too_long"); err != nil {
			return err
		}
	}
}

// refuse says that the next name is one too many, of what is on top if that is a directory: else what it is comes first.
func (w *walk) refuse(detail string) error {
	if n := len(w.stack); n > 0 && !w.stack[n-1].settled {
		return w.settle()
	}
	return refuse(rootbound.PathInvalid, detail, nil)
}

// up pops. At a root the caller's own ".." is refused; that of a link's text may lead to a member again.
func (w *walk) up(rest string) error {
	n := len(w.stack)
	switch {
	case n > 0 && !w.stack[n-1].settled:
		return w.settle() // "file/.." is no path, and ".." after a link is of where it leads
	case n > 0:
		if err := w.pass(Passed{Ref{w.root, string(w.path)}, w.stack[n-1].mark, true, w.links > 0}); err != nil {
			w.stuck = Unknown
			return err
		}
		if err := w.regain(); err != nil {
			w.stuck = Unknown
			return err
		}
		unix.Close(w.pop().fd)
		w.text = rest
		return nil
	case w.unbounded:
		w.text = rest
		return nil
	case len(w.within) == 0:
		return refuse(rootbound.OutsideRoot, "", nil)
	}
	in := w.within[len(w.within)-1]
	w.lost = &in.link
	tail := len(w.text) - in.tail
	return w.jump(climbOut(w.set.members[w.root].root.path, w.text[:tail]), w.text[tail:])
}

// spare closes the level that is one too many to be held: one path must not take the descriptors of all others.
func (w *walk) spare() error {
	n := len(w.stack) - heldLevels
	if n < 1 || w.stack[n-1].fd < 0 {
		return nil
	}
	l := &w.stack[n-1]
	i, err := statFd(l.fd)
	if err != nil {
		return fail(err)
	}
	unix.Close(l.fd)
	l.fd, l.was = -1, i.ID
	return nil
}

// regain opens the level below the top again, which is about to be the top, by "..": moved_out if that is another by now.
func (w *walk) regain() error {
	n := len(w.stack) - 1
	if n < 1 || w.stack[n-1].fd >= 0 {
		return nil
	}
	fd, err := openAt(w.stack[n].fd, "..", asPath, 0)
	if err != nil {
		return fail(err)
	}
	if i, err := statFd(fd); err != nil || i.ID != w.stack[n-1].was {
		unix.Close(fd)
		return refuse(rootbound.MovedOut, "", err)
	}
	w.stack[n-1].fd = fd
	return nil
}

// down goes into a directory, or what will turn out to be one.
func (w *walk) down(name, rest string) (done bool, err error) {
	if len(w.stack) >= maxDepth {
		return false, w.refuse("too_deep")
	}
	dir, _, _ := w.top()
	fd, err := openAt(dir, name, asPath, 0)
	switch {
	case err == unix.ENOENT && w.missingOK:
		w.name, w.rest = name, rest
		return true, nil
	case err == unix.ENOENT:
		return true, w.missing(rest)
	case err == unix.ENOTDIR:
		return false, w.settle()
	case err != nil:
		return true, fail(err)
	}
	if n := len(w.stack); n > 0 {
		w.stack[n-1].settled = true
	}
	w.stack = append(w.stack, level{fd: fd, cut: len(w.path)})
	if len(w.path) > 0 {
		w.path = append(w.path, '/')
	}
	w.path = append(w.path, name...)
	w.text = rest
	if err := w.spare(); err != nil {
		return true, err
	}
	if len(w.set.marks) > 0 || w.set.members[w.root].denyMounts {
		return false, w.settle()
	}
	w.stack[len(w.stack)-1].mark = -1
	return false, nil
}

// settle finds out what the top of the stack is: a directory stays, a link is replaced by its text.
func (w *walk) settle() error {
	n := len(w.stack)
	if n == 0 || w.stack[n-1].settled {
		return fail(unix.ENOTDIR)
	}
	l := &w.stack[n-1]
	kind, id, err := w.look(l.fd)
	switch {
	case err != nil:
		w.stuck = Unknown
		return fail(err)
	case kind == unix.S_IFLNK:
		at := Ref{w.root, string(w.path)}
		link := w.pop().fd
		defer unix.Close(link)
		return w.splice(link, id, at, "/"+w.text)
	case kind != unix.S_IFDIR:
		w.stuck = NoDir
		return refuse(rootbound.NotADirectory, "", nil)
	}
	_, above, mark := w.under(n - 1)
	if m := w.set.markOf(id); m >= 0 {
		mark = m
	}
	l.settled, l.id, l.mark = true, id, mark
	if err := w.set.mayCross(w.root, above, id); err != nil {
		w.stuck = Unknown
		return err
	}
	return nil
}

// final looks at the last component.
func (w *walk) final(name, rest string, more, follow bool) (done bool, err error) {
	dir, _, _ := w.top()
	if w.read && !more {
		if fd, err := openAt(dir, name, asRead, 0); err == nil {
			w.opened = true
			return true, w.arrive(fd, name)
		} // a link, a socket, nothing, no permission, no directory: the next look tells
	}
	fd, err := openAt(dir, name, asPath, 0)
	switch {
	case err == unix.ENOENT && (w.missingOK || !more):
		w.name, w.rest = name, rest
		return true, nil
	case err == unix.ENOENT:
		return true, w.missing(rest)
	case err == unix.ENOTDIR:
		return false, w.settle()
	case err != nil:
		return true, fail(err)
	}
	kind, id, err := w.look(fd)
	switch {
	case err != nil:
		err = fail(err)
	case kind == unix.S_IFLNK && (follow || more):
		if more {
			rest = "/" + rest
		}
		defer unix.Close(fd)
		return false, w.splice(fd, id, Ref{w.root, join(string(w.path), name)}, rest)
	case kind != unix.S_IFDIR && more:
		w.slash = true
		err = slashAtEnd()
	default:
		return true, w.arrive(fd, name)
	}
	unix.Close(fd)
	return true, err
}

// look tells kind and identity of a component; the mount only where the policy asks for it, because it costs more.
func (w *walk) look(fd int) (kind uint32, id ObjectID, err error) {
	if w.set.members[w.root].denyMounts {
		var st unix.Statx_t
		if err := statx(fd, "", unix.AT_EMPTY_PATH, &st); err == nil {
			return uint32(st.Mode) & unix.S_IFMT, idOf(&st), nil
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, ObjectID{}, err
	}
	return st.Mode & unix.S_IFMT, ObjectID{Dev: uint64(st.Dev), Ino: st.Ino}, nil
}

// arrive takes over the descriptor of the final component.
func (w *walk) arrive(fd int, name string) error {
	info, err := statFd(fd)
	if err == nil {
		_, above, _ := w.top()
		err = w.set.mayCross(w.root, above, info.ID)
	}
	if err != nil {
		unix.Close(fd)
		return fail(err)
	}
	w.object, w.info, w.name = fd, info, name
	return nil
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

// missing names the first missing part in the caller's own words, or not at all if a link was on the way.
func (w *walk) missing(rest string) error {
	detail := ""
	if w.links == 0 {
		detail = strings.TrimRight(w.sent[:len(w.sent)-len(rest)], "/")
	}
	return refuse(rootbound.NotFound, detail, missingPart{})
}

// missingPart tells a missing directory on the way from a missing final name.
type missingPart struct{}

func (missingPart) Error() string { return "a directory on the way is missing" }

// isMissingPart reports whether err says that a directory on the way is missing.
func isMissingPart(err error) bool {
	e, ok := err.(*rootbound.Error)
	if !ok {
		return false
	}
	_, ok = e.Err.(missingPart)
	return ok
}
