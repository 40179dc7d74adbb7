// Package beneath resolves paths under held directory handles. Handles in, handles out: no descriptor number and no
// absolute path leaves it.
//
// A Root pins one directory. A Set is an ordered list of roots between which links may lead. Set.Open and Set.Entry
// resolve a relative path from the held root, by openat2 where the kernel has it and by a walk of one component at a
// time where a link, a mount policy or a nested project needs more than the kernel tells. What is returned knows where
// it was reached (Ref), and is the very object that was checked: reads, listings, staging, renaming and removing all
// act on held descriptors and plain names, never on a path.
//
// The rules come from contract §5; the system calls behave as open(2), openat2(2), statx(2) and rename(2) say. On
// systems other than Linux the package stands on os.Root, with the refusals named at Tier; that part is built and
// vetted but was never run.
package beneath

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io/fs"
	"time"
)

// ObjectID is what the kernel reached. Comparable; equal ids are one object on one mount. Mount is 0 where unknown.
type ObjectID struct{ Dev, Ino, Mount uint64 }

// Same reports whether both are one object, on whatever mount it was reached. The zero id is the same as nothing.
func (id ObjectID) Same(other ObjectID) bool {
	return id.Dev == other.Dev && id.Ino == other.Ino && id != ObjectID{}
}

// Info describes an object as read from its handle (or, for Node and Entry, by the held parent without following links).
type Info struct {
	ID                         ObjectID
	Mode                       fs.FileMode // type and permission bits, set-id and sticky too
	Size                       int64
	MTime, CTime, ATime, BTime time.Time // BTime zero where the file system has none
	Links                      uint64
	UID, GID                   uint32
}

// Version is the opaque version of contract §5: {dev, ino, size, mtime, ctime}. 22 characters, safe in JSON and URLs.
func (i Info) Version() string {
	var b [40]byte
	binary.LittleEndian.PutUint64(b[0:], i.ID.Dev)
	binary.LittleEndian.PutUint64(b[8:], i.ID.Ino)
	binary.LittleEndian.PutUint64(b[16:], uint64(i.Size))
	binary.LittleEndian.PutUint64(b[24:], uint64(i.MTime.UnixNano()))
	binary.LittleEndian.PutUint64(b[32:], uint64(i.CTime.UnixNano()))
	sum := sha256.Sum256(b[:])
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// unchanged reports whether now is the version old, but for ctime, which a rename changes by itself.
func (i Info) unchanged(old Info) bool {
	return i.ID.Same(old.ID) && i.Size == old.Size && i.MTime.Equal(old.MTime)
}

// Member is one root of a Set with the spellings under which it may be named beside Root.Path and Root.Spelled.
type Member struct {
	Root       *Root
	Spelled    []string
	DenyMounts bool // refuse to cross a mount point below it (unless the mount is itself a member)
}

// Ref names a path below member number Root. After resolving it is where the kernel arrived, links replaced: components
// joined by "/", "" for the root itself.
type Ref struct {
	Root int
	Path string
}

// How a final symlink and the kind of the object are treated.
type How uint8

// The ways to open. Every one follows a final link as the set allows.
const (
	Any    How = iota // regular file or directory, opened for reading
	File              // is_a_directory for a directory
	Dir               // not_a_directory for a file
	Handle            // O_PATH where there is such a thing: for stat and as a parent; any regular file or directory
)

// Step is what a visit wants next.
type Step uint8

// The steps of Walk and List; List never descends, so Into and Over are the same to it.
const (
	Into Step = iota // descend if it is a directory
	Over             // do not descend
	Stop             // end the walk without an error
	Take             // in a Sweep: read it if it is a regular file; else like Over
)

// Key names the directory entry, the unit edits are serialized by (the inode changes at every replace).
type Key struct {
	Dir  ObjectID
	Name string
}

// TempPrefix begins the names of the files that Entry.Stage makes; random characters follow, the length is fixed.
const TempPrefix = ".rootbound-"

// Bounds of one resolution (filesystem rules of contract §5: work for each call is bounded).
const (
	maxPath  = 128 << 10 // bytes of pending text
	maxName  = 255       // bytes of one component
	maxLinks = 40        // as the kernel
	maxSteps = 20_000
	maxDepth = 2_048 // levels
	maxAgain = 128   // retries of openat2 that raced with a rename anywhere, and of a reopened final name
)
