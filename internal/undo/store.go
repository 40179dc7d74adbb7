// Package undo keeps what changes replaced or deleted, so that a person can take a change back, and writes down what a
// change is about to do, so that a change which a crash cut short is rolled back at the next start.
//
//	DIR/begun/ID       record of a change that is happening; locked by the process that makes it
//	DIR/done/ID.SIZE   record of a change that can be taken back
//	DIR/data/NAME      what was replaced or deleted: the very inode where it lies on the same file system, else a copy
//
// The store is bounded in bytes, in changes and in age; the oldest go first. Records carry a MAC under a key of the state
// directory, so that a forged or edited one is never acted upon, and recovery writes only beneath the projects of the
// current configuration.
package undo

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/internal/state"
)

// Defaults of Options.
const (
	DefaultMaxSize = 256 << 20
	DefaultKeep    = 7 * 24 * time.Hour
	DefaultEntries = 1000
)

// Options of a Store. The zero value of each is its default.
type Options struct {
	MaxSize int64         // bytes
	Keep    time.Duration // age after which a change is forgotten
	Entries int           // changes
	Now     func() time.Time
}

// Store is one user's store, shared with this user's other processes. Safe for concurrent use.
type Store struct {
	opt   Options
	bound atomic.Pointer[Options] // MaxSize, Keep and Entries
	dir   string
	key   []byte
	boot  string
	root  *beneath.Root
	data  *beneath.Object

	mu    sync.Mutex
	items []item // of done, oldest first, as last read
	total int64
	read  time.Time
	seen  time.Time // mtime of done when it was read or changed by us
	own   int       // changes by us since it was read
}

// item is a change that can be taken back.
type item struct {
	id   string
	name string // in done
	size int64
}

// Open opens or makes the store in the state directory.
func Open(d *state.Dir, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{opt: o, boot: state.BootID()}
	s.limit(o)
	var err error
	if s.key, err = d.Key("undo"); err != nil {
		return nil, err
	}
	if s.dir, err = d.Sub("undo"); err != nil {
		return nil, err
	}
	for _, sub := range []string{"begun", "done", "data"} {
		if err := os.Mkdir(filepath.Join(s.dir, sub), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	if s.root, err = beneath.OpenRoot(s.dir); err != nil {
		return nil, err
	}
	s.data, err = beneath.NewSet([]beneath.Member{{Root: s.root}}, nil).Open(beneath.Ref{Path: "data"}, beneath.Dir)
	if err != nil {
		s.root.Release()
		return nil, err
	}
	return s, nil
}

func (s *Store) limit(o Options) {
	if o.MaxSize <= 0 {
		o.MaxSize = DefaultMaxSize
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	if o.Entries <= 0 {
		o.Entries = DefaultEntries
	}
	s.bound.Store(&o)
}

// Tune sets other values of Options.MaxSize, Keep and Entries. What they have no room for is dropped now, or with the next
// change if it cannot be. Safe for concurrent use.
func (s *Store) Tune(o Options) {
	was := *s.bound.Load()
	s.limit(o)
	if now := s.bound.Load(); now.MaxSize < was.MaxSize || now.Keep < was.Keep || now.Entries < was.Entries {
		_ = s.room(0)
	}
}

// Close gives the store up. Changes that are happening must have ended.
func (s *Store) Close() error {
	err := s.data.Close()
	s.root.Release()
	return err
}

func (s *Store) path(sub, name string) string { return filepath.Join(s.dir, sub, name) }

// newID begins with the time, so that names sort by age: milliseconds, and behind the hyphen what is beyond them in
// microseconds, for two changes fit into one millisecond where nothing has to be synced.
func (s *Store) newID() string {
	now := s.opt.Now()
	beyond := strconv.FormatInt(now.UnixMicro()%1000, 36)
	return strings.ToLower(strconv.FormatInt(now.UnixMilli(), 36) + "-" + strings.Repeat("0", 2-len(beyond)) + beyond + rand.Text()[:6])
}

// timeOf reads the time an id was made at.
func timeOf(id string) time.Time {
	head, _, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(head, 36, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// refresh reads the names in done if another process may have changed them. s.mu is held.
func (s *Store) refresh(force bool) error {
	st, err := os.Stat(s.path("done", ""))
	if err != nil {
		return err
	}
	const trust = 64 // times are coarse: what another process did within one tick shows at the latest after so many changes
	if !force && st.ModTime().Equal(s.seen) && s.own < trust && s.opt.Now().Sub(s.read) < time.Minute {
		return nil
	}
	names, err := os.ReadDir(s.path("done", ""))
	if err != nil {
		return err
	}
	s.items, s.total, s.own = s.items[:0], 0, 0
	s.read, s.seen = s.opt.Now(), st.ModTime()
	for _, n := range names {
		id, size, ok := strings.Cut(n.Name(), ".")
		bytes, err := strconv.ParseInt(size, 10, 64)
		if !ok || err != nil || bytes < 0 || timeOf(id).IsZero() {
			continue
		}
		s.items = append(s.items, item{id, n.Name(), bytes})
		s.total += bytes
	}
	slices.SortFunc(s.items, func(a, b item) int { return cmp.Or(timeOf(a.id).Compare(timeOf(b.id)), cmp.Compare(a.id, b.id)) })
	return nil
}

// touched remembers that done was changed by us. s.mu is held.
func (s *Store) touched() {
	s.own++
	if st, err := os.Stat(s.path("done", "")); err == nil {
		s.seen = st.ModTime()
	}
}

// room drops what is too old, and the oldest until need more bytes and one more change fit. limit_reached: they never do.
func (s *Store) room(need int64) error {
	bound := s.bound.Load()
	if need > bound.MaxSize {
		return &rootbound.Error{Reason: rootbound.LimitReached,
			Detail: fmt.Sprintf("what is replaced or deleted holds %d bytes, and %d are kept for undo at most", need, bound.MaxSize),
			Next:   "Change or delete less at once; the operator can raise undo.max_size, or set it to 0 so that nothing is kept."}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(false); err != nil {
		return unwritable(err)
	}
	oldest := s.opt.Now().Add(-bound.Keep)
	for len(s.items) > 0 {
		it := s.items[0]
		if s.total+need <= bound.MaxSize && len(s.items) < bound.Entries && timeOf(it.id).After(oldest) {
			break
		}
		s.forget(it)
		s.items, s.total = s.items[1:], s.total-it.size
		s.touched()
	}
	return nil
}

// forget removes a change: what was kept first, so that nothing is left that no record names.
func (s *Store) forget(it item) {
	path := s.path("done", it.name)
	if r, err := s.load(path); err == nil {
		s.empty(r)
	}
	_ = os.Remove(path)
}

// empty removes what a record keeps.
func (s *Store) empty(r *record) {
	for _, e := range r.Entries {
		if e.Kept != "" {
			s.removeKept(e.Kept)
		}
	}
}

func (s *Store) removeKept(name string) {
	at, err := s.data.Entry(name)
	if err != nil {
		return
	}
	defer at.Close()
	if now, err := at.Lstat(); err == nil {
		_ = at.RemoveTemporary(now.ID) // of our own directory; what cannot be removed stays until the next start
	}
}

func (s *Store) load(path string) (*record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return open(s.key, b)
}

// unwritable is the refusal of a change that cannot be written down.
func unwritable(err error) error {
	return &rootbound.Error{Reason: rootbound.IOError, Detail: "what would be replaced or deleted cannot be kept for undo: the state directory cannot be written",
		Next: "Nothing was changed. The operator can make room there, or set undo.max_size to 0 so that nothing is kept.", Retryable: true, Err: err}
}
