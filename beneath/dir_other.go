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
	judging
}

// Rel is the path of the directory below the object that is walked, "" for that object itself.
func (d *Directory) Rel() string { return below(d.o.at.Path, d.at.Path) }

// Open opens an entry of the directory, a regular file or a directory, never through a link. What was not there when the
// directory was read is not_found.
func (d *Directory) Open(name string) (*Object, error) {
	at, found := slices.BinarySearchFunc(d.list, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	if !found {
		return nil, refuse(rootbound.NotFound, "", nil)
	}
	return d.open(&Node{o: d.o, dir: d.dir, at: Ref{d.at.Root, join(d.at.Path, name)}, entry: d.list[at], depth: d.depth, mark: d.mark})
}
