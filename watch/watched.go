package watch

import (
	"context"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Watch is one watched object. Its methods are safe for concurrent use.
type Watch struct {
	w     *Watcher
	id    uint32
	owner string
	share *share // of the owner
	tree  bool
	name  string // of the watched file; "" for a directory
	f     func(Event)

	object beneath.ObjectID // that was watched first

	mu        sync.Mutex
	cond      sync.Cond // of telling
	waiting   []beneath.Notice
	lost      bool // more notices than can wait, or the kernel lost some
	timeUp    bool // a window closes
	suspended bool
	renewed   *renewal
	started   bool
	closed    bool
	running   bool // work is under way
	telling   bool // f runs
	timer     *time.Timer

	// What follows belongs to begin, work and finish, of which one runs at a time.
	place    *beneath.Place
	path     string // of place
	see      Sight
	nodes    nodes
	above    []beneath.WatchID // of the directories between the root and node 0
	pend     windows
	collapse bool // tell one Changed for all
	any      bool // collapse: there is something to tell
	held     []hold
	unsure   bool      // not all directories may be watched: look again
	took     bool      // a directory was taken up
	missing  time.Time // when the watched file was missed, plus what it is given to come back
	lastSeen beneath.What
	astray   bool            // node 0 was not at its place, and no notice has said why
	mark     beneath.WatchID // comes behind the notices that may say why; 0: none was asked for
	done     bool
}

// hold is what could be neither judged nor told because the generation had ended.
type hold struct {
	spot spot
	dir  bool
}

type renewal struct {
	place *beneath.Place
	see   Sight
}

// Close ends the watch without an event. f may be running when it returns, but is not called again. f may call it.
func (x *Watch) Close() {
	x.mu.Lock()
	x.closed = true
	x.cond.Broadcast()
	x.start()
	x.mu.Unlock()
}

// Suspend stops telling. When it returns, f does not run; so f must not call it, nor may its caller hold what f waits for.
func (x *Watch) Suspend() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.suspended = true
	for x.telling {
		x.cond.Wait()
	}
}

// Resume goes on with the object o, which must be the watched one (of a file: one of its name in the same directory, or the
// watch ends), and with another Sight, which is closed with the watch or if Resume fails. The root it was reached from may be
// another. What happened since Suspend is judged by the new Sight and told as one
// Changed of the object itself, if there is anything to tell, and once more if directories are found then that were not watched. moved_out: o is another object.
func (x *Watch) Resume(o *beneath.Object, see Sight) error {
	if see == nil {
		see = everything{}
	}
	p := o.Place()
	x.mu.Lock()
	defer x.mu.Unlock()
	var err error
	switch {
	case x.closed:
		err = closed()
	case x.name == "" && !p.ID().Same(x.object), x.name != "" && (o.IsDir() || path.Base(p.At().Path) != x.name):
		err = &rootbound.Error{Reason: rootbound.MovedOut}
	}
	if err != nil {
		see.Close()
		p.Close()
		return err
	}
	if old := x.renewed; old != nil {
		old.see.Close()
		old.place.Close()
	}
	x.renewed = &renewal{p, see}
	x.suspended = false
	x.start()
	return nil
}

// queue takes a notice from the reader. work: the reader is to call work.
func (x *Watch) queue(n beneath.Notice) (work bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return false
	case n.What&beneath.Lost != 0 || len(x.waiting) >= x.w.opt.Queue:
		x.lose()
	case x.lost:
	case x.share.waiting.Add(1) > int64(x.w.opt.Waiting):
		x.share.waiting.Add(-1)
		x.lose()
	default:
		x.waiting = append(x.waiting, n)
	}
	return x.wake()
}

// lose gives up the notices that wait: there are too many, or some are missing. x.mu is held.
func (x *Watch) lose() {
	x.lost = true
	x.share.waiting.Add(-int64(len(x.waiting)))
	x.waiting = nil
}

// wake reports whether there is work that nobody does yet; then the caller has to. x.mu is held.
func (x *Watch) wake() bool {
	if x.running || !x.started || x.done {
		return false
	}
	x.running = x.closed || !x.suspended && (len(x.waiting) > 0 || x.lost || x.timeUp || x.renewed != nil)
	return x.running
}

// start does what there is to do on a goroutine of its own. x.mu is held.
func (x *Watch) start() {
	if x.wake() {
		x.w.wg.Go(x.work)
	}
}

// work runs while there is something to do.
func (x *Watch) work() {
	for {
		x.mu.Lock()
		switch {
		case x.closed:
			x.mu.Unlock()
			x.finish()
			return
		case x.suspended, len(x.waiting) == 0 && !x.lost && !x.timeUp && x.renewed == nil:
			x.running = false
			x.mu.Unlock()
			return
		}
		todo, lost, timeUp, renewed := x.waiting, x.lost, x.timeUp, x.renewed
		x.waiting, x.lost, x.timeUp, x.renewed = nil, false, false, nil
		x.mu.Unlock()
		if renewed != nil {
			x.renew(renewed)
		}
		for i := range todo {
			if x.paused() {
				x.giveBack(todo[i:])
				todo = todo[:i]
				break
			}
			x.take(todo[i])
		}
		x.share.waiting.Add(-int64(len(todo)))
		if lost && x.w.deafened() {
			x.end(rootbound.IOError)
		} else if lost {
			x.again()
		}
		if timeUp {
			x.closeWindows()
		}
		if x.collapse {
			x.collapse = false
			if x.any {
				x.any = false
				x.offer(spot{x.top(), x.name}, x.name == "")
			}
		}
		if renewed != nil {
			x.took = false
			if x.rescan(); x.took { // what happened in it since it can be seen, nobody was told
				x.offer(spot{x.top(), x.name}, x.name == "")
			}
		}
		x.setTimer()
	}
}

func (x *Watch) paused() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.suspended || x.closed
}

// depth is how many components node 0 lies below the root.
func (x *Watch) depth() int {
	if x.name != "" {
		return x.place.Depth() - 1
	}
	return x.place.Depth()
}

func (x *Watch) top() beneath.WatchID { return x.nodes.all[0].id }

// giveBack puts notices back that came before a suspension and were not told.
func (x *Watch) giveBack(todo []beneath.Notice) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.waiting = append(todo[:len(todo):len(todo)], x.waiting...); x.lost || x.closed {
		x.lose()
	}
}

func (x *Watch) setTimer() {
	at, ok := x.pend.closing()
	if !x.missing.IsZero() && (!ok || x.missing.Before(at)) {
		at, ok = x.missing, true
	}
	if !ok {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	up := func() {
		x.mu.Lock()
		x.timeUp = true
		x.start()
		x.mu.Unlock()
	}
	if x.timer == nil {
		x.timer = time.AfterFunc(time.Until(at), up)
	} else {
		x.timer.Reset(time.Until(at))
	}
}

// tell calls f; false, and nothing told, while suspended or at the end.
func (x *Watch) tell(e Event) bool {
	x.mu.Lock()
	if x.closed || x.suspended {
		x.mu.Unlock()
		return false
	}
	x.telling = true
	x.mu.Unlock()
	x.f(e)
	x.mu.Lock()
	x.telling = false
	x.cond.Broadcast()
	x.mu.Unlock()
	return true
}

// end tells the last event.
func (x *Watch) end(why rootbound.Reason) {
	if x.tell(Event{Kind: Ended, Why: why}) {
		x.mu.Lock()
		x.closed = true
		x.mu.Unlock()
	}
}

// begin puts the watches in force.
func (x *Watch) begin(ctx context.Context, o *beneath.Object) error {
	if !o.IsDir() {
		x.tree = false
		x.name = path.Base(x.path)
	}
	if x.w.deafened() {
		return &rootbound.Error{Reason: rootbound.IOError, Detail: "the system gives no notices any more"}
	}
	depth := x.depth()
	if x.name != "" {
		d, err := x.place.Above(depth)
		if err != nil {
			return err
		}
		defer d.Close()
		e, err := d.Entry(x.name)
		if err != nil {
			return err
		}
		defer e.Close()
		if i, err := e.Lstat(); err != nil || !i.ID.Same(o.Info().ID) {
			return &rootbound.Error{Reason: rootbound.MovedOut, Err: err}
		} else if i.ID.Mount != d.Info().ID.Mount {
			return &rootbound.Error{Reason: rootbound.IOError, Detail: "a file that is mounted by itself tells nothing here", Next: "Read it again instead; what changes it is told where it is mounted from."}
		}
		o = d
	}
	if err := x.lookAbove(depth); err != nil {
		return err
	}
	return x.scan(ctx, o, none, "", nil)
}

// lookAbove watches whether a directory between the root and node 0, which lies at a depth, is moved.
func (x *Watch) lookAbove(depth int) error {
	for n := range depth {
		d, err := x.place.Above(n)
		if err == nil {
			err = x.lookAt(d)
			d.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *Watch) lookAt(d *beneath.Object) error {
	defer x.w.add()()
	for {
		id, err := x.w.n.AddSelf(d)
		if err != nil || slices.Contains(x.above, id) {
			return err
		}
		if x.w.link(id, x) {
			x.above = append(x.above, id)
			return nil
		}
	}
}

// finish gives back what the watch holds.
func (x *Watch) finish() {
	x.mu.Lock()
	if x.timer != nil {
		x.timer.Stop()
	}
	if x.renewed != nil {
		x.renewed.see.Close()
		x.renewed.place.Close()
		x.renewed = nil
	}
	x.lose()
	x.closed, x.done = true, true
	x.mu.Unlock()
	for _, id := range x.above {
		x.w.unlink(id, x, false)
	}
	if x.nodes.count > 0 {
		x.drop(0)
	}
	x.see.Close()
	x.place.Close()
	x.w.mu.Lock()
	delete(x.w.watches, x.id)
	if x.share.watches--; x.share.watches == 0 {
		delete(x.w.each, x.owner)
	}
	x.w.mu.Unlock()
}

// drop forgets a directory and all below it.
func (x *Watch) drop(k int32) {
	n := 0
	x.nodes.drop(k, func(id beneath.WatchID) {
		n++
		x.w.unlink(id, x, n%drainEach == 0)
	})
	x.w.discount(x, n)
}
