package watch

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound/beneath"
)

// duty is who reads. The reader does the work of one watch by itself, which saves a change of goroutines for each notice.
// If that takes long, as on a file system that does not answer, another goroutine takes over reading, and the first ends
// with its work. Whether it takes long is looked at by a timer that runs only while there is something to read: setting
// one for each notice would cost more than what is saved.
type duty struct {
	count atomic.Uint64 // odd while the reader is at work
	armed atomic.Bool   // the timer runs
	timer *time.Timer
	last  uint64 // count when the timer went off last
	calm  int    // how often it was the same
}

// patience is between one and two times how long the reader may be at work; calm is after how many times nothing was
// read the timer rests.
const (
	patience = 5 * time.Millisecond
	calm     = 20
)

// read hands on notices until the instance is closed.
func (w *Watcher) read() {
	var work []*Watch
	for {
		if w.n.Next(func(n beneath.Notice) { work = w.dispatch(n, work) }) != nil {
			w.silent()
			return
		}
		if len(work) == 0 {
			continue
		}
		for _, x := range work[1:] {
			w.wg.Go(x.work)
		}
		at := w.duty.count.Add(1)
		if !w.duty.armed.Load() && w.duty.armed.CompareAndSwap(false, true) {
			w.duty.timer.Reset(patience)
		}
		work[0].work()
		clear(work)
		work = work[:0]
		if !w.duty.count.CompareAndSwap(at, at+1) {
			return // relieved
		}
	}
}

// tick relieves a reader who is at the same work as before.
func (w *Watcher) tick() {
	d := &w.duty
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	now := d.count.Load()
	switch {
	case now != d.last:
		d.calm = 0
	case now%2 == 1:
		if d.count.CompareAndSwap(now, now+1) {
			w.wg.Go(w.read)
		}
	default:
		d.calm++
	}
	d.last = now
	if d.calm >= calm {
		d.calm = 0
		d.armed.Store(false)
		if d.count.Load() == now || !d.armed.CompareAndSwap(false, true) {
			return
		}
	}
	d.timer.Reset(patience)
}

// follow hands on where mounts appear and go, until the end.
func (w *Watcher) follow() {
	for {
		at, err := w.opt.Mounts.Next()
		if err != nil {
			return
		}
		n := beneath.Notice{What: beneath.Remounted, Name: strings.Join(at, "\x00")}
		w.mu.Lock()
		for _, x := range w.watches {
			if x.queue(n) {
				w.wg.Go(x.work)
			}
		}
		w.mu.Unlock()
	}
}

// silent: there will be no more notices.
func (w *Watcher) silent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = true
	w.undrained()
	if w.closed {
		return
	}
	for _, x := range w.watches {
		if x.queue(beneath.Notice{What: beneath.Lost}) {
			w.wg.Go(x.work)
		}
	}
}

// dispatch queues a notice and adds the watches that have work to do by it.
func (w *Watcher) dispatch(n beneath.Notice, work []*Watch) []*Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue := func(x *Watch) {
		if n.Name != "" && x.name != "" && n.Name != x.name {
			return // another file: where many are watched each by itself, a change of one wakes its own watch only
		}
		if x.queue(n) {
			work = append(work, x)
		}
	}
	if n.What&beneath.Lost != 0 {
		for id := range w.dead {
			w.forgotten(id)
		}
		w.undrained()
		clear(w.marks)
		for _, x := range w.watches {
			queue(x)
		}
		return work
	}
	if id, ok := w.marks[n.ID]; ok {
		delete(w.marks, n.ID)
		if x := w.watches[id]; x != nil {
			queue(x)
		}
		return work
	}
	switch owner, _ := w.owners.get(n.ID); owner {
	case 0: // removed, or about to be linked by who lists the directory after that
	case shared:
		for _, id := range w.shared[n.ID] {
			queue(w.watches[id])
		}
	default:
		queue(w.watches[owner])
	}
	if n.What&beneath.Forgotten != 0 {
		w.owners.delete(n.ID)
		delete(w.shared, n.ID)
		w.forgotten(n.ID)
		if c := w.drained[n.ID]; c != nil {
			close(c)
			delete(w.drained, n.ID)
		}
	}
	return work
}
