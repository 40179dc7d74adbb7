package beneath

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/rootbound/rootbound"
)

// Sweep is a walk whose files are opened and read by several workers at once: from the held directory the walk met them
// in, by one plain name, never through a link. What it gives comes in the order of the walk all the same.
//
// Enter, Leave and Visit of its Course are called by the goroutine that called Object.Sweep and run ahead of what is told;
// Failed is told in order, like what Work gives, and by whatever goroutine.
type Sweep struct {
	Course // Visit gives Take for a file that is to be read

	// Work reads the files of a run. It is called by several goroutines at once, each with a number of its own from 0 to
	// Workers-1. What it returns is called in the order of the walk, one at a time; nil: there is nothing to tell. An error
	// of tell ends the sweep and is returned, but for ErrEnough, which only ends it. weight is how many bytes tell holds on
	// to.
	Work func(worker int, r *Run) (tell func() error, weight int)

	// May is asked whether a file may be read, by its state when it was opened; its error is that of Run.Open. nil: all may.
	// mark is like Object.Mark. Asked by several goroutines at once, as is Go: before each file is opened and each block is
	// read.
	May func(mark int, info Info) error

	Workers int // 0: one for each processor, at most MaxWorkers
}

// MaxWorkers bounds the goroutines of one sweep that read files.
const MaxWorkers = 4

// Bounds of a sweep: runs whose directory is held and that no worker has begun (fewer where few descriptors may be open),
// runs that were begun and not told, the bytes their results hold on to, and the files of one run.
const (
	maxQueue  = 32
	maxUntold = 256
	maxWeight = 4 << 20
	maxRun    = 64
)

// ErrEnough ends a sweep without an error.
var ErrEnough error = enough{}

type enough struct{}

func (enough) Error() string { return "enough" }

// Run is some files of one directory, in byte order of their names. Valid during Work, for its goroutine only.
type Run struct {
	s     *sweeper
	dir   heldDir
	rel   string // of the directory, below the object
	names []string
	mark  int
	file  Swept

	first  bool
	number uint64 // in the order of the walk
	tell   func() error
	weight int
}

// Len is how many files the run has.
func (r *Run) Len() int { return len(r.names) }

// First reports whether no file of the sweep comes before those of the run.
func (r *Run) First() bool { return r.first }

// Rel is the path of file number i below the object that is swept.
func (r *Run) Rel(i int) string { return join(r.rel, r.names[i]) }

// sweeper is the state of one Sweep.
type sweeper struct {
	Sweep
	o       *Object
	ctx     context.Context
	workers int
	queue   int
	now     *Run // that is being filled by the walk
	begun   bool // one was handed out
	jobs    chan *Run
	all     sync.WaitGroup

	halted atomic.Bool // by the context, an error, or because it is enough

	mu      sync.Mutex
	moved   sync.Cond // something was told or worked, or it is over
	err     error
	thrown  any    // of a panic in Work or tell
	given   uint64 // number of the run that is handed out next
	told    uint64 // number of the run that is told next
	working int    // runs that hold their directory
	weight  int    // of what waits to be told
	telling bool
	ring    [maxUntold]*Run
	spare   []*Run
}

// Sweep walks and reads. Errors: those of Visit, tell and Go, cancelled, and those of Walk. Of an object that is a file, it
// is the only one.
func (o *Object) Sweep(ctx context.Context, w Sweep) error {
	s := &sweeper{Sweep: w, o: o, ctx: ctx, workers: w.Workers, queue: queueLength()}
	if s.workers <= 0 {
		s.workers = min(runtime.GOMAXPROCS(0), MaxWorkers)
	}
	if !sideBySide {
		s.workers = 1
	}
	s.moved.L = &s.mu
	defer context.AfterFunc(ctx, func() { s.end(ended(ctx)) })()
	if s.workers > 1 {
		s.jobs = make(chan *Run, s.queue) // the walk waits for room before it sends
		for n := range s.workers {
			s.all.Go(func() {
				for r := range s.jobs {
					s.work(n, r)
				}
			})
		}
	}
	err := s.caught(s.walk)
	if s.jobs != nil {
		close(s.jobs)
		s.all.Wait()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.thrown != nil:
		panic(s.thrown)
	case s.err == ErrEnough:
		return nil
	case s.err != nil:
		return s.err
	case err == ErrEnough:
		return nil
	}
	return err
}

// caught keeps a panic until the workers have ended.
func (s *sweeper) caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.throw(p)
		}
	}()
	return f()
}

func (s *sweeper) walk() error {
	defer s.discard()
	if !s.o.IsDir() {
		return s.single()
	}
	err := s.o.traverse(s.ctx, "", true, Course{
		Enter:  func(d *Directory) { _ = s.hand(); s.enter(d) }, // in pairs with Leave, also when it is over
		Leave:  func() { _ = s.hand(); s.leave() },
		Visit:  s.visit,
		Sees:   s.Sees,
		Failed: s.passOn,
	}, s.relieve)
	if err != nil {
		return err
	}
	return s.hand()
}

func (s *sweeper) visit(n *Node) (Step, error) {
	if s.halted.Load() {
		return Stop, s.why()
	}
	step, err := s.Visit(n)
	if err != nil || step != Take || !n.Type().IsRegular() {
		return step, err
	}
	if s.now == nil {
		if s.now, err = s.begin(n); err != nil {
			return Stop, err
		}
	}
	s.now.names = append(s.now.names, n.Name())
	if len(s.now.names) == maxRun {
		err = s.hand()
	}
	return Over, err
}

// passOn tells a failure of the walk when what lies before it was told.
func (s *sweeper) passOn(rel string, err error) {
	if s.hand() != nil {
		return
	}
	r := s.fresh()
	if s.number(r) != nil {
		return
	}
	s.finish(r, func() error { s.failed(rel, err); return nil }, 0)
}

// hand gives the run that is full, or whose directory is left, to the workers.
func (s *sweeper) hand() error {
	r := s.now
	if r == nil {
		return nil
	}
	s.now = nil
	r.first, s.begun = !s.begun, true
	if err := s.number(r); err != nil {
		r.dir.release()
		return err
	}
	if s.jobs == nil {
		s.work(0, r)
		return s.why()
	}
	s.jobs <- r
	return nil
}

// number waits until there is room for a run and gives it its place in the order.
func (s *sweeper) number(r *Run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.halted.Load() && (s.given-s.told >= maxUntold || s.working >= s.queue) {
		s.moved.Wait()
	}
	if s.halted.Load() {
		return s.err
	}
	r.number = s.given
	s.given++
	if r.dir.held() {
		s.working++
	}
	return nil
}

// relieve waits until no run holds a directory: descriptors ran out. Another try is worth it also if none does now: one may
// have been given back since.
func (s *sweeper) relieve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.working > 0 && !s.halted.Load() {
		s.moved.Wait()
	}
	return !s.halted.Load()
}

// discard ends a run that was begun and never handed out.
func (s *sweeper) discard() {
	if s.now != nil {
		s.now.dir.release()
		s.now = nil
	}
}

// work runs on a worker, or on the walk's own goroutine if there are none.
func (s *sweeper) work(n int, r *Run) {
	var tell func() error
	weight := 0
	_ = s.caught(func() error {
		if s.mayBegin(r) {
			tell, weight = s.Work(n, r)
		}
		return nil
	})
	r.file.close()
	r.dir.release()
	runtime.Gosched() // see traverse
	_ = s.caught(func() error { s.finish(r, tell, weight); return nil })
}

// mayBegin holds a run back while what waits to be told is much, unless all waits for it.
func (s *sweeper) mayBegin(r *Run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.weight > maxWeight && r.number != s.told && !s.halted.Load() {
		s.moved.Wait()
	}
	return !s.halted.Load()
}

// finish takes what a run gave, and tells what is due.
func (s *sweeper) finish(r *Run, tell func() error, weight int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.dir.held() {
		r.dir = heldDir{}
		s.working--
	}
	r.tell, r.weight = tell, weight
	s.weight += weight
	s.ring[r.number%maxUntold] = r
	defer s.moved.Broadcast()
	if s.telling {
		return
	}
	s.telling = true
	defer func() { s.telling = false }()
	for {
		due := s.ring[s.told%maxUntold]
		if due == nil {
			return
		}
		s.ring[s.told%maxUntold] = nil
		if due.tell != nil && !s.halted.Load() {
			s.unlocked(due.tell)
		}
		s.told++ // only now: who is told before may hold others back
		s.weight -= due.weight
		clear(due.names) // they keep the names of whole directories
		due.tell, due.names = nil, due.names[:0]
		s.spare = append(s.spare, due)
	}
}

// unlocked calls tell without the lock, which is held before and after.
func (s *sweeper) unlocked(tell func() error) {
	s.mu.Unlock()
	var err error
	defer func() {
		s.mu.Lock()
		if err != nil {
			s.endLocked(err)
		}
	}()
	err = tell()
}

func (s *sweeper) throw(p any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.thrown == nil {
		s.thrown = p
	}
	s.endLocked(refuse(rootbound.InternalError, "", nil))
}

func (s *sweeper) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(err)
}

func (s *sweeper) endLocked(err error) {
	if s.err == nil {
		s.err = err
	}
	s.halted.Store(true)
	s.moved.Broadcast()
}

// why is what ended the sweep, nil while it goes on.
func (s *sweeper) why() error {
	if !s.halted.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// asked is nil while the sweep goes on: before each file and each block.
func (s *sweeper) asked() error {
	if s.halted.Load() {
		return s.why()
	}
	if err := ended(s.ctx); err != nil {
		s.end(err)
		return err
	}
	if s.Go != nil {
		if err := s.Go(); err != nil {
			s.end(err)
			return err
		}
	}
	return nil
}

// fresh is an empty run.
func (s *sweeper) fresh() *Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.spare); n > 0 {
		r := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return r
	}
	return &Run{s: s}
}
