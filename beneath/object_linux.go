package beneath

import (
	"io"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Object is an open file or directory. Not safe for concurrent use except ReadAt, Stat, Close and the getters: a read
// that is under way when Close comes still ends on this object.
type Object struct {
	h      handle
	shut   atomic.Bool
	set    *Set
	at     Ref
	mark   int
	info   Info
	magic  uint32 // 0: the root's
	passed []Passed
	show   func(reached *Object) bool // of Show
}

// Show makes Node.Target ask, during walks and lists of o, whether what a link reaches may be described. Before the
// first walk, not during one.
func (o *Object) Show(may func(reached *Object) bool) { o.show = may }

func (o *Object) hold() error {
	if o.shut.Load() || !o.h.hold() {
		return released()
	}
	return nil
}

// At is where the object was reached, links replaced.
func (o *Object) At() Ref { return o.at }

// Mark is the index of the innermost mark at or above the object, -1 for none.
func (o *Object) Mark() int { return o.mark }

// Info is the state in which the object was opened.
func (o *Object) Info() Info { return o.info }

// Linked reports whether a symlink was followed on the way.
func (o *Object) Linked() bool { return followed(o.passed) }

// Passed tells what the way to it led through: all of it where a link was followed. Not to be changed.
func (o *Object) Passed() []Passed { return o.passed }

// IsDir reports whether the object is a directory.
func (o *Object) IsDir() bool { return o.info.Mode.IsDir() }

// Crossed reports whether the object is on another mount than its root.
func (o *Object) Crossed() bool { return o.info.ID.Mount != o.set.members[o.at.Root].root.id.Mount }

// FS is the file system type's name, or its magic in hex.
func (o *Object) FS() string {
	if o.magic != 0 {
		return fsName(o.magic)
	}
	return fsName(o.set.members[o.at.Root].root.magic)
}

// Stat describes the object now.
func (o *Object) Stat() (Info, error) {
	if err := o.hold(); err != nil {
		return Info{}, err
	}
	defer o.h.drop()
	i, err := statFd(o.h.fd)
	return i, fail(err)
}

// ReadAt reads like io.ReaderAt. Safe for concurrent use.
func (o *Object) ReadAt(p []byte, off int64) (int, error) {
	if err := o.hold(); err != nil {
		return 0, err
	}
	defer o.h.drop()
	done := 0
	for done < len(p) {
		n, err := unix.Pread(o.h.fd, p[done:], off+int64(done))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, fail(err)
		}
		if n == 0 {
			return done, io.EOF
		}
		done += n
	}
	return done, nil
}

// Close gives the object up. A second Close does nothing.
func (o *Object) Close() error {
	if !o.shut.Swap(true) {
		o.h.drop()
	}
	return nil
}
