//go:build !linux

package beneath

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
)

// Directory is a directory that a walk has just read. Valid only while Course.Enter is told of it.
type Directory struct {
	o     *Object
	dir   *os.Root
	at    Ref
	depth int
	mark  int
	list  []fs.DirEntry // sorted
	see   func(*Node) bool
	may   func(mark int, info Info) error
}

// Rel is the path of the directory below the object that is walked, "" for that object itself.
func (d *Directory) Rel() string { return below(d.o.at.Path, d.at.Path) }

// Judge makes Open ask whether an entry may be seen, and whether what was opened may be read: what may not
// be seen is not_found.
func (d *Directory) Judge(see func(*Node) bool, may func(mark int, info Info) error) {
	d.see, d.may = see, may
}

// Open opens an entry of the directory, a regular file or a directory, never through a link. What was not there when the
// directory was read is not_found.
func (d *Directory) Open(name string) (*Object, error) {
	at, found := slices.BinarySearchFunc(d.list, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	if !found {
		return nil, refuse(rootbound.NotFound, "", nil)
	}
	n := &Node{o: d.o, dir: d.dir, at: Ref{d.at.Root, join(d.at.Path, name)}, entry: d.list[at], depth: d.depth, mark: d.mark}
	if d.see != nil && !d.see(n) {
		return nil, refuse(rootbound.NotFound, "", nil)
	}
	o, err := n.Open()
	if err != nil || d.may == nil {
		return o, err
	}
	if err := d.may(o.mark, o.info); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}
