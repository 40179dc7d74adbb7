//go:build !linux

package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/rootbound/rootbound"
)

// Root is a held directory, reference counted. Safe for concurrent use.
//
// On this system it stands on os.Root; see Tier for what differs from Linux. Not tested at run time.
type Root struct {
	r             *os.Root
	refs          atomic.Int64
	id            ObjectID
	path, spelled string
}

// OpenRoot opens and pins dir (absolute): root_unusable (Detail "missing", "not_a_directory", "unreadable").
func OpenRoot(dir string) (*Root, error) {
	spelled, ok := tidy(filepath.ToSlash(dir))
	if filepath.IsAbs(dir) && !ok { // a drive letter
		spelled, ok = tidy("/" + filepath.ToSlash(dir))
	}
	if !ok {
		return nil, relative()
	}
	if strings.IndexByte(dir, 0) >= 0 {
		return nil, unusable("missing", nil)
	}
	if i, err := os.Stat(dir); err != nil { // before the open, which would wait for ever at a FIFO
		return nil, unusable("missing", err)
	} else if !i.IsDir() {
		return nil, unusable("not_a_directory", nil)
	}
	held, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unusable("unreadable", err)
	}
	real, err := filepath.EvalSymlinks(dir)
	r := &Root{r: held, spelled: spelled}
	r.refs.Store(1)
	var info Info
	if err == nil {
		info, err = r.Info()
	}
	if err != nil {
		held.Close()
		return nil, unusable("unreadable", err)
	}
	r.id = info.ID
	if r.path, ok = tidy(filepath.ToSlash(real)); !ok {
		r.path, _ = tidy("/" + filepath.ToSlash(real))
	}
	if r.Unmoved() != nil { // the path that was resolved and the directory that was opened are not one
		held.Close()
		return nil, unusable("unreadable", nil)
	}
	return r, nil
}

func unusable(detail string, cause error) error { return refuse(rootbound.RootUnusable, detail, cause) }

// Retain takes one more reference. A root whose last reference is gone stays unusable.
func (r *Root) Retain() *Root {
	for n := r.refs.Load(); n > 0; n = r.refs.Load() {
		if r.refs.CompareAndSwap(n, n+1) {
			break
		}
	}
	return r
}

// Release gives one reference back; the last one closes the directory. os.Root itself keeps a handle that is in use.
func (r *Root) Release() {
	for n := r.refs.Load(); n > 0; n = r.refs.Load() {
		if r.refs.CompareAndSwap(n, n-1) {
			if n == 1 {
				r.r.Close()
			}
			return
		}
	}
}

// ID is the identity the root was opened with.
func (r *Root) ID() ObjectID { return r.id }

// Path is the canonical path at the time the root was opened, with "/" as separator; for mapping, never shown.
func (r *Root) Path() string { return r.path }

// Spelled is the text given to OpenRoot, cleaned of doubled slashes and ".", with "/" as separator.
func (r *Root) Spelled() string { return r.spelled }

// Info describes the root now.
func (r *Root) Info() (Info, error) {
	f, err := r.r.Open(".")
	if err != nil {
		return Info{}, fail(err)
	}
	defer f.Close()
	return infoOfFile(f)
}

// Holds reports whether sub is r or lies beneath it, and its path inside r ("" = r itself).
func (r *Root) Holds(sub *Root) (string, bool) {
	if r.id == sub.id {
		return "", true
	}
	rest, ok := after(r.path, sub.path)
	rest = strings.TrimLeft(rest, "/")
	if !ok || rest == "" {
		return "", false
	}
	f, err := r.r.Open(rest)
	if err != nil {
		return "", false
	}
	defer f.Close()
	i, err := infoOfFile(f)
	return rest, err == nil && i.ID == sub.id
}

// Unmoved checks that the spelled path still reaches this object: root_replaced otherwise.
func (r *Root) Unmoved() error {
	now, err := os.Stat(systemPath(r.spelled))
	if err != nil {
		return refuse(rootbound.RootReplaced, "missing", err)
	}
	held, err := r.r.Stat(".")
	if err != nil || !os.SameFile(now, held) {
		return refuse(rootbound.RootReplaced, "", err)
	}
	return nil
}

// systemPath undoes what OpenRoot did to a drive letter.
func systemPath(p string) string {
	if len(p) > 2 && p[2] == ':' {
		p = p[1:]
	}
	return filepath.FromSlash(p)
}

// Tier names the resolver in use: "os.Root". On Linux it is "openat2" or "walk".
//
// This tier is built and vetted but was never run by us. Links are read and put in place by name before the open, so
// absolute links work where their text names a member; os.Root then keeps the open inside even if a name changes in
// between, but At may tell the name that was looked at. A FIFO or device is told apart before the open and again after
// it. Mounts are not seen, so DenyMounts refuses nothing and kernel file systems are served. Replacing a file checks the
// old version right before the rename instead of swapping back. Owner, ACL and attributes are not kept. Renaming between
// two roots is cross_device. Directories are renamed after a look whether the name is free.
func Tier() string { return "os.Root" }

func infoOfFile(f *os.File) (Info, error) {
	fi, err := f.Stat()
	if err != nil {
		return Info{}, fail(err)
	}
	i := infoOf(fi)
	if i.ID == (ObjectID{}) {
		i.ID, i.Links = idOfHandle(f)
	}
	return i, nil
}

// fail names what the system said.
func fail(err error) error {
	var e *rootbound.Error
	var no syscall.Errno
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return refuse(rootbound.NotFound, "", err)
	case errors.Is(err, syscall.ENOTEMPTY):
		return refuse(rootbound.Exists, "not_empty", err)
	case errors.Is(err, fs.ErrExist):
		return refuse(rootbound.Exists, "", err)
	case errors.Is(err, fs.ErrClosed):
		return released()
	case errors.As(err, &no):
		switch no {
		case syscall.ENOTDIR:
			return refuse(rootbound.NotADirectory, "", err)
		case syscall.EISDIR:
			return refuse(rootbound.IsADirectory, "", err)
		case syscall.ELOOP:
			return refuse(rootbound.PathUnresolvable, "", err)
		case syscall.EXDEV:
			return refuse(rootbound.CrossDevice, "", err)
		}
		return refuse(rootbound.IOError, no.Error(), err)
	case strings.Contains(err.Error(), "escapes"): // os.Root has no exported error for it
		return refuse(rootbound.OutsideRoot, "", err)
	}
	return refuse(rootbound.IOError, "", err)
}
