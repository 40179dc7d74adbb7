package beneath

import (
	"bytes"
	"context"
	"encoding/binary"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// Node is one entry met by List or Walk. Valid only during the visit.
type Node struct {
	t     *tree
	level *listing
	name  string
	kind  fs.FileMode
	at    string // made on demand
	id    *Info  // of a directory, if marks made it necessary
}

// listing is one directory that is being visited, its entries read and sorted.
type listing struct {
	fd     int     // -1 while given up to save descriptors
	h      *handle // owns fd where runs of a sweep share it
	id     ObjectID
	mark   int
	cut    int      // length of the path of this directory
	names  []string // parts of the directory as it was read
	sorted []dirent
	next   int
}

// dirent is a name: part off>>partBits, from there on.
type dirent struct {
	off  uint32
	len  uint16
	kind uint8 // DT_*
}

// tree is the state of one Walk or List.
type tree struct {
	o      *Object
	ctx    context.Context
	course Course
	relief func() bool // when descriptors ran out: whether another try is worth it
	buf    []byte
	part   []byte
	path   []byte
	levels []listing
	count  int
	enter  func(fd int, id ObjectID) error // told of each directory before its entries are read
	fatal  error                           // of enter: ends the walk
}

// heldLevels bounds the descriptors of one Walk. Levels further up are closed and opened again by ".." from the held one
// below, and only if that is the very same directory.
const heldLevels = 24

// At is the reached path of the entry.
func (n *Node) At() Ref {
	if n.at == "" {
		n.at = join(string(n.t.path[:n.level.cut]), n.name)
	}
	return Ref{n.t.o.at.Root, n.at}
}

// Rel is the path of the entry below the object that is visited.
func (n *Node) Rel() string { return below(n.t.o.at.Path, n.At().Path) }

// Name is the entry's name in its directory.
func (n *Node) Name() string { return n.name }

// Depth is 1 for entries of the directory that was opened.
func (n *Node) Depth() int { return len(n.t.levels) }

// Type has the type bits only; links are links.
func (n *Node) Type() fs.FileMode { return n.kind }

// Mark is like Object.Mark, of the entry itself.
func (n *Node) Mark() int {
	if n.kind.IsDir() && len(n.t.o.set.marks) > 0 {
		if n.id == nil {
			i, err := statAt(n.level.fd, n.name)
			if err != nil {
				return n.level.mark
			}
			n.id = &i
		}
		if m := n.t.o.set.markOf(n.id.ID); m >= 0 {
			return m
		}
	}
	return n.level.mark
}

// Info is lstat by the held parent. rule_denied (Detail "mounts"): what is mounted there is not to be seen.
func (n *Node) Info() (Info, error) {
	i, err := statAt(n.level.fd, n.name)
	if err != nil {
		return i, fail(err)
	}
	if err := n.t.o.set.mayCross(n.t.o.at.Root, n.level.id, i.ID); err != nil {
		return Info{}, err
	}
	return i, nil
}

// Target describes what a link reaches, if that is inside the set and Object.Show allows it. It resolves anew from the
// root.
func (n *Node) Target() (Info, bool) {
	o, err := n.t.o.set.Open(n.At(), Handle)
	if err != nil {
		return Info{}, false
	}
	defer o.Close()
	if may := n.t.o.show; may != nil && !may(o) {
		return Info{}, false
	}
	return o.info, true
}

// Open opens the regular file or directory itself, never through a link.
func (n *Node) Open() (*Object, error) {
	return n.t.o.set.openNode(n.level.fd, n.level.id, n.name, n.At(), n.level.mark, Any, n.t.o.passed)
}

// Walk visits depth first in byte order of names, handles held, links never followed, mounts by the member's policy,
// kernel file systems never entered. failed is told of what could not be read, by its path below o (nil: ignored); it never
// ends the walk.
// Bounded by ctx; an error of visit ends the walk and is returned.
func (o *Object) Walk(ctx context.Context, visit func(*Node) (Step, error), failed func(rel string, err error)) error {
	return o.traverse(ctx, "", true, Course{Visit: visit, Failed: failed}, nil)
}

// Tour is Walk for those who want to know of directories too.
func (o *Object) Tour(ctx context.Context, c Course) error { return o.traverse(ctx, "", true, c, nil) }

// List visits the entries of one directory in byte order of names. after: only names greater than it.
func (o *Object) List(ctx context.Context, after string, visit func(*Node) (Step, error)) error {
	return o.traverse(ctx, after, false, Course{Visit: visit}, nil)
}

func (o *Object) traverse(ctx context.Context, after string, deep bool, c Course, relief func() bool) error {
	return o.traverseBy(&tree{ctx: ctx, course: c, relief: relief}, after, deep)
}

func (o *Object) traverseBy(t *tree, after string, deep bool) error {
	if err := o.hold(); err != nil {
		return err
	}
	defer o.h.drop()
	if !o.IsDir() {
		return refuse(rootbound.NotADirectory, "", nil)
	}
	t.o, t.buf, t.path = o, make([]byte, 1<<partBits), []byte(o.at.Path)
	ctx := t.ctx
	defer t.close()
	fd, err := openAt(o.h.fd, ".", asDir, 0)
	if err != nil {
		return fail(err)
	}
	if err := t.push(fd, o.info.ID, o.mark, after); err != nil {
		return err
	}
	n := Node{t: t}
	for len(t.levels) > 0 {
		l := &t.levels[len(t.levels)-1]
		if l.next == len(l.sorted) {
			if err := t.pop(); err != nil {
				return err
			}
			continue
		}
		if t.count++; t.count%8 == 0 { // an entry may take a millisecond to be judged
			if err := ended(ctx); err != nil {
				return err
			}
		}
		if t.count%64 == 0 {
			// Also for our own sake: from who runs for 10 ms the scheduler takes the processor in the middle of a system
			// call, and then looks again every few microseconds. It made walks slower by a sixth.
			runtime.Gosched()
		}
		l.next++
		n.level = l
		if err := n.be(l.next - 1); err != nil {
			t.course.failed(n.Rel(), err)
			continue
		}
		step, err := t.course.Visit(&n)
		if err != nil {
			return err
		}
		if step == Stop {
			return nil
		}
		if deep && step == Into && n.kind.IsDir() {
			if err := t.descend(&n); err != nil {
				if c := ended(ctx); c != nil {
					return c
				}
				if t.fatal != nil {
					return t.fatal
				}
				t.course.failed(n.Rel(), err)
			}
		}
	}
	return nil
}

func kindOf(dt uint8) fs.FileMode {
	switch dt {
	case unix.DT_REG:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	case unix.DT_FIFO:
		return fs.ModeNamedPipe
	case unix.DT_SOCK:
		return fs.ModeSocket
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.DT_BLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}

func (t *tree) close() {
	for i := range t.levels {
		t.levels[i].close()
	}
}

// descend opens the directory n. What was a directory when it was listed may be anything now: the handle is checked.
func (t *tree) descend(n *Node) error {
	at := n.At() // t.levels may move
	s, root := t.o.set, t.o.at.Root
	fd, err := openAt(n.level.fd, n.name, asRead, 0)
	if (err == unix.EMFILE || err == unix.ENFILE) && t.relief != nil && t.relief() {
		fd, err = openAt(n.level.fd, n.name, asRead, 0)
	}
	if err != nil {
		return fail(err)
	}
	info, err := statFd(fd)
	if err == nil {
		_, err = s.checkKind(root, fd, info, Dir)
	}
	if err == nil {
		err = s.mayCross(root, n.level.id, info.ID)
	}
	if err != nil {
		unix.Close(fd)
		return fail(err)
	}
	mark := n.level.mark
	if m := s.markOf(info.ID); m >= 0 {
		mark = m
	}
	t.path = append(t.path[:0], at.Path...)
	return t.push(fd, info.ID, mark, "")
}

// push takes over fd and reads the directory. The entries of a level that was visited before are reused.
func (t *tree) push(fd int, id ObjectID, mark int, after string) error {
	var l listing
	if n := len(t.levels); n < cap(t.levels) {
		old := &t.levels[: n+1 : cap(t.levels)][n]
		l.sorted, l.names = old.sorted[:0], old.names[:0]
	}
	l.fd, l.id, l.mark, l.cut = fd, id, mark, len(t.path)
	var err error
	if t.enter != nil {
		err = t.enter(fd, id)
	}
	if err == nil {
		err = t.read(&l, after)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	if n := len(t.levels) - heldLevels; n > 0 && t.levels[n].fd >= 0 { // the opened directory itself stays
		t.levels[n].close()
	}
	t.levels = append(t.levels, l)
	t.course.enter(&Directory{t: t})
	return nil
}

// pop leaves a directory and, if the one above was closed to save descriptors, opens it again.
func (t *tree) pop() error {
	n := len(t.levels) - 1
	l := &t.levels[n]
	clear(l.names)
	if n > 0 {
		up := &t.levels[n-1]
		t.path = t.path[:up.cut]
		if up.fd < 0 {
			fd, err := openAt(l.fd, "..", asDir, 0) // l.fd is -1 if l itself could not be found again
			if err == nil {
				if now, err2 := statFd(fd); err2 != nil || now.ID != up.id {
					unix.Close(fd)
					fd, err = -1, refuse(rootbound.MovedOut, "", err2)
				}
			}
			up.fd = fd
			if err != nil {
				up.fd, up.next = -1, len(up.sorted)
				t.course.failed(below(t.o.at.Path, string(t.path)), fail(err))
			}
		}
	}
	l.close()
	t.levels = t.levels[:n]
	t.course.leave()
	return nil
}

// partBits: a part holds the names of one getdents64(2).
const partBits = 15

// maxParts bounds the bytes of the names of one directory: 1 GiB.
const maxParts = 1 << 15

func (t *tree) read(l *listing, after string) error {
	for {
		if err := ended(t.ctx); err != nil {
			return err
		}
		n, err := unix.Getdents(l.fd, t.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fail(err)
		}
		if n == 0 {
			return t.sort(l)
		}
		part := t.part[:0]
		for b := t.buf[:n]; len(b) > 0; {
			size := binary.NativeEndian.Uint16(b[16:])
			kind := b[18]
			name := b[19:size]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			b = b[size:]
			if string(name) == "." || string(name) == ".." || string(name) <= after {
				continue
			}
			l.sorted = append(l.sorted, dirent{uint32(len(l.names)<<partBits | len(part)), uint16(len(name)), kind})
			part = append(part, name...)
		}
		if t.part = part; len(part) == 0 {
			continue
		}
		if len(l.names) == maxParts {
			return refuse(rootbound.LimitReached, "names", nil)
		}
		l.names = append(l.names, string(part))
	}
}

// sort puts the names in byte order. An end of the context makes all of them equal, so that it ends at once.
func (t *tree) sort(l *listing) error {
	var err error
	compared := 0
	slices.SortFunc(l.sorted, func(a, b dirent) int {
		if compared++; compared%4096 == 0 && err == nil {
			err = ended(t.ctx)
		}
		if err != nil {
			return 0
		}
		return strings.Compare(l.nameOf(&a), l.nameOf(&b))
	})
	return err
}
