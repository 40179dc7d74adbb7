// Package watch tells what changes below held directories, on handles and by inotify(7).
//
// A Watcher is one inotify instance and one goroutine that reads it. A Watch is of one object: a file, which is watched
// by its directory so that an atomic replacement is seen, a directory, or a directory with all that is below it. No
// descriptor stays open for a directory that is watched. What is remembered of each is who it is, its parent and its
// name; when the kernel reports something there, the place is resolved again from the held root of the watch, and only if
// that very directory is found there, and the watch's Sight lets the name be seen, is anything told. So a directory that
// was moved out of the root, or whose name leads somewhere else by now, tells nothing, and what a Sight hides is neither
// told nor counted.
//
// Directories that appear are watched first and listed then, so what appears in them in between is told. Notices may be
// told twice and may be told for something that is as it was before; none is left out without Overflow, after which
// whoever listens reads again what he wants to know.
//
// Not every file system has such notices: procfs and the like have none, and a network file system reports only what this
// machine does. A file that is changed by another of its names (hard link) outside what is watched is not reported.
package watch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Kind is what an Event tells.
type Kind uint8

// The kinds of events.
const (
	Changed  Kind = iota + 1 // made, moved there, written, or its attributes changed
	Gone                     // nothing has this name any more
	Overflow                 // more happened than could be told one by one: read again. Rel is ""
	Ended                    // the last event of this watch; Why tells the reason. Rel is ""
)

// Event is one change. It says that there is something to look at, not what: whoever looks is judged like anybody.
type Event struct {
	Rel  string // below the watched object, "" for that itself
	Kind Kind
	Why  rootbound.Reason // Ended: not_found, moved_out, limit_reached, or why the Sight refuses the object itself
}

// Sight decides what a watch may tell; guard.Target.Sight makes one. Its methods are called by one goroutine at a time.
type Sight interface {
	// Sees is nil if what was looked at may be told of: the directory, and its entry if the look names one. wasDir says
	// whether an entry that is gone was a directory.
	Sees(l *beneath.Look, wasDir bool) error
	// Below gives what Sees says of the entries of a walk below dir.
	Below(dir *beneath.Object) (func(*beneath.Node) bool, error)
	// Close is called once, when the watch does not need it any more.
	Close()
}

// Options of a Watcher. The zero value takes the defaults.
type Options struct {
	Window      time.Duration   // how long what was told of one path is not told again; default 50 ms, negative: at once each time
	Pending     int             // how many paths of one watch may be in their window; more become Overflow. Default 4,096
	Queue       int             // notices of one watch that wait to be judged; more become Overflow. Default 16,384
	Waiting     int             // the same of all watches of one owner together, as while they are suspended. Default 65,536
	Directories int             // of one watch; 0: what fs.inotify.max_user_watches leaves
	Mounts      *beneath.Mounts // followed, and closed with the Watcher; nil: opened by New, where this process may
	Together    int             // directories of all watches of one owner, each counted as often as it is watched; 0: no bound
}

// notifier is beneath.Notifier, which tests replace.
type notifier interface {
	Add(o *beneath.Object) (beneath.WatchID, error)
	AddSelf(o *beneath.Object) (beneath.WatchID, error)
	AddTree(ctx context.Context, o *beneath.Object, entered func(id beneath.WatchID, dir beneath.ObjectID, name string, depth int) (again bool, err error),
		visit func(*beneath.Node) (beneath.Step, error), failed func(rel string, err error)) error
	Remove(id beneath.WatchID)
	Mark() (beneath.WatchID, error)
	Next(tell func(beneath.Notice)) error
	Close() error
}

// Watcher is one inotify instance. Safe for concurrent use.
type Watcher struct {
	opt  Options
	n    notifier
	wg   sync.WaitGroup // the reader, and the goroutines of watches
	duty duty

	mu      sync.Mutex
	closed  bool
	deaf    bool // the reader has ended
	next    uint32
	watches map[uint32]*Watch
	owners  table                        // of each directory: the number of its watch, or shared
	shared  map[beneath.WatchID][]uint32 // where there are several
	each    map[string]*share            // of each owner
	adding  int                          // who is adding watches now
	dead    map[beneath.WatchID]bool     // removed; true: and the kernel has said so. Kept while somebody adds
	drained map[beneath.WatchID]chan struct{}
	marks   map[beneath.WatchID]uint32 // the watch that waits for it
}

const shared = ^uint32(0)

// share is what one owner has of what is bounded for all his watches together.
type share struct {
	watches, directories int          // under Watcher.mu
	waiting              atomic.Int64 // notices
}

// New makes a Watcher. limit_reached where this user may have no more inotify instances; io_error where the system has no
// inotify (Detail "not supported") or no /proc to name held directories by.
func New(o Options) (*Watcher, error) {
	n, err := beneath.NewNotifier()
	if err != nil {
		return nil, err
	}
	if o.Mounts == nil {
		o.Mounts, _ = beneath.NewMounts() // without it mounts are not noticed
	}
	return newWith(n, o), nil
}

func newWith(n notifier, o Options) *Watcher {
	if o.Window == 0 {
		o.Window = 50 * time.Millisecond
	}
	if o.Pending <= 0 {
		o.Pending = 4096
	}
	if o.Queue <= 0 {
		o.Queue = 16_384
	}
	if o.Waiting <= 0 {
		o.Waiting = 65_536
	}
	w := &Watcher{opt: o, n: n, watches: map[uint32]*Watch{}, each: map[string]*share{}, shared: map[beneath.WatchID][]uint32{},
		dead: map[beneath.WatchID]bool{}, drained: map[beneath.WatchID]chan struct{}{}, marks: map[beneath.WatchID]uint32{}}
	w.duty.timer = time.AfterFunc(time.Hour, w.tick)
	w.duty.timer.Stop()
	w.wg.Go(w.read)
	if o.Mounts != nil {
		w.wg.Go(w.follow)
	}
	return w
}

// Close ends all watches, without an event, and returns when no function of theirs runs any more. Not to be called by
// such a function.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	all := make([]*Watch, 0, len(w.watches))
	for _, x := range w.watches {
		all = append(all, x)
	}
	w.undrained()
	w.mu.Unlock()
	_ = w.n.Close()
	if w.opt.Mounts != nil {
		w.opt.Mounts.Close()
	}
	for _, x := range all {
		x.Close()
	}
	w.wg.Wait()
	w.duty.timer.Stop()
}

// Add watches o, which may be closed when it returns. tree: with all directories below it. see decides what is told (nil:
// all that is beneath o); it is closed with the watch, also if Add fails. f is told one event at a time, on a goroutine of
// the watch, from when Add returns; it must not block.
//
// limit_reached: no more watches; nothing is left of this one then. Other errors: those of opening, and cancelled.
func (w *Watcher) Add(ctx context.Context, o *beneath.Object, tree bool, see Sight, f func(Event)) (*Watch, error) {
	return w.AddFor(ctx, "", o, tree, see, f)
}

// AddFor is Add for an owner, whose watches Options.Together and Options.Waiting bound. limit_reached: also beyond that bound.
func (w *Watcher) AddFor(ctx context.Context, owner string, o *beneath.Object, tree bool, see Sight, f func(Event)) (*Watch, error) {
	if see == nil {
		see = everything{}
	}
	x := &Watch{w: w, owner: owner, tree: tree, see: see, f: f, place: o.Place(), object: o.Info().ID, path: o.At().Path}
	x.cond.L = &x.mu
	x.pend.init(w.opt.Window, w.opt.Pending)
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		x.see.Close()
		x.place.Close()
		return nil, closed()
	}
	w.next++
	for w.next == 0 || w.next == shared || w.watches[w.next] != nil {
		w.next++
	}
	x.id = w.next
	w.watches[x.id] = x
	if x.share = w.each[owner]; x.share == nil {
		x.share = &share{}
		w.each[owner] = x.share
	}
	x.share.watches++
	w.wg.Add(1) // Close waits for it
	w.mu.Unlock()
	defer w.wg.Done()
	if err := x.begin(ctx, o); err != nil {
		x.finish()
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.started = true
	x.start()
	return x, nil
}

func closed() error {
	return &rootbound.Error{Reason: rootbound.Cancelled, Detail: "the watcher is closed"}
}

// undrained lets everybody go on who waits for the reader.
func (w *Watcher) undrained() {
	for id, c := range w.drained {
		close(c)
		delete(w.drained, id)
	}
}

// forgotten: the kernel will say no more of id, which may be what somebody who adds was just given.
func (w *Watcher) forgotten(id beneath.WatchID) {
	if w.adding > 0 {
		w.dead[id] = true
	} else {
		delete(w.dead, id)
	}
}

// add brackets the adding of watches: what is linked in between may be dead already.
func (w *Watcher) add() (done func()) {
	w.mu.Lock()
	w.adding++
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.adding--; w.adding > 0 {
			return
		}
		for id, gone := range w.dead {
			if gone {
				delete(w.dead, id)
			}
		}
	}
}

// link makes x an owner of a directory that was just added; false if another owner has removed it meanwhile.
func (w *Watcher) link(id beneath.WatchID, x *Watch) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.dead[id]; ok {
		return false
	}
	switch owner, _ := w.owners.get(id); owner {
	case x.id:
	case 0:
		w.owners.set(id, x.id)
	case shared:
		if !slices.Contains(w.shared[id], x.id) {
			w.shared[id] = append(w.shared[id], x.id)
		}
	default:
		w.owners.set(id, shared)
		w.shared[id] = []uint32{owner, x.id}
	}
	return true
}

// unlink takes x from the owners of a directory, and removes the watch with the last of them.
func (w *Watcher) unlink(id beneath.WatchID, x *Watch, wait bool) {
	if drained := w.disown(id, x, wait); drained != nil {
		<-drained
	}
}

// drainEach is after how many removals one waits for the reader: each adds a notice to a queue that is bounded.
const drainEach = 1024

func (w *Watcher) disown(id beneath.WatchID, x *Watch, wait bool) (drained chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch owner, _ := w.owners.get(id); owner {
	case x.id:
		w.owners.delete(id)
	case shared:
		left := w.shared[id]
		for i, o := range left {
			if o == x.id {
				left[i] = left[len(left)-1]
				left = left[:len(left)-1]
				break
			}
		}
		if w.shared[id] = left; len(left) > 0 {
			return nil
		}
		w.owners.delete(id)
		delete(w.shared, id)
	default:
		return nil
	}
	if w.closed || w.deaf {
		return nil
	}
	w.dead[id] = false
	if wait {
		drained = make(chan struct{})
		w.drained[id] = drained
	}
	w.n.Remove(id) // no I/O: it frees the mark
	return drained
}

// mark has x take a notice of this number behind all that the kernel has to tell by now; false: it cannot be had.
func (w *Watcher) mark(x *Watch) (beneath.WatchID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.deaf {
		return 0, false
	}
	id, err := w.n.Mark()
	if err != nil {
		return 0, false
	}
	w.marks[id] = x.id
	return id, true
}

// count takes one directory more for x, unless its owner has as many as he may.
func (w *Watcher) count(x *Watch) bool {
	if w.opt.Together <= 0 {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if x.share.directories >= w.opt.Together {
		return false
	}
	x.share.directories++
	return true
}

// discount gives back n directories that x had counted.
func (w *Watcher) discount(x *Watch, n int) {
	if w.opt.Together <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	x.share.directories -= n
}

// everything is the Sight of a watch that has none.
type everything struct{}

func (everything) Sees(*beneath.Look, bool) error { return nil }
func (everything) Below(*beneath.Object) (func(*beneath.Node) bool, error) {
	return func(*beneath.Node) bool { return true }, nil
}
func (everything) Close() {}

func (w *Watcher) deafened() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deaf
}
