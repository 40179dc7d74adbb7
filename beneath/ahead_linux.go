package beneath

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ahead reads directories before the walk comes to them. The walk takes them in its own order, each only if it still
// stands, as it was read, where the walk would open it now. What was not read, or not well, the walk reads itself, so that
// all that is told comes from it.
//
// A directory is opened by the held one it was listed in, by its plain name, and never where something is mounted: what
// stands there may not answer, and the walk may never come to it. Methods are for the goroutine of the walk, but for run,
// next, caught, one and asked.
type ahead struct {
	t       *tree
	into    int // directories the walk went into
	readers int // 0: it did not begin
	left    int // directories that may still be asked for
	narrow  func()
	closed  bool

	over atomic.Bool
	room atomic.Int64 // bytes that may still be read
	asks atomic.Int64 // how long the queue is
	all  sync.WaitGroup

	mu    sync.Mutex
	more  sync.Cond // there is a directory to read, or it is over
	done  sync.Cond // one was read
	queue []*early  // that nobody reads yet, in the order in which the walk will need them
	begun int       // readers that were started
	idle  int       // readers that wait

	thrown any // of a panic of Go: it is the walk's
}

// Bounds of what one walk reads ahead: goroutines beside its own, and bytes of entries, but for one part of a directory for
// each goroutine. How many directories: queueLength. fewDirs is how many a walk goes into alone: less is not worth it.
const (
	maxReaders = 3
	maxAhead   = 1 << 20
	fewDirs    = 16
)

// manyNames is from when on the descriptor that a directory was read by is closed where it was read: some file systems keep
// the names with it, and what one processor made another one is slow to free.
const manyNames = 40

// patience is how often a reader looks for more before it sleeps, some ten microseconds: the walk asks for more as soon as it
// goes into the next directory, and to wake somebody takes as long as to read one.
const patience = 20_000

// direntSize is what a dirent takes.
const direntSize = 8

// early is a directory that is read ahead, or will be.
type early struct {
	at    int // number in its directory
	depth int
	name  string
	up    *handle // its directory, until it was opened
	from  ObjectID
	mark  int

	state earlyState
	gone  bool // nobody will take it
	l     listing
	info  Info
	whole bool // all entries were read and sorted
	size  int64
}

type earlyState uint8

const (
	waiting earlyState = iota
	reading
	ready
	failed // or given up
)

// newAhead is nil where nothing is to be read ahead.
func (t *tree) newAhead() *ahead {
	s, c := t.o.set, &t.course
	root := s.members[t.o.at.Root].root
	magic := t.o.magic
	if magic == 0 {
		magic = root.magic
	}
	if c.Ahead == nil || c.Readers < 0 || t.enter != nil || s.walkOnly || root.noOpenat2.Load() || !answersHere(magic) {
		return nil
	}
	a := &ahead{t: t, left: queueLength()}
	a.room.Store(maxAhead)
	a.more.L, a.done.L = &a.mu, &a.mu
	return a
}

// answersHere reports file systems of this machine's own kernel and storage. All others may have their answers from a program
// or another machine, and hang on it: FUSE, NFS, Lustre, what is not known here.
func answersHere(magic uint32) bool {
	const zfs, bcachefs = 0x2fc12fc1, 0xca451a4e
	switch magic {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
		unix.F2FS_SUPER_MAGIC, unix.EROFS_SUPER_MAGIC_V1, unix.SQUASHFS_MAGIC, unix.NILFS_SUPER_MAGIC, unix.REISERFS_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC,
		unix.EXFAT_SUPER_MAGIC, unix.ISOFS_SUPER_MAGIC, unix.UDF_SUPER_MAGIC, zfs, bcachefs:
		return true
	}
	return false
}

// begin reports whether directories are read ahead from now on.
func (a *ahead) begin() bool {
	if a.over.Load() {
		return false
	}
	if a.readers > 0 {
		return true
	}
	c := &a.t.course
	if a.readers = c.Readers; a.readers > 0 {
		return true
	}
	if a.into < fewDirs {
		return false
	}
	if c.Widen != nil {
		a.narrow = c.Widen()
	}
	a.readers = min(runtime.GOMAXPROCS(0)-1, maxReaders)
	if a.readers == 0 {
		a.close()
		return false
	}
	return true
}

// entered is told of each directory the walk went into.
func (a *ahead) entered() {
	a.raise()
	if a != nil {
		a.into++
		a.fill()
	}
}

// fill asks for the next directories of the level that is visited, for half of what is left: levels below will need theirs
// sooner.
func (a *ahead) fill() {
	if !a.begin() {
		return
	}
	depth := len(a.t.levels)
	l := &a.t.levels[depth-1]
	quota := (a.left + len(l.early) + 1) / 2
	had := len(l.early)
	if l.fd < 0 || had > quota/2 {
		return
	}
	l.asked = max(l.asked, l.next)
	n := Node{t: a.t, level: l}
	for ; l.asked < len(l.sorted) && len(l.early) < quota; l.asked++ {
		if l.sorted[l.asked].kind != unix.DT_DIR || n.be(l.asked) != nil || !a.t.course.Ahead(&n) {
			continue
		}
		up, err := l.share()
		if err != nil {
			return
		}
		l.early = append(l.early, &early{at: l.asked, depth: depth, name: n.name, up: up, from: l.id, mark: l.mark})
	}
	if fresh := l.early[had:]; len(fresh) > 0 {
		a.left -= len(fresh)
		a.ask(fresh)
	}
}

// ask puts directories of one level into the queue and sees to it that somebody reads them.
func (a *ahead) ask(fresh []*early) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.IndexFunc(a.queue, func(e *early) bool { return e.depth < fresh[0].depth })
	if at < 0 {
		at = len(a.queue)
	}
	a.queue = slices.Insert(a.queue, at, fresh...)
	a.asks.Store(int64(len(a.queue)))
	wake := min(len(fresh), a.readers)
	for range min(a.idle, wake) {
		a.more.Signal()
	}
	for wake -= a.idle; wake > 0 && a.begun < a.readers; wake-- {
		a.begun++
		a.all.Go(a.run)
	}
}

// take gives the directory n if it was read ahead and stands as it was; nil if the walk has to read it. While another
// goroutine reads it, the walk reads what comes next.
func (a *ahead) take(n *Node) *early {
	if a == nil {
		return nil
	}
	l := n.level
	var e *early
	for len(l.early) > 0 && l.early[0].at < l.next {
		if e = l.early[0]; e.at < l.next-1 {
			a.drop(e)
			e = nil
		}
		l.early = slices.Delete(l.early, 0, 1)
	}
	a.fill()
	if e == nil {
		return nil
	}
	a.mu.Lock()
	for e.state == reading {
		if len(a.queue) > 0 {
			a.next(&a.t.reader)
		} else {
			a.done.Wait()
		}
	}
	read := e.state == ready // what still waits may be begun as soon as the lock is free
	a.mu.Unlock()
	if read {
		now, err := statAt(l.fd, n.name)
		if err == nil && now.ID == e.info.ID && now.unchanged(e.info) && now.CTime.Equal(e.info.CTime) {
			a.left++
			a.room.Add(e.size)
			return e
		}
	}
	a.drop(e)
	return nil
}

// drop gives up what nobody will take.
func (a *ahead) drop(e *early) {
	a.left++
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e.state {
	case waiting:
		a.queue = slices.DeleteFunc(a.queue, func(q *early) bool { return q == e })
		a.asks.Store(int64(len(a.queue)))
		e.up.drop()
	case reading: // all of it is the reader's until then
		e.gone = true
	case ready:
		unix.Close(e.l.fd)
		a.room.Add(e.size)
		e.l = listing{}
	}
}

// leave gives up what was read ahead below a level.
func (a *ahead) leave(l *listing) {
	if a == nil {
		return
	}
	for _, e := range l.early {
		a.drop(e)
	}
	clear(l.early)
	l.early = l.early[:0]
}

// close ends it, and waits for those who read. Once more does nothing.
func (a *ahead) close() {
	if a == nil || a.closed {
		return
	}
	a.closed = true
	a.over.Store(true)
	a.mu.Lock()
	a.more.Broadcast()
	a.mu.Unlock()
	a.all.Wait()
	for i := range a.t.levels {
		a.leave(&a.t.levels[i])
	}
	if a.narrow != nil {
		a.narrow()
	}
}

// raise has the walk panic as Go did where a directory was read ahead: nobody else could keep it from ending the process.
func (a *ahead) raise() {
	if a == nil || !a.over.Load() {
		return
	}
	a.mu.Lock()
	p := a.thrown
	a.mu.Unlock()
	if p != nil {
		panic(p)
	}
}

// run is what each reader does.
func (a *ahead) run() {
	r := newReader(a.t.ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.over.Load() {
		if len(a.queue) > 0 {
			a.next(&r)
			continue
		}
		a.mu.Unlock()
		for n := 0; n < patience && a.asks.Load() == 0 && !a.over.Load(); n++ {
		}
		a.mu.Lock()
		if len(a.queue) == 0 && !a.over.Load() {
			a.idle++
			a.more.Wait()
			a.idle--
		}
	}
}

// next reads the first directory of the queue. The lock is held before and after.
func (a *ahead) next(r *reader) {
	e := a.queue[0]
	a.queue = slices.Delete(a.queue, 0, 1)
	a.asks.Store(int64(len(a.queue)))
	e.state = reading
	a.mu.Unlock()
	ok := a.caught(r, e)
	e.up.drop()
	a.mu.Lock()
	switch {
	case ok && !e.gone:
		e.state = ready
	case ok:
		unix.Close(e.l.fd)
		fallthrough
	default:
		a.room.Add(e.size)
		e.state, e.l = failed, listing{}
	}
	a.done.Signal()
}

// caught keeps a panic for the walk, and nothing more is read ahead.
func (a *ahead) caught(r *reader, e *early) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			a.over.Store(true)
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.thrown == nil {
				a.thrown = p
			}
		}
	}()
	return a.one(r, e)
}

// one opens a directory and reads it as far as there is room: the walk reads the rest.
func (a *ahead) one(r *reader, e *early) (ok bool) {
	if a.asked() != nil {
		return false
	}
	how := unix.OpenHow{
		Flags:   asDir | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	fd, err := unix.Openat2(e.up.fd, e.name, &how)
	if err != nil {
		return false
	}
	if e.l, e.info, err = a.t.o.directory(fd, e.from, e.mark); err != nil {
		return false
	}
	defer func() {
		if !ok {
			unix.Close(e.l.fd)
		}
	}()
	e.l.sorted = r.spare[:0]
	parts, entries := 0, 0
	e.whole, err = r.read(&e.l, "", func() bool {
		if n := len(e.l.names); n > parts {
			size := int64(len(e.l.names[n-1]) + (len(e.l.sorted)-entries)*direntSize)
			parts, entries = n, len(e.l.sorted)
			e.size += size
			a.room.Add(-size)
		}
		return a.room.Load() > 0 && a.asked() == nil
	})
	r.spare, e.l.sorted = e.l.sorted, slices.Clone(e.l.sorted)
	if err != nil {
		return false
	}
	if e.whole && len(e.l.sorted) > manyNames {
		if kept, err := openAt(fd, ".", asPath, 0); err == nil {
			unix.Close(fd)
			e.l.fd = kept
		}
	}
	return true
}

// asked is nil while reading ahead may go on.
func (a *ahead) asked() error {
	if a.over.Load() {
		return context.Canceled
	}
	if may := a.t.course.Go; may != nil {
		return may()
	}
	return nil
}
