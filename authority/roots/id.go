package roots

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// IDs gives approved roots their ids: one for an object as long as it lives, never one for two objects. What the
// kernel calls an object (device and inode) is reused after it is gone, so an entry also needs the birth time, and that is
// only believed if it was clearly in the past when the object was first seen: within one tick of the clock an inode can
// be freed and born again. Where it cannot be believed the object itself is held, which keeps its inode from being
// reused. The zero value is ready. Safe for concurrent use.
type IDs struct {
	mu    sync.Mutex
	known map[beneath.ObjectID]*named
	order []beneath.ObjectID // by first sight
	used  map[rootbound.RootID]bool
}

type named struct {
	id    rootbound.RootID
	birth time.Time
	held  *beneath.Root // nil where the birth time is believed
}

const (
	maxNamed = 4096            // objects remembered by birth time
	maxHeld  = 2 * MaxEntries  // objects held; the one seen first makes room and loses its id
	ripe     = 2 * time.Second // age from which a birth time is believed; file systems count in seconds at worst
)

// Of is the id of an approved root; taken tells which ids belong to somebody else. Errors are those of beneath.Root.Info.
func (r *IDs) Of(root *beneath.Root, taken func(rootbound.RootID) bool) (rootbound.RootID, error) {
	info, err := root.Info()
	if err != nil {
		return "", err
	}
	now := time.Now()
	believed := !info.BTime.IsZero() && now.Sub(info.BTime) > ripe
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known, r.used = map[beneath.ObjectID]*named{}, map[rootbound.RootID]bool{}
	}
	if n := r.known[root.ID()]; n != nil && (n.held != nil || n.birth.Equal(info.BTime)) {
		if n.held != nil && believed { // while it was held it was the same object, so its birth can be believed now
			n.held.Release()
			n.held, n.birth = nil, info.BTime
		}
		return n.id, nil
	}
	r.forget(root.ID())
	n := &named{birth: info.BTime}
	for n.id == "" || r.used[n.id] || taken(n.id) {
		n.id = rootbound.RootID("r-" + strings.ToLower(rand.Text()[:8]))
	}
	r.used[n.id] = true
	if !believed {
		n.held = root.Retain()
	}
	r.known[root.ID()] = n
	r.order = append(r.order, root.ID())
	r.bound()
	return n.id, nil
}

// bound drops the oldest held object, then the oldest at all.
func (r *IDs) bound() {
	held := 0
	for _, n := range r.known {
		if n.held != nil {
			held++
		}
	}
	for _, id := range r.order {
		if held <= maxHeld {
			break
		}
		if r.known[id].held != nil {
			r.forget(id)
			break
		}
	}
	if len(r.order) > maxNamed {
		r.forget(r.order[0])
	}
}

func (r *IDs) forget(id beneath.ObjectID) {
	n := r.known[id]
	if n == nil {
		return
	}
	if n.held != nil {
		n.held.Release()
	}
	delete(r.known, id)
	for i, o := range r.order {
		if o == id {
			r.order = append(r.order[:i], r.order[i+1:]...)
			break
		}
	}
}

// Close lets go of what is held.
func (r *IDs) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.order) > 0 {
		r.forget(r.order[0])
	}
}
