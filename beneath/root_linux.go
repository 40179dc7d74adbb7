package beneath

import (
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// Root is a held directory, reference counted. Safe for concurrent use.
type Root struct {
	h             *handle // O_PATH
	id            ObjectID
	magic         uint32
	path, spelled string
	noOpenat2     atomic.Bool // a filter is never taken back, so once true it stays true
}

// OpenRoot opens and pins dir (absolute). Refuses what is no directory, unreadable, or on a kernel file system:
// *rootbound.Error root_unusable (Detail "missing", "not_a_directory", "unreadable", "special").
func OpenRoot(dir string) (*Root, error) {
	spelled, ok := tidy(dir)
	if !ok {
		return nil, relative()
	}
	if strings.IndexByte(dir, 0) >= 0 || len(dir) > maxPath {
		return nil, unusable("missing", nil)
	}
	top, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unusable("unreadable", err)
	}
	// The operator's and the client's spelling is trusted to name a directory, so it is resolved from the top with no
	// boundary; where it arrives is the canonical path, and the descriptor it arrives with is the root.
	base := &Root{h: newHandle(top), path: "/", spelled: "/"}
	defer base.Release()
	if i, err := statFd(top); err == nil {
		base.id = i.ID
	}
	base.magic, _ = fsMagic(top)
	w := walk{set: NewSet([]Member{{Root: base}}, nil), unbounded: true}
	defer w.close()
	if err := w.run(0, strings.TrimPrefix(spelled, "/"), true); err != nil {
		return nil, unusableFrom(err)
	}
	if w.object < 0 && !w.atTop {
		return nil, unusable("missing", unix.ENOENT)
	}
	if !w.info.Mode.IsDir() {
		return nil, unusable("not_a_directory", nil)
	}
	fd, err := openAt(w.objectFd(), ".", asPath, 0)
	if err != nil {
		return nil, unusable("unreadable", err)
	}
	r := &Root{h: newHandle(fd), id: w.info.ID, path: "/" + w.reached(), spelled: spelled}
	if r.magic, err = fsMagic(fd); err == nil && kernelFS(r.magic) {
		r.Release()
		return nil, unusable("special", nil)
	}
	if err := readable(fd); err != nil {
		r.Release()
		return nil, unusable("unreadable", err)
	}
	r.noOpenat2.Store(!probe(fd))
	return r, nil
}

// readable asks for the permission and does not open: a process that confined itself to its projects may not open what
// lies around them, and must still tell that a client's root contains one. Kernels without faccessat2(2) have no such
// confinement; there the open decides.
func readable(fd int) error {
	err := unix.Faccessat2(fd, ".", unix.R_OK|unix.X_OK, unix.AT_EACCESS)
	if err != unix.ENOSYS && err != unix.EPERM && err != unix.EINVAL {
		return err
	}
	list, err := openAt(fd, ".", asDir, 0)
	if err != nil {
		return err
	}
	return unix.Close(list)
}

func unusable(detail string, cause error) error {
	return refuse(rootbound.RootUnusable, detail, cause)
}

func unusableFrom(err error) error {
	switch rootbound.ReasonOf(err) {
	case rootbound.NotFound, rootbound.PathInvalid:
		return unusable("missing", err)
	case rootbound.NotADirectory:
		return unusable("not_a_directory", err)
	case rootbound.SpecialFile, rootbound.PathUnresolvable:
		return unusable("special", err)
	}
	return unusable("unreadable", err)
}

// probe reports whether openat2(2) works at all, whatever a single call says.
func probe(fd int) bool {
	got, err := unix.Openat2(fd, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH})
	if err != nil {
		return false
	}
	unix.Close(got)
	return true
}

// Retain takes one more reference. A root whose last reference is gone stays unusable.
func (r *Root) Retain() *Root { r.h.hold(); return r }

// Release gives one reference back; the last one closes the directory.
func (r *Root) Release() { r.h.drop() }

// ID is the identity the root was opened with.
func (r *Root) ID() ObjectID { return r.id }

// Path is the canonical path at the time the root was opened; for mapping, never shown.
func (r *Root) Path() string { return r.path }

// Spelled is the text given to OpenRoot, cleaned of doubled slashes and ".".
func (r *Root) Spelled() string { return r.spelled }

// Info describes the root now.
func (r *Root) Info() (Info, error) {
	if !r.h.hold() {
		return Info{}, released()
	}
	defer r.h.drop()
	i, err := statFd(r.h.fd)
	return i, fail(err)
}

// Holds reports whether sub is r or lies beneath it by ".."-ancestry of objects, and its path inside r ("" = r itself).
// The paths only propose where to look; held directories and identities decide.
func (r *Root) Holds(sub *Root) (string, bool) {
	if r.id == sub.id {
		return "", true
	}
	rest, ok := after(r.path, sub.path)
	if !ok || !r.h.hold() {
		return "", false
	}
	defer r.h.drop()
	rest = strings.TrimLeft(rest, "/")
	fd, own := r.h.fd, -1
	for name, more, _ := nextName(rest); name != ""; name, more, _ = nextName(more) {
		next, err := openAt(fd, name, asPath, 0)
		if own >= 0 {
			unix.Close(own)
		}
		if err != nil {
			return "", false
		}
		fd, own = next, next
	}
	if own < 0 {
		return "", false
	}
	defer unix.Close(own)
	i, err := statFd(own)
	return rest, err == nil && i.ID == sub.id
}

// Unmoved checks that the spelled path still reaches this object: root_replaced otherwise. One system call.
func (r *Root) Unmoved() error {
	i, err := stat(unix.AT_FDCWD, r.spelled, 0) // absolute, so the working directory plays no part
	if err != nil {
		return refuse(rootbound.RootReplaced, "missing", err)
	}
	if i.ID != r.id || i.Mode&fs.ModeDir == 0 {
		return refuse(rootbound.RootReplaced, "", nil)
	}
	return nil
}

// Tier names the resolver in use: "openat2", or "walk" where the kernel has no openat2(2) or a filter forbids it. It
// asks the kernel anew each time (three system calls).
//
// Elsewhere than on Linux it is "os.Root", built and vetted but never run by us, with these differences: absolute links
// are followed only where their text names a member; a FIFO or device is told apart before the open and again after it;
// mounts are not seen, so DenyMounts refuses nothing; replacing a file checks the old version right before the rename
// instead of swapping back; owner, ACL and attributes are not kept.
func Tier() string {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "walk"
	}
	defer unix.Close(fd)
	if probe(fd) {
		return "openat2"
	}
	return "walk"
}
