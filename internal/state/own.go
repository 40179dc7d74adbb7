package state

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound/beneath"
)

// Own knows the identities of this program's own files and directories, which are out of reach in every project (contract
// §5, own files): the state directory with all it holds, and what Add names. Identities are read anew when they are older
// than a second and at every Refresh, because logs rotate and configurations are replaced. Safe for concurrent use.
type Own struct {
	mu    sync.Mutex // held while reading
	trees []string   // with everything in them
	paths []string
	logs  []string // with the files set aside beside them

	known atomic.Pointer[ownIDs]
	now   func() time.Time
}

type ownIDs struct {
	files []File
	read  time.Time
}

// File is one file or directory of ours: where it is, links replaced where it exists, and what it is (Mount is 0).
type File struct {
	Path   string
	ID     beneath.ObjectID
	Beside bool // a log: what continues its name after a dot is ours too, whether it is there yet or not
}

// Still reports whether Path, or what it links to, is what it was when it was told.
func (f File) Still() bool {
	for _, stat := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		if id, ok := idOf(stat, f.Path); ok && id == f.ID {
			return true
		}
	}
	return false
}

const ownAge = time.Second

// keptIn holds what changes replaced or deleted: files of the projects, which go back there by their identity. They are
// out of reach by their path, and there can be many.
const keptIn = "undo/data"

// Own gives the identities of the state directory and of paths: the configuration, the audit log, the binary.
func (d *Dir) Own(paths ...string) *Own {
	o := &Own{trees: []string{d.path}, now: time.Now}
	o.Add(paths...)
	return o
}

// Add adds files; missing ones count as soon as they exist. Empty names are passed over. The identities are read at the next
// look: a start adds several times.
func (o *Own) Add(paths ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range paths {
		if abs, err := filepath.Abs(p); err == nil && p != "" {
			o.paths = append(o.paths, abs)
		}
	}
	o.known.Store(nil)
}

// AddLog adds a log file and the files that rotation sets aside beside it.
func (o *Own) AddLog(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		o.logs = append(o.logs, abs)
	}
	o.known.Store(nil)
}

// Files lists what is there with paths and identities, and the paths of ours where nothing is yet. Mount is always 0: they
// are denied on whatever mount they are met, so compare Dev and Ino only. The slice is shared: do not change it.
func (o *Own) Files() []File { return o.current().files }

func (o *Own) current() *ownIDs {
	k := o.known.Load()
	if k == nil || o.clock().Sub(k.read) >= ownAge {
		return o.refresh()
	}
	return k
}

// Refresh reads the identities now. Call it when a file of ours was made or replaced.
func (o *Own) Refresh() { o.refresh() }

func (o *Own) refresh() *ownIDs {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := &ownIDs{read: o.clock()}
	seen := make(map[beneath.ObjectID]bool)
	add := func(path string) {
		for _, stat := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} { // a link and what it reaches
			if id, ok := idOf(stat, path); ok && !seen[id] {
				seen[id] = true
				k.files = append(k.files, File{Path: path, ID: id})
			}
		}
		for _, way := range ways(path) { // moved away or replaced they would lead elsewhere
			k.files = append(k.files, File{Path: way})
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			k.files = append(k.files, File{Path: real})
		} else if err != nil {
			k.files = append(k.files, File{Path: path})
		}
	}
	for _, t := range o.trees {
		spelled := ways(t)
		real, realErr := filepath.EvalSymlinks(t)
		_ = filepath.WalkDir(t, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
			case path == t || d.Type()&fs.ModeSymlink != 0 || realErr != nil:
				add(path)
			default: // no link below t is on the way, so what is to be asked of the way was asked of t
				below := path[len(t):]
				if id, ok := idOf(os.Lstat, path); ok && !seen[id] {
					seen[id] = true
					k.files = append(k.files, File{Path: path, ID: id})
				}
				for _, way := range spelled {
					k.files = append(k.files, File{Path: way + below})
				}
				if real != t {
					k.files = append(k.files, File{Path: real + below})
				}
			}
			if err == nil && d.IsDir() && path == filepath.Join(t, keptIn) {
				return filepath.SkipDir
			}
			return nil
		})
	}
	for _, p := range o.paths {
		add(p)
	}
	for _, p := range o.logs {
		add(p)
		dir, base := filepath.Split(p)
		k.files = append(k.files, File{Path: p, Beside: true})
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			k.files = append(k.files, File{Path: filepath.Join(real, base), Beside: true})
		}
		entries, _ := os.ReadDir(dir) // what cannot be listed cannot be added
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), base+".") {
				add(filepath.Join(dir, e.Name()))
			}
		}
	}
	o.known.Store(k)
	return k
}

const maxLinks = 40

// ways lists path as it is spelled after each link on the way but the last was followed; up to the link that is next each
// is canonical.
func ways(path string) (out []string) {
	rest, at := strings.TrimPrefix(path, string(filepath.Separator)), filepath.VolumeName(path)+string(filepath.Separator)
	for rest != "" {
		name, more, _ := strings.Cut(rest, string(filepath.Separator))
		next := filepath.Join(at, name)
		to, err := os.Readlink(next)
		if err != nil { // no link, or missing from here on
			at, rest = next, more
			continue
		}
		if out = append(out, filepath.Join(next, more)); len(out) == maxLinks {
			return out
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(at, to)
		}
		whole := filepath.Join(to, more)
		at = filepath.VolumeName(whole) + string(filepath.Separator)
		rest = strings.TrimPrefix(whole, at)
	}
	return out
}

func idOf(stat func(string) (fs.FileInfo, error), path string) (beneath.ObjectID, bool) {
	st, err := stat(path)
	if err != nil {
		return beneath.ObjectID{}, false
	}
	dev, ino, ok := identity(st)
	return beneath.ObjectID{Dev: dev, Ino: ino}, ok
}

// clock lets the zero Own, which knows what Add names only, do without a state directory.
func (o *Own) clock() time.Time {
	if o.now == nil {
		return time.Now()
	}
	return o.now()
}
