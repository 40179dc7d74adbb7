package watch

import (
	"time"

	"github.com/rootbound/rootbound/beneath"
)

// leastWait is the least time between two Overflows of one watch, and for which a watched file may be missing: editors
// move a file away and write another.
const leastWait = 50 * time.Millisecond

// spot is an entry of a watched directory; name "" is the directory itself.
type spot struct {
	id   beneath.WatchID
	name string
}

// windows holds back what was told a moment ago. The first notice of a spot is told at once and opens its window; what
// comes within it is told when it closes, once, and opens the next. More spots than the limit: the windows are given up
// for a single one, of everything. Not safe for concurrent use; the time is its caller's.
type windows struct {
	size  time.Duration
	limit int
	open  map[spot]*window
	queue []*window // in the order of their ends
	flood *window   // of everything, while there were too many spots
}

type window struct {
	spot  spot
	dir   bool
	ends  time.Time
	again bool // something came meanwhile
	shut  bool // a writer closed it meanwhile
	stamp stamp
}

// stamp is the state of an entry when it was told.
type stamp struct {
	ino                uint64
	size, mtime, ctime int64
}

func stampOf(i *beneath.Info) stamp {
	return stamp{i.ID.Ino, i.Size, i.MTime.UnixNano(), i.CTime.UnixNano()}
}

func (w *windows) init(size time.Duration, limit int) {
	w.size, w.limit = max(size, 0), limit
}

// verdicts of offer.
type verdict uint8

const (
	tellNow  verdict = iota
	tellLate         // when its window closes
	tellAll          // Overflow, now
)

// offer is asked for what may be told; state is how it is.
func (w *windows) offer(s spot, dir bool, state stamp) verdict {
	if w.flood != nil {
		w.flood.again = true
		return tellLate
	}
	if w.size == 0 {
		return tellNow
	}
	now := time.Now()
	if o := w.open[s]; o != nil {
		o.again, o.dir = true, dir
		return tellLate
	}
	if len(w.open) >= w.limit {
		w.overflow(now)
		return tellAll
	}
	w.push(s, dir, now, state)
	return tellNow
}

// shut takes that a writer closed an entry, if its window is open: what he wrote was told by itself, so it is told when the
// window closes only if the entry is not as it was told by then.
func (w *windows) shut(s spot) bool {
	o := w.open[s]
	if o != nil {
		o.shut = true
	}
	return o != nil
}

// overflow gives up all windows for one of everything.
func (w *windows) overflow(now time.Time) {
	clear(w.open)
	w.queue = nil
	w.flood = &window{ends: now.Add(max(w.size, leastWait))}
}

// unsure has everything told as Overflow when a window of everything closes, which is opened if there is none.
func (w *windows) unsure(now time.Time) {
	if w.flood == nil {
		w.overflow(now)
	}
	w.flood.again = true
}

func (w *windows) push(s spot, dir bool, now time.Time, state stamp) {
	if w.open == nil {
		w.open = map[spot]*window{}
	}
	o := &window{spot: s, dir: dir, ends: now.Add(w.size), stamp: state}
	w.open[s] = o
	w.queue = append(w.queue, o)
}

// due closes the windows whose time is over. late are those in which something came or was closed; all: Overflow is due.
func (w *windows) due(now time.Time) (late []*window, all bool) {
	if w.flood != nil && !w.flood.ends.After(now) {
		all = w.flood.again
		w.flood = nil
	}
	n := 0
	for ; n < len(w.queue) && !w.queue[n].ends.After(now); n++ {
		o := w.queue[n]
		delete(w.open, o.spot)
		if o.again || o.shut {
			late = append(late, o)
		}
	}
	w.queue = w.queue[n:]
	if len(w.queue) == 0 {
		w.queue = nil
	}
	return late, all
}

// closing is when the next window closes; ok is false if none is open.
func (w *windows) closing() (at time.Time, ok bool) {
	switch {
	case w.flood != nil:
		return w.flood.ends, true
	case len(w.queue) > 0:
		return w.queue[0].ends, true
	}
	return time.Time{}, false
}

// all closes every window, whatever the time: what is still to be told.
func (w *windows) all() (late []*window, everything bool) {
	everything = w.flood != nil && w.flood.again
	for _, o := range w.queue {
		if o.again || o.shut {
			late = append(late, o)
		}
	}
	clear(w.open)
	w.queue, w.flood = nil, nil
	return late, everything
}
