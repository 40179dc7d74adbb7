// Package cache keeps what reads found out about files, for later reads of the same version.
//
// It stands behind the guard: a file is resolved, judged and recorded like any other before anybody looks here, so the cache
// decides nothing. What is kept has the key authority, generation, object and version (guard.Identity), so that a workspace
// that was switched or a root that was revoked leaves nothing behind (contract §4.6). Drop empties it for an authority before
// its next generation is visible, and what a read brings when its generation has ended is not kept.
//
// A version is told by size and times, and times are coarse: a file that changed a moment ago may change again and look
// the same. So nothing is kept of a file whose last change is not older than Age, nor of one that changed while it was
// read, nor from file systems whose times another clock makes. A program that writes through a memory mapping may change
// bytes without the times telling at once; what is kept is only where lines begin, so the worst is a wrong line number,
// never old text.
package cache

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

// Bounds of a cache.
const (
	DefaultBytes = 8 << 20 // of one authority
	DefaultTotal = 64 << 20
	Smallest     = 512 << 10       // bytes of a file of which something is kept: a smaller one is read faster than looked up
	Age          = 2 * time.Second // of a file's last change; FAT counts in these
)

// Options of New. 0 means the default.
type Options struct {
	Bytes int // held for one authority, about
	Total int // held for all, about
	Now   func() time.Time
}

// Cache is safe for concurrent use. A nil Cache keeps nothing.
type Cache struct {
	opt Options

	mu     sync.Mutex
	owners map[string]*owner // by authority
	held   int
	turn   uint64
}

// owner is what is kept for one authority, the most recently used first.
type owner struct {
	at   map[guard.Identity]*list.Element
	used list.List // of *kept
	held int
}

type kept struct {
	key   guard.Identity
	marks []fileop.Mark // never changed, only replaced
	turn  uint64        // when it was used last
}

// size is about what a kept file costs.
func (k *kept) size() int { return 512 + 16*cap(k.marks) }

// New makes a Cache.
func New(o Options) *Cache {
	if o.Bytes <= 0 {
		o.Bytes = DefaultBytes
	}
	if o.Total <= 0 {
		o.Total = DefaultTotal
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Cache{opt: o, owners: map[string]*owner{}}
}

// Marks are what is known of the file on this target, for fileop.ReadTextFrom; not to be changed.
func (c *Cache) Marks(on *guard.Target) []fileop.Mark {
	if c == nil || on.Info().Size < Smallest || on.Stale() != nil {
		return nil
	}
	key := keyOf(on)
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[key.Authority]
	if o == nil {
		return nil
	}
	e := o.at[key]
	if e == nil {
		return nil
	}
	k := e.Value.(*kept)
	c.turn++
	k.turn = c.turn
	o.used.MoveToFront(e)
	return k.marks
}

// keyOf is the whole identity: anything less would let one scope answer for another.
func keyOf(on *guard.Target) guard.Identity {
	key := on.Identity()
	return key
}

// Keep adds what a read through the target found, if it may be kept.
func (c *Cache) Keep(on *guard.Target, found []fileop.Mark) {
	if c == nil || len(found) == 0 || on.Info().Size < Smallest || !c.settled(on) {
		return
	}
	key := keyOf(on)
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[key.Authority]
	if o == nil {
		o = &owner{at: map[guard.Identity]*list.Element{}}
		c.owners[key.Authority] = o
	}
	e := o.at[key]
	if e == nil {
		e = o.used.PushFront(&kept{key: key})
		o.at[key] = e
	} else {
		o.used.MoveToFront(e)
		c.weigh(o, -e.Value.(*kept).size())
	}
	k := e.Value.(*kept)
	c.turn++
	k.turn, k.marks = c.turn, merged(k.marks, found)
	c.weigh(o, k.size())
	// Drop comes after the generation has ended: who is not stale here, with the lock held, is in time to be dropped.
	if on.Stale() != nil {
		c.remove(o, e)
	}
	for o.held > c.opt.Bytes && o.used.Len() > 0 {
		c.remove(o, o.used.Back())
	}
	for c.held > c.opt.Total {
		c.remove(c.eldest())
	}
}

// Drop forgets what was kept for an authority up to and with a generation that has ended: for Mark and Drop of
// mcpscope.Options. A Mark may be told when the next generation is there already, which it does not concern.
func (c *Cache) Drop(authority string, ended rootbound.Generation) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[authority]
	if o == nil {
		return
	}
	for e, next := o.used.Front(), (*list.Element)(nil); e != nil; e = next {
		next = e.Next()
		if e.Value.(*kept).key.Generation <= ended {
			c.remove(o, e)
		}
	}
}

func (c *Cache) weigh(o *owner, n int) {
	o.held += n
	c.held += n
}

func (c *Cache) remove(o *owner, e *list.Element) {
	k := e.Value.(*kept)
	o.used.Remove(e)
	delete(o.at, k.key)
	c.weigh(o, -k.size())
	if o.used.Len() == 0 {
		delete(c.owners, k.key.Authority)
	}
}

// eldest is what was not used for the longest time, by whichever authority.
func (c *Cache) eldest() (at *owner, e *list.Element) {
	for _, o := range c.owners {
		if last := o.used.Back(); last != nil && (e == nil || last.Value.(*kept).turn < e.Value.(*kept).turn) {
			at, e = o, last
		}
	}
	return at, e
}

// settled tells whether the file is what it was when it was opened, and has been for long enough to be told from the next
// version.
func (c *Cache) settled(on *guard.Target) bool {
	switch on.Object().FS() {
	case "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "tmpfs", "ramfs", "overlay": // times of this machine's clock
	default:
		return false
	}
	info := on.Info()
	now, err := on.Object().Stat()
	if err != nil || now.Version() != info.Version() {
		return false
	}
	last := info.CTime
	if info.MTime.After(last) {
		last = info.MTime
	}
	return c.opt.Now().Sub(last) > Age
}

// maxMarks is how many places are kept of one file; beyond it every second one goes.
const maxMarks = 8192

func merged(old, found []fileop.Mark) []fileop.Mark {
	all := make([]fileop.Mark, 0, len(old)+len(found))
	all = append(append(all, old...), found...)
	slices.SortFunc(all, func(a, b fileop.Mark) int {
		switch {
		case a.Line < b.Line:
			return -1
		case a.Line > b.Line:
			return 1
		}
		return 0
	})
	all = slices.Compact(all)
	for len(all) > maxMarks {
		half := all[:0]
		for i := 0; i < len(all); i += 2 {
			half = append(half, all[i])
		}
		all = half
	}
	return all
}
