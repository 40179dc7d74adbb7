// Package own tells which objects and paths are this program's own files, which no project reaches (contract §5).
package own

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
)

// File is a file or directory of this program. Path is absolute and canonical; it hides the name from walks. ID is
// compared for every object that is opened.
type File struct {
	Path   string
	ID     beneath.ObjectID
	Beside bool // names that continue Path after a dot are ours too: a log's files that were or will be set aside

	// Still reports whether what is at Path has the identity now: when a file of ours is deleted, the file system may give its
	// number to the next one, which is not ours. nil: ID counts until less is told.
	Still func() bool
}

// Files is a copy of what ask tells, at most a second old. Safe for concurrent use.
type Files struct {
	ask  func() []File
	mu   sync.Mutex           // held while asking
	top  beneath.Mounted      // what was mounted at first: a confinement that follows may forbid to look again
	last atomic.Pointer[told] // nil: not yet asked
}

// told is what was told at one time.
type told struct {
	at    time.Time
	ids   []beneath.ObjectID // a few: quicker to look through than a map, and asked for each file of a search
	still []func() bool      // of each of ids
	paths []place
}

// place is a path of ours. Paths are compared folded, as rules are: where .STATE is .state both name it, and the kernel
// tells the spelling it was asked with.
type place struct {
	path   string // as it was told
	folded string // one that ends in a dot stands for all names that continue it
}

func fold(abs string) string { return rules.Fold(strings.TrimPrefix(abs, "/")) }

// New makes a Files; ask may be nil, and is called at most once a second, and where an identity that was told is met whose
// file is gone.
func New(ask func() []File) *Files {
	o := &Files{ask: ask}
	if ask != nil {
		o.top = beneath.ReadMounted()
	}
	return o
}

// Any reports whether anything may be ours.
func (o *Files) Any() bool { return o.ask != nil }

// known is what was told, at most a second ago.
func (o *Files) known() *told {
	if o.ask == nil {
		return &told{}
	}
	return o.since(time.Now().Add(-time.Second))
}

// since is what was told after a time.
func (o *Files) since(then time.Time) *told {
	if l := o.last.Load(); l != nil && l.at.After(then) {
		return l
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if l := o.last.Load(); l != nil && l.at.After(then) {
		return l
	}
	l := &told{at: time.Now()}
	list := o.ask()
	mounts := beneath.ReadMounted()
	if mounts == nil {
		mounts = o.top
	}
	for _, f := range list {
		if f.ID != (beneath.ObjectID{}) {
			l.ids, l.still = append(l.ids, f.ID), append(l.still, f.Still)
		}
		if f.Path != "" {
			at := strings.TrimRight(f.Path, "/")
			for _, at := range append([]string{at}, mounts.Elsewhere(at)...) { // what is below a directory has identities that nobody tells
				l.paths = append(l.paths, place{at, fold(at)})
				if f.Beside {
					l.paths = append(l.paths, place{at + ".", fold(at) + "."})
				}
			}
		}
	}
	o.last.Store(l)
	return l
}

// Object reports whether an object is ours by identity, whatever its mount.
func (o *Files) Object(id beneath.ObjectID) bool {
	l, gone := o.known(), false
	for i := range l.ids {
		if !l.ids[i].Same(id) {
			continue
		}
		if still := l.still[i]; still == nil || still() {
			return true
		}
		gone = true
	}
	// What is gone may have been moved to another place of ours.
	return gone && slices.ContainsFunc(o.since(time.Now()).ids, id.Same)
}

// Path reports whether an absolute canonical path is ours or lies below a directory of ours.
func (o *Files) Path(abs string) bool {
	paths := o.known().paths
	if len(paths) == 0 {
		return false
	}
	abs = fold(abs)
	for i := range paths {
		p := paths[i].folded
		if p == "" {
			continue
		}
		if p[len(p)-1] == '.' && strings.HasPrefix(abs, p) {
			return true
		}
		if abs == p || len(abs) > len(p) && abs[len(p)] == '/' && abs[:len(p)] == p {
			return true
		}
	}
	return false
}

// Below lists our paths that lie below an absolute canonical directory, relative to it.
func (o *Files) Below(dir string) map[string]bool {
	paths := o.known().paths
	var out map[string]bool
	if len(paths) == 0 {
		return nil
	}
	if dir = fold(dir); dir != "" {
		dir += "/"
	}
	for i := range paths {
		rest, ok := strings.CutPrefix(paths[i].folded, dir)
		if !ok || rest == "" {
			continue
		}
		if out == nil {
			out = map[string]bool{}
		}
		out[lastNames(paths[i].path, strings.Count(rest, "/")+1)] = true
	}
	return out
}

// lastNames are the last n names of a path.
func lastNames(path string, n int) string {
	at := len(path)
	for ; n > 0 && at >= 0; n-- {
		at = strings.LastIndexByte(path[:at], '/')
	}
	return path[at+1:]
}
