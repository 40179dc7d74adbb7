package guard

import (
	"strings"
	"sync"
	"time"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
)

// ownRule names the one rule that no configuration lifts.
var ownRule = &rules.Rule{ID: "own_files", Lift: "nothing lifts it: these are the files of rootbound itself"}

// ownFiles is a copy of Options.Own that is at most a second old.
type ownFiles struct {
	mu    sync.RWMutex
	asked time.Time
	ids   map[[2]uint64]bool
	paths []string // those that end in a dot stand for all names that continue them
}

func (g *Guard) ownIDs() (ids map[[2]uint64]bool, paths []string) {
	if g.opt.Own == nil {
		return nil, nil
	}
	o := &g.own
	o.mu.RLock()
	fresh := time.Since(o.asked) < time.Second && !o.asked.IsZero()
	ids, paths = o.ids, o.paths
	o.mu.RUnlock()
	if fresh {
		return ids, paths
	}
	list := g.opt.Own()
	ids, paths = make(map[[2]uint64]bool, len(list)), nil
	for _, f := range list {
		if f.ID != (beneath.ObjectID{}) {
			ids[[2]uint64{f.ID.Dev, f.ID.Ino}] = true
		}
		if f.Path != "" {
			at := strings.TrimRight(f.Path, "/")
			paths = append(paths, at)
			if f.Beside {
				paths = append(paths, at+".")
			}
		}
	}
	o.mu.Lock()
	o.asked, o.ids, o.paths = time.Now(), ids, paths
	o.mu.Unlock()
	return ids, paths
}

// ownObject reports whether an object is ours by identity, whatever its mount.
func (g *Guard) ownObject(id beneath.ObjectID) bool {
	ids, _ := g.ownIDs()
	return ids[[2]uint64{id.Dev, id.Ino}]
}

// ownPath reports whether an absolute canonical path is ours or lies below a directory of ours.
func (g *Guard) ownPath(abs string) bool {
	_, paths := g.ownIDs()
	for _, p := range paths {
		if p[len(p)-1] == '.' && strings.HasPrefix(abs, p) {
			return true
		}
		if abs == p || len(abs) > len(p) && abs[len(p)] == '/' && abs[:len(p)] == p {
			return true
		}
	}
	return false
}

// ownBelow lists our paths that lie below an absolute canonical directory, relative to it.
func (g *Guard) ownBelow(dir string) map[string]bool {
	_, paths := g.ownIDs()
	var out map[string]bool
	for _, p := range paths {
		rest, ok := strings.CutPrefix(p, strings.TrimRight(dir, "/")+"/")
		if ok {
			if out == nil {
				out = map[string]bool{}
			}
			out[rest] = true
		}
	}
	return out
}
