package beneath

import (
	"context"
	"io/fs"
	"runtime"
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
	early  []*early // of its directories, that are read ahead
	asked  int      // entries up to there were looked at for more of them
}

// tree is the state of one Walk or List.
type tree struct {
	o      *Object
	ctx    context.Context
	course Course
	relief func() bool // when descriptors ran out: whether another try is worth it
	reader
	path   []byte
	levels []listing
	count  int
	named  bool                            // only down to where a path may lead
	enter  func(fd int, id ObjectID) error // told of each directory before its entries are read
	fatal  error                           // of enter, or because of named: ends a walk that has enter
	ahead  *ahead                          // nil: no directory is read before its turn
}

// heldLevels bounds the descriptors of one Walk, and of one path that is resolved by its names. Levels further up are closed
// and opened again by ".." from the held one below, and only if that is the very same directory.
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
// Bounded by ctx, and by how many names a path may have: a directory below 2,048 others of its root is not gone into, which
// is limit_reached (Detail "too_deep"). An error of visit ends the walk and is returned.
func (o *Object) Walk(ctx context.Context, visit func(*Node) (Step, error), failed func(rel string, err error)) error {
	return o.traverseBy(&tree{ctx: ctx, course: Course{Visit: visit, Failed: failed}, named: true}, "", true)
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
	err := o.traverseAll(t, after, deep)
	t.ahead.raise()
	return err
}

func (o *Object) traverseAll(t *tree, after string, deep bool) error {
	if err := o.hold(); err != nil {
		return err
	}
	defer o.h.drop()
	if !o.IsDir() {
		return refuse(rootbound.NotADirectory, "", nil)
	}
	ctx := t.ctx
	t.o, t.path, t.reader = o, []byte(o.at.Path), newReader(ctx)
	defer t.close()
	fd, err := openAt(o.h.fd, ".", asDir, 0)
	if err != nil {
		return fail(err)
	}
	if deep {
		t.ahead = t.newAhead()
	}
	if err := t.push(listing{fd: fd, id: o.info.ID, mark: o.mark}, after, false); err != nil {
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
			if sees := t.course.Sees; sees == nil || sees(&n) {
				t.course.failed(n.Rel(), err)
			}
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
	t.ahead.close()
	for i := range t.levels {
		t.levels[i].close()
	}
}

// descend goes into the directory n.
func (t *tree) descend(n *Node) error {
	at := n.At() // t.levels may move
	if t.named && strings.Count(at.Path, "/") >= maxDepth-1 {
		err := &rootbound.Error{Reason: rootbound.LimitReached, Detail: "too_deep", Next: "Take parts of the tree that lie less deep."}
		if t.enter != nil {
			t.fatal = err
		}
		return err
	}
	e := t.ahead.take(n)
	var l listing
	if e != nil {
		l = e.l
	} else {
		var err error
		if l, err = t.open(n); err != nil {
			return err
		}
	}
	t.path = append(t.path[:0], at.Path...)
	return t.push(l, "", e != nil && e.whole)
}

// open opens the directory n.
func (t *tree) open(n *Node) (listing, error) {
	fd, err := openAt(n.level.fd, n.name, asRead, 0)
	if (err == unix.EMFILE || err == unix.ENFILE) && t.relieve() {
		fd, err = openAt(n.level.fd, n.name, asRead, 0)
	}
	if err != nil {
		return listing{}, fail(err)
	}
	l, _, err := t.o.directory(fd, n.level.id, n.level.mark)
	return l, err
}

// relieve gives back what descriptors it can when they ran out, and reports whether another try is worth it. From then on
// the walk reads nothing ahead.
func (t *tree) relieve() bool {
	ours := t.ahead != nil
	t.ahead.close()
	t.ahead.raise()
	t.ahead = nil
	return t.relief != nil && t.relief() || ours
}

// directory takes over fd, which was opened in the directory from. What was a directory when it was listed may be anything
// now: the handle is checked.
func (o *Object) directory(fd int, from ObjectID, mark int) (listing, Info, error) {
	s, root := o.set, o.at.Root
	info, err := statFd(fd)
	if err == nil {
		_, err = s.checkKind(root, fd, info, Dir)
	}
	if err == nil {
		err = s.mayCross(root, from, info.ID)
	}
	if err != nil {
		unix.Close(fd)
		return listing{}, info, fail(err)
	}
	if m := s.markOf(info.ID); m >= 0 {
		mark = m
	}
	return listing{fd: fd, id: info.ID, mark: mark}, info, nil
}

// push takes over a directory and reads it, unless all of it was read. The entries of a level that was visited before are
// reused.
func (t *tree) push(l listing, after string, whole bool) error {
	l.cut = len(t.path)
	if n := len(t.levels); n < cap(t.levels) {
		old := &t.levels[: n+1 : cap(t.levels)][n]
		l.early = old.early[:0]
		if !whole {
			l.sorted, l.names = append(old.sorted[:0], l.sorted...), append(old.names[:0], l.names...)
		}
	}
	var err error
	if t.enter != nil {
		err = t.enter(l.fd, l.id)
	}
	if err == nil && !whole {
		_, err = t.read(&l, after, nil)
	}
	if err != nil {
		unix.Close(l.fd)
		return err
	}
	if n := len(t.levels) - heldLevels; n > 0 && t.levels[n].fd >= 0 { // the opened directory itself stays
		t.levels[n].close()
	}
	t.levels = append(t.levels, l)
	t.course.enter(&Directory{t: t})
	t.ahead.entered()
	return nil
}

// pop leaves a directory and, if the one above was closed to save descriptors, opens it again.
func (t *tree) pop() error {
	n := len(t.levels) - 1
	l := &t.levels[n]
	t.ahead.leave(l)
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
