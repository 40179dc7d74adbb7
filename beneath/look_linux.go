package beneath

import (
	"io/fs"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// hold is what a Look holds: a descriptor, or an object.
type hold struct {
	fd     int // plus one
	object *Object
}

// Close gives the directory up. A second Close does nothing.
func (l *Look) Close() {
	if l.held.fd > 0 {
		unix.Close(l.held.fd - 1)
	}
	if l.held.object != nil {
		l.held.object.Close()
	}
	l.held = hold{}
}

// look is for who looks at each change: three system calls and nothing else wherever the kernel decides alone, on the
// root's own file system. All else goes the usual way.
func (p *Place) look(path, name string) (l Look, err error) {
	m := &p.set.members[p.at.Root]
	if p.set.walkOnly || m.below || m.root.noOpenat2.Load() || name != "" && !plainName(name) {
		return p.slowly(path, name)
	}
	if _, err := checkPath(path); err != nil {
		return l, err
	}
	if !m.root.h.hold() {
		return l, released()
	}
	fd, err := m.openat2(path, unix.O_PATH|unix.O_DIRECTORY)
	m.root.h.drop()
	if err != nil {
		return p.slowly(path, name) // which knows why
	}
	l = Look{At: Ref{p.at.Root, path}, Mark: m.mark, Name: name, held: hold{fd: fd + 1}}
	if l.Dir, err = statFd(fd); err == nil && l.Dir.ID.Dev != m.root.id.Dev {
		l.Close()
		return p.slowly(path, name)
	}
	if err == nil && name != "" {
		l.Entry, err = statAt(fd, name)
		if l.Gone = err == unix.ENOENT; l.Gone {
			err = nil
		}
	}
	if err == nil && kernelFS(m.root.magic) {
		err = refuse(rootbound.SpecialFile, "kernel", nil)
	}
	if err == nil && l.Dir.Mode&fs.ModeDir == 0 {
		err = refuse(rootbound.NotADirectory, "", nil)
	}
	if err != nil {
		l.Close()
		return Look{}, fail(err)
	}
	return l, nil
}
