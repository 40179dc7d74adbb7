package beneath

import (
	"strings"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// Directory is a directory that a walk has just read. Valid only while Course.Enter is told of it.
type Directory struct {
	t *tree
	judging
}

// Rel is the path of the directory below the object that is walked, "" for that object itself.
func (d *Directory) Rel() string { return below(d.t.o.at.Path, string(d.t.path)) }

// Open opens an entry of the directory, a regular file or a directory, never through a link. What was not there when the
// directory was read is not_found, which costs no system call.
func (d *Directory) Open(name string) (*Object, error) {
	l := d.level()
	at, found := l.find(name)
	if !found {
		return nil, refuse(rootbound.NotFound, "", nil)
	}
	n := Node{t: d.t, level: l}
	if err := n.be(at); err != nil {
		return nil, err
	}
	return d.open(&n)
}

func (d *Directory) level() *listing { return &d.t.levels[len(d.t.levels)-1] }

// be makes n the entry number at of its directory.
func (n *Node) be(at int) error {
	e := &n.level.sorted[at]
	n.name, n.at, n.id = n.level.nameOf(e), "", nil
	if e.kind != unix.DT_UNKNOWN {
		n.kind = kindOf(e.kind)
		return nil
	}
	i, err := n.Info()
	n.kind = i.Mode.Type()
	return err
}

func (l *listing) nameOf(e *dirent) string {
	at := e.off & (1<<partBits - 1)
	return l.names[e.off>>partBits][at : at+uint32(e.len)]
}

// find looks for a name among those of a directory.
func (l *listing) find(name string) (at int, found bool) {
	lo, hi := 0, len(l.sorted)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := strings.Compare(l.nameOf(&l.sorted[mid]), name); {
		case c == 0:
			return mid, true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return 0, false
}
