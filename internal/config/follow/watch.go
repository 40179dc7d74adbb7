package follow

import (
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/rootbound/rootbound/internal/config"
)

// Watch tells whether files changed, by looking at them: a configuration may be written in place, replaced by an editor,
// or be a link that is turned. A change counts when two looks in a row found the same, so that a file which is being
// written is left alone. Not safe for concurrent use.
type Watch struct {
	paths []string
	taken []stamp // when a change was last told
	seen  []stamp // at the last look
}

type stamp struct {
	there bool
	info  fs.FileInfo
}

// Every is how often a watched file is looked at; a change is told within twice that time.
const Every = 450 * time.Millisecond

// NewWatch looks at the configuration file, from what it was when it was read, and at other files from now on. A file that
// is missing may appear.
func NewWatch(c *config.Config, more ...string) *Watch {
	w := &Watch{paths: append([]string{c.File}, more...)}
	w.seen = w.look()
	w.taken = slices.Clone(w.seen)
	w.taken[0] = stamp{c.Stamp() != nil, c.Stamp()}
	return w
}

func (w *Watch) look() []stamp {
	out := make([]stamp, len(w.paths))
	for i, p := range w.paths {
		out[i] = look(p)
	}
	return out
}

func look(path string) stamp {
	st, err := os.Stat(path)
	return stamp{err == nil, st}
}

// Changed looks and reports whether a change is whole.
func (w *Watch) Changed() bool {
	now := w.look()
	still := equal(now, w.seen)
	w.seen = now
	if !still || equal(now, w.taken) {
		return false
	}
	w.taken = now
	return true
}

func equal(a, b []stamp) bool {
	for i := range a {
		if a[i].there != b[i].there {
			return false
		}
		if !a[i].there {
			continue
		}
		x, y := a[i].info, b[i].info
		if !os.SameFile(x, y) || x.Size() != y.Size() || !x.ModTime().Equal(y.ModTime()) {
			return false
		}
	}
	return true
}
