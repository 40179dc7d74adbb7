// Package beneath resolves paths under held directory handles. Handles in, handles out: no descriptor number and no
// absolute path leaves it.
package beneath

import (
	"context"
	"io/fs"
	"time"

	"github.com/rootbound/rootbound"
)

// ObjectID is what the kernel reached. Comparable; equal ids are one object on one mount. Mount is 0 where unknown.
type ObjectID struct{ Dev, Ino, Mount uint64 }

// Info describes an object as read from its handle (or, for Node and Entry, by the held parent without following links).
type Info struct {
	ID                         ObjectID
	Mode                       fs.FileMode // type and permission bits, set-id and sticky too
	Size                       int64
	MTime, CTime, ATime, BTime time.Time // BTime zero where the file system has none
	Links                      uint64
	UID, GID                   uint32
}

// Version is the opaque version of contract §5: {dev, ino, size, mtime, ctime}.
func (i Info) Version() string { panic("stub") }

// Root is a held directory, reference counted. Safe for concurrent use.
type Root struct{}

// OpenRoot opens and pins dir (absolute). Refuses what is no directory, unreadable, or on a kernel file system:
// *rootbound.Error root_unusable (Detail "missing", "not_a_directory", "unreadable", "special").
func OpenRoot(dir string) (*Root, error) { panic("stub") }

func (r *Root) Retain() *Root       { panic("stub") }
func (r *Root) Release()            { panic("stub") }
func (r *Root) ID() ObjectID        { panic("stub") }
func (r *Root) Path() string        { panic("stub") } // canonical path at the time it was opened; for mapping, never shown
func (r *Root) Spelled() string     { panic("stub") } // the text given to OpenRoot, cleaned of doubled slashes and "."
func (r *Root) Info() (Info, error) { panic("stub") }

// Holds reports whether sub is r or lies beneath it by ".."-ancestry of objects, and its path inside r ("" = r itself).
func (r *Root) Holds(sub *Root) (string, bool) { panic("stub") }

// Unmoved checks that the spelled path still reaches this object: root_replaced otherwise.
func (r *Root) Unmoved() error { panic("stub") }

// Member is one root of a Set with the spellings under which it may be named beside Root.Path and Root.Spelled.
type Member struct {
	Root       *Root
	Spelled    []string
	DenyMounts bool // refuse to cross a mount point below it (unless the mount is itself a member)
}

// Set is an immutable, ordered set of roots: links may lead from one to another. It borrows its roots: they must be
// retained while the Set is used. marks are directories (by identity) whose innermost match above an object is reported
// by Object.Mark and Entry.Mark: nested projects. Safe for concurrent use.
type Set struct{}

func NewSet(members []Member, marks []ObjectID) *Set { panic("stub") }

// Ref names a path below member number Root. After resolving it is where the kernel arrived, links replaced: components
// joined by "/", "" for the root itself.
type Ref struct {
	Root int
	Path string
}

// Map maps an absolute path by components to the longest member path; the remainder is returned uncleaned. "." and empty
// components are skipped, ".." inside the matched part matches nothing. No disk access.
func (s *Set) Map(abs string) (Ref, bool) { panic("stub") }

// How a final symlink and the kind of the object are treated.
type How uint8

const (
	Any    How = iota // regular file or directory, opened for reading
	File              // is_a_directory for a directory
	Dir               // not_a_directory for a file
	Handle            // O_PATH where there is such a thing: for stat and as a parent; any regular file or directory
)

// Open resolves at (following links as the set allows), checks the kind on the handle and returns it.
// Errors are *rootbound.Error: outside_root, not_found, path_unresolvable, path_invalid (empty, NUL, over-long, trailing
// slash on a file), special_file, is_a_directory, not_a_directory, rule_denied (Detail "mounts"), io_error.
func (s *Set) Open(at Ref, how How) (*Object, error) { panic("stub") }

// Entry resolves the parent of at and its final name. With follow, a final link is followed to the entry it names (a
// dangling link is refused); without, the entry is the link itself.
// parent_missing (Detail: the first missing part, relative to the root), outside_root, path_invalid (".", "..", root, trailing slash).
func (s *Set) Entry(at Ref, follow bool) (*Entry, error) { panic("stub") }

// MkdirAll makes the missing directories of at one by one from the deepest existing handle, each inside commit after ok
// has allowed its Ref, and returns the final directory. made counts the new ones.
func (s *Set) MkdirAll(at Ref, ok func(Ref, int) error, commit func(func() error) error) (o *Object, made int, err error) {
	panic("stub")
}

// Object is an open file or directory. Not safe for concurrent use except ReadAt and the getters.
type Object struct{}

func (o *Object) At() Ref                                 { panic("stub") } // reached
func (o *Object) Mark() int                               { panic("stub") } // index of the innermost mark at or above it, -1 for none
func (o *Object) Info() Info                              { panic("stub") } // as read when it was opened
func (o *Object) Stat() (Info, error)                     { panic("stub") } // read anew
func (o *Object) Linked() bool                            { panic("stub") } // a symlink was followed on the way
func (o *Object) Crossed() bool                           { panic("stub") } // on another mount than its root
func (o *Object) FS() string                              { panic("stub") } // file system type's name, or its magic in hex
func (o *Object) IsDir() bool                             { panic("stub") }
func (o *Object) ReadAt(p []byte, off int64) (int, error) { panic("stub") }
func (o *Object) Close() error                            { panic("stub") }

// Node is one entry met by List or Walk. Valid only during the visit.
type Node struct{}

func (n *Node) At() Ref                { panic("stub") } // reached path of the entry
func (n *Node) Name() string           { panic("stub") }
func (n *Node) Depth() int             { panic("stub") } // 1 for entries of the directory that was opened
func (n *Node) Type() fs.FileMode      { panic("stub") } // type bits only; links are links
func (n *Node) Mark() int              { panic("stub") } // like Object.Mark, of the entry itself
func (n *Node) Info() (Info, error)    { panic("stub") } // lstat by the held parent
func (n *Node) Target() (Info, bool)   { panic("stub") } // for a link: what it reaches if that is inside the set
func (n *Node) Open() (*Object, error) { panic("stub") } // regular file or directory itself, never through a link

// Step is what a visit wants next.
type Step uint8

const (
	Into Step = iota // descend if it is a directory
	Over             // do not descend
	Stop             // end the walk without an error
)

// Walk visits depth first in byte order of names, handles held, links never followed, mounts by the member's policy.
// failed is told of what could not be read (nil: ignored); it never ends the walk. Bounded by ctx.
func (o *Object) Walk(ctx context.Context, visit func(*Node) (Step, error), failed func(Ref, error)) error {
	panic("stub")
}

// List visits the entries of one directory in byte order of names. after: only names greater than it.
func (o *Object) List(ctx context.Context, after string, visit func(*Node) (Step, error)) error {
	panic("stub")
}

// Entry is a place where an object is or may be published: a held parent directory and one plain name.
type Entry struct{}

// Key names the directory entry, the unit edits are serialized by (the inode changes at every replace).
type Key struct {
	Dir  ObjectID
	Name string
}

func (e *Entry) At() Ref       { panic("stub") }
func (e *Entry) Key() Key      { panic("stub") }
func (e *Entry) Mark() int     { panic("stub") } // innermost mark at or above the parent
func (e *Entry) Linked() bool  { panic("stub") }
func (e *Entry) Crossed() bool { panic("stub") } // the parent is on another mount than the root

// Lstat describes what the entry holds now, links not followed; not_found if nothing.
func (e *Entry) Lstat() (Info, error) { panic("stub") }

// Target describes what a link in this entry reaches, if that is inside the set.
func (e *Entry) Target() (Info, Ref, bool) { panic("stub") }

// Open opens what the entry holds now: regular file or directory, never through a link.
func (e *Entry) Open(how How) (*Object, error) { panic("stub") }

// Inside climbs from the parent to the root by identity: moved_out if the parent left the root.
func (e *Entry) Inside() error { panic("stub") }

// Stage makes a temporary file in the parent directory (0600, random fixed-length name) with the permission bits,
// owner where allowed, ACL and user.* attributes of like (nil: 0666 less umask). journal is told its name and identity
// before any content is written; an error of it removes the file.
func (e *Entry) Stage(like *Object, journal func(name string, id ObjectID) error) (*Staged, error) {
	panic("stub")
}

// Mkdir makes a directory with 0777 less umask: exists, parent_missing.
func (e *Entry) Mkdir() error { panic("stub") }

// Rename publishes what e holds under to. Without overwrite an existing destination is exists. expect, if not zero, is the
// identity e must hold. cross_device, exists, version_conflict (same object), path_invalid (into itself).
func (e *Entry) Rename(to *Entry, expect ObjectID, overwrite bool) error { panic("stub") }

// Remove unlinks a file, link or empty directory whose identity is expect.
func (e *Entry) Remove(expect ObjectID) error { panic("stub") }

// SyncDir makes the directory durable. Outside any lease.
func (e *Entry) SyncDir() error { panic("stub") }
func (e *Entry) Close() error   { panic("stub") }

// Staged is invisible until Publish. Order for durability: Write, Sync, Publish (in the lease), Entry.SyncDir.
type Staged struct{}

func (s *Staged) Name() string                { panic("stub") }
func (s *Staged) ID() ObjectID                { panic("stub") }
func (s *Staged) Write(p []byte) (int, error) { panic("stub") }
func (s *Staged) Sync() error                 { panic("stub") }

// Publish makes the file visible under the entry's name. old == nil: nothing may exist there (exists). Else what is
// there must be *old in identity, size, mtime and ctime: exchange, verify, swap back -> version_conflict.
// The result describes the published file.
func (s *Staged) Publish(old *Info) (Info, error) { panic("stub") }

// Close discards the file if it was not published (by identity) and closes. Allowed when the generation is stale.
func (s *Staged) Close() error { panic("stub") }

// Tier names the resolver in use: "openat2", "walk" or "os.Root".
func Tier() string { panic("stub") }

// unused keeps the vocabulary import in this declaration.
var _ = rootbound.OutsideRoot
