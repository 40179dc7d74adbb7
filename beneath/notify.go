package beneath

import (
	"strings"

	"github.com/rootbound/rootbound"
)

// WatchID is the number of a watch of one Notifier. It names a directory, by whatever path it was reached, until
// the watch is removed; the kernel does not give it out again before it has given out all others.
type WatchID int32

// Notice is one report of the kernel about a watched directory. It tells what was so when it was written: who reads it
// resolves the place again before believing anything.
type Notice struct {
	ID   WatchID
	What What
	Name string // of the entry; "" if it is about the directory itself
	Dir  bool   // what it is about is, or was, a directory
}

// What happened. One notice may hold several.
type What uint16

// The kinds of notices.
const (
	Made       What = 1 << iota // an entry was made
	Written                     // an entry's content changed
	Attributes                  // permissions, times, owner, number of names
	Removed                     // an entry was removed
	MovedFrom                   // an entry was moved away
	MovedTo                     // an entry was moved here
	SelfMoved                   // the directory itself was moved or renamed
	SelfGone                    // the directory itself is gone, or its file system was unmounted
	Forgotten                   // the watch is no more: removed by us, or because of SelfGone
	Lost                        // notices were lost; ID means nothing
	Remounted                   // mounts appeared or went; Name holds where, with NUL between; ID means nothing. Not told by Next
	Shut                        // a writer closed an entry. What he wrote through a mapping was not told before
)

// Place is where an object was reached, to be resolved again from its root whenever something is to be known about it.
// It retains that root until Close. Safe for concurrent use.
type Place struct {
	set *Set
	at  Ref
	id  ObjectID
}

// Place is where o was reached.
func (o *Object) Place() *Place {
	o.set.root(o.at.Root).Retain()
	return &Place{o.set, o.at, o.info.ID}
}

// At is the path of the place.
func (p *Place) At() Ref { return p.at }

// ID is the object that was at the place when it was taken.
func (p *Place) ID() ObjectID { return p.id }

// Near tells whether one of these paths of the host is that of the place, above it or below it, going by the canonical path
// of its root: a reason to look again, and nothing more.
func (p *Place) Near(paths []string) bool {
	at := strings.TrimRight(p.set.root(p.at.Root).Path()+"/"+p.at.Path, "/") + "/"
	for _, path := range paths {
		if path = strings.TrimRight(path, "/") + "/"; strings.HasPrefix(at, path) || strings.HasPrefix(path, at) {
			return true
		}
	}
	return false
}

// Depth is how many components the place lies below its root.
func (p *Place) Depth() int {
	if p.at.Path == "" {
		return 0
	}
	return strings.Count(p.at.Path, "/") + 1
}

// Open resolves what lies at rel below the place ("" is the place itself) from the root, through no link:
// path_unresolvable if there is one on the way. Other errors are those of Set.Open.
func (p *Place) Open(rel string, how How) (*Object, error) {
	path := p.at.Path
	if rel != "" {
		path = join(path, rel)
	}
	return p.open(path, how)
}

// Above opens the directory that the first n components of the place's path lead to (0: the root), through no link.
func (p *Place) Above(n int) (*Object, error) { return p.open(p.above(n), Handle) }

func (p *Place) above(n int) string {
	at := 0
	for ; n > 0 && at < len(p.at.Path); n-- {
		i := strings.IndexByte(p.at.Path[at+1:], '/')
		if i < 0 {
			at = len(p.at.Path)
			break
		}
		at += 1 + i
	}
	return p.at.Path[:at]
}

func (p *Place) open(path string, how How) (*Object, error) {
	o, err := p.set.Open(Ref{p.at.Root, path}, how)
	if err != nil {
		return nil, err
	}
	if o.Linked() || o.at.Root != p.at.Root {
		o.Close()
		return nil, refuse(rootbound.PathUnresolvable, "link", nil)
	}
	return o, nil
}

// Close gives the root back. Once.
func (p *Place) Close() { p.set.root(p.at.Root).Release() }

// Look is a directory that was resolved anew, and an entry of it. It holds the directory until Close.
type Look struct {
	At   Ref
	Mark int // as Object.Mark
	Dir  Info

	Name  string // "": of no entry
	Entry Info   // the entry itself, a link too
	Gone  bool   // there is none

	held hold
}

// Look opens the directory at rel below the place, from the root and through no link, and looks at an entry of it if name
// is not empty. Errors are those of Open.
func (p *Place) Look(rel, name string) (l Look, err error) {
	path := p.at.Path
	if rel != "" {
		path = join(path, rel)
	}
	return p.look(path, name)
}

// LookAbove is Look at the directory that Above opens.
func (p *Place) LookAbove(n int, name string) (Look, error) { return p.look(p.above(n), name) }

// slowly is look by way of an Object.
func (p *Place) slowly(path, name string) (l Look, err error) {
	o, err := p.open(path, Handle)
	if err != nil {
		return l, err
	}
	l = Look{At: o.at, Mark: o.mark, Dir: o.info, Name: name, held: hold{object: o}}
	if name != "" {
		var e *Entry
		if e, err = o.Entry(name); err == nil {
			l.Entry, err = e.Lstat()
			e.Close()
		}
		if l.Gone = rootbound.ReasonOf(err) == rootbound.NotFound; l.Gone {
			err = nil
		}
	}
	if err != nil {
		l.Close()
	}
	return l, err
}
