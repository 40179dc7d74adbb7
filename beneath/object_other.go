//go:build !linux

package beneath

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
)

// Object is an open file or directory. Not safe for concurrent use except ReadAt, Stat, Close and the getters.
type Object struct {
	set    *Set
	f      *os.File
	at     Ref
	info   Info
	mark   int
	passed []Passed
	show   func(reached *Object) bool // of Show
}

// Show makes Node.Target ask, during walks and lists of o, whether what a link reaches may be described. Before the
// first walk, not during one.
func (o *Object) Show(may func(reached *Object) bool) { o.show = may }

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

// Crossed reports whether the object is on another device than its root; mounts are not seen here.
func (o *Object) Crossed() bool { return o.info.ID.Dev != o.set.members[o.at.Root].Root.id.Dev }

// FS is not known here.
func (o *Object) FS() string { return "" }

// Stat describes the object now.
func (o *Object) Stat() (Info, error) { return infoOfFile(o.f) }

// ReadAt reads like io.ReaderAt. Safe for concurrent use.
func (o *Object) ReadAt(p []byte, off int64) (int, error) {
	n, err := o.f.ReadAt(p, off)
	if err == io.EOF {
		return n, err
	}
	return n, fail(err)
}

// Close gives the object up. A second Close does nothing.
func (o *Object) Close() error {
	_ = o.f.Close()
	return nil
}

// Node is one entry met by List or Walk. Valid only during the visit.
type Node struct {
	o     *Object
	dir   *os.Root
	at    Ref
	entry fs.DirEntry
	depth int
	mark  int
}

// At is the reached path of the entry.
func (n *Node) At() Ref { return n.at }

// Rel is the path of the entry below the object that is visited.
func (n *Node) Rel() string { return below(n.o.at.Path, n.at.Path) }

// Name is the entry's name in its directory.
func (n *Node) Name() string { return n.entry.Name() }

// Depth is 1 for entries of the directory that was opened.
func (n *Node) Depth() int { return n.depth }

// Type has the type bits only; links are links.
func (n *Node) Type() fs.FileMode { return n.entry.Type() }

// Mark is like Object.Mark, of the entry itself.
func (n *Node) Mark() int {
	if n.entry.IsDir() && len(n.o.set.marks) > 0 {
		if f, err := n.dir.Open(n.Name()); err == nil {
			defer f.Close()
			if i, err := infoOfFile(f); err == nil && n.o.set.markOf(i.ID) >= 0 {
				return n.o.set.markOf(i.ID)
			}
		}
	}
	return n.mark
}

// Info is lstat by the held parent.
func (n *Node) Info() (Info, error) { return lstat(n.dir, n.Name()) }

// lstat describes an entry; where the system tells the identity only for a handle, what is no link is opened for it.
func lstat(dir *os.Root, name string) (Info, error) {
	fi, err := dir.Lstat(name)
	if err != nil {
		return Info{}, fail(err)
	}
	i := infoOf(fi)
	if i.ID != (ObjectID{}) || checkKind(i.Mode, Any) != nil {
		return i, nil
	}
	f, err := dir.Open(name)
	if err != nil {
		return i, nil
	}
	defer f.Close()
	if now, err := f.Stat(); err == nil && os.SameFile(now, fi) {
		i.ID, i.Links = idOfHandle(f)
	}
	return i, nil
}

// Target describes what a link reaches, if that is inside the set and Object.Show allows it.
func (n *Node) Target() (Info, bool) {
	o, err := n.o.set.Open(n.at, Handle)
	if err != nil {
		return Info{}, false
	}
	defer o.Close()
	if may := n.o.show; may != nil && !may(o) {
		return Info{}, false
	}
	return o.info, true
}

// Open opens the regular file or directory itself, never through a link.
func (n *Node) Open() (*Object, error) {
	fi, err := n.dir.Lstat(n.Name())
	if err != nil {
		return nil, fail(err)
	}
	return n.o.set.open(n.dir, n.Name(), fi, n.at, n.Mark(), Any, n.o.passed)
}

var errStop = errors.New("stop")

// Walk visits depth first in byte order of names, links never followed. See the Linux documentation.
func (o *Object) Walk(ctx context.Context, visit func(*Node) (Step, error), failed func(rel string, err error)) error {
	return o.traverse(ctx, "", true, Course{Visit: visit, Failed: failed}, nil)
}

// Tour is Walk for those who want to know of directories too.
func (o *Object) Tour(ctx context.Context, c Course) error { return o.traverse(ctx, "", true, c, nil) }

// List visits the entries of one directory in byte order of names. after: only names greater than it.
func (o *Object) List(ctx context.Context, after string, visit func(*Node) (Step, error)) error {
	return o.traverse(ctx, after, false, Course{Visit: visit}, nil)
}

func (o *Object) traverse(ctx context.Context, after string, deep bool, c Course, _ func() bool) error {
	if !o.IsDir() {
		return refuse(rootbound.NotADirectory, "", nil)
	}
	dir, err := o.set.subRoot(o.set.members[o.at.Root].Root.r, o.at.Path, o.f)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = o.visitDir(ctx, dir, o.at, 1, o.mark, after, deep, &c)
	if err == errStop {
		return nil
	}
	return err
}

// subRoot opens a directory as a root of its own; it must be the one that same is a handle of, if there is one.
func (s *Set) subRoot(r *os.Root, p string, same *os.File) (*os.Root, error) {
	if p == "" {
		p = "."
	}
	if fi, err := r.Lstat(filepath.FromSlash(p)); err != nil || !fi.IsDir() {
		return nil, refuse(rootbound.NotADirectory, "", err)
	}
	dir, err := r.OpenRoot(filepath.FromSlash(p))
	if err != nil {
		return nil, fail(err)
	}
	if same != nil {
		a, err := same.Stat()
		b, err2 := dir.Stat(".")
		if err != nil || err2 != nil || !os.SameFile(a, b) {
			dir.Close()
			return nil, refuse(rootbound.MovedOut, "", nil)
		}
	}
	return dir, nil
}

func (o *Object) visitDir(ctx context.Context, dir *os.Root, at Ref, depth, mark int, after string, deep bool, c *Course) error {
	tell := func(at Ref, err error) { c.failed(below(o.at.Path, at.Path), fail(err)) }
	f, err := dir.Open(".")
	if err != nil {
		tell(at, err)
		return nil
	}
	list, err := f.ReadDir(-1)
	f.Close()
	if err != nil {
		tell(at, err)
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	c.enter(&Directory{o: o, dir: dir, at: at, depth: depth, mark: mark, list: list})
	defer c.leave()
	for _, e := range list {
		if err := ended(ctx); err != nil {
			return err
		}
		if e.Name() <= after {
			continue
		}
		n := Node{o: o, dir: dir, at: Ref{at.Root, join(at.Path, e.Name())}, entry: e, depth: depth, mark: mark}
		step, err := c.Visit(&n)
		if err != nil {
			return err
		}
		if step == Stop {
			return errStop
		}
		if !deep || step != Into || !e.IsDir() || depth > maxDepth {
			continue
		}
		sub, err := o.set.subRoot(dir, e.Name(), nil)
		if err != nil {
			tell(n.at, err)
			continue
		}
		err = o.visitDir(ctx, sub, n.at, depth+1, n.Mark(), "", deep, c)
		sub.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
