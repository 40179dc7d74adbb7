package decision

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
)

// Durability says when a JSONL sink waits for the disk.
type Durability string

const (
	SyncNever     Durability = "never"     // mutations are handed to the system before they happen, never waited for
	SyncMutations Durability = "mutations" // decided records of mutations are on the disk before the mutation happens
	SyncAlways    Durability = "always"    // every record is on the disk before the call goes on
)

// JSONLOptions of a JSONL sink. The zero value: SyncMutations, no rotation, reads written within 250 ms.
type JSONLOptions struct {
	Sync    Durability
	MaxSize int64         // bytes after which the file is set aside and a new one begun; 0: never
	Keep    int           // files set aside that are kept, the oldest go first; 0: all
	Flush   time.Duration // longest time a record of a read is held back; 0: 250 ms
	Rotated func()        // a new file is in place at the path; must not call the sink
	Trouble func(error)   // the log cannot be written (once for each trouble), nil when it can again; must not call the sink

	open func(path string) (logFile, error) // tests
}

const (
	flushDefault = 250 * time.Millisecond
	flushSize    = 64 << 10 // bytes held back before they are written without waiting for the time
	holdSize     = 1 << 20  // bytes held back before callers have to wait for the write, and kept for a retry after a failure
)

// JSONL appends records to a file, one object a line, in the order in which they were given.
//
// Lines are written whole, so several processes may share a file. A mutation waits until its record is written and, by
// policy, synced; mutations that come while a sync is under way share the next one. Records of reads are held back for a
// bounded time. If the disk fails, mutations are refused, reads go on, their records are retried up to 1 MiB, and what
// was lost is counted and reported by a "dropped" event. Safe for concurrent use.
type JSONL struct {
	opt  JSONLOptions
	sync atomic.Value // Durability
	ids  *IDs

	mu     sync.Mutex
	open   *batch // takes lines
	closed bool

	wake, hurry chan struct{} // lines are waiting; they should be written now
	stop, ended chan struct{}

	io      sync.Mutex // held while a batch is written; after it mu may be taken, never before
	log     *logWriter
	trouble bool
}

// batch is a run of lines that is written, and synced if one of them asks, at once.
type batch struct {
	lines []byte
	sync  bool
	done  chan struct{}
	err   error // valid once done is closed
}

func newBatch(lines []byte) *batch { return &batch{lines: lines[:0], done: make(chan struct{})} }

// OpenJSONL opens or makes the file (0600) and appends to what it holds; a last line that a crash cut is ended first.
// The directory must exist.
func OpenJSONL(path string, o JSONLOptions) (*JSONL, error) {
	if err := o.Sync.fill(); err != nil {
		return nil, err
	}
	if o.Flush <= 0 {
		o.Flush = flushDefault
	}
	log, err := openLog(path, o)
	if err != nil {
		return nil, err
	}
	s := &JSONL{
		opt: o, ids: NewIDs(), open: newBatch(nil), log: log,
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
	s.sync.Store(o.Sync)
	go s.flushLoop()
	return s, nil
}

func (d *Durability) fill() error {
	switch *d {
	case "":
		*d = SyncMutations
	case SyncNever, SyncMutations, SyncAlways:
	default:
		return fmt.Errorf("unknown fsync policy %q: use never, mutations or always", *d)
	}
	return nil
}

func (s *JSONL) policy() Durability { return s.sync.Load().(Durability) }

// Tune sets other values of JSONLOptions.Sync, MaxSize and Keep, for the records that come from now on. The error is that of
// OpenJSONL for a policy that is none: then nothing has changed. Safe for concurrent use.
func (s *JSONL) Tune(sync Durability, maxSize int64, keep int) error {
	if err := sync.fill(); err != nil {
		return err
	}
	s.sync.Store(sync)
	s.io.Lock()
	defer s.io.Unlock()
	s.log.opt.Sync, s.log.opt.MaxSize, s.log.opt.Keep = sync, maxSize, keep
	return nil
}

// Decided appends; for a mutation it returns when the line is written and, by policy, synced. The error is a
// *rootbound.Error audit_unavailable.
func (s *JSONL) Decided(r *Record, mutation bool) error {
	b, err := s.append(r, mutation && s.policy() == SyncMutations)
	if err == nil && (mutation || s.policy() == SyncAlways) {
		err = s.commit(b)
	}
	if err != nil && mutation {
		return &rootbound.Error{Reason: rootbound.AuditUnavailable, Retryable: true, Err: err}
	}
	return nil
}

// Completed appends and waits only under SyncAlways.
func (s *JSONL) Completed(r *Record) { s.Event(r) }

// Event appends and waits only under SyncAlways.
func (s *JSONL) Event(r *Record) {
	if b, err := s.append(r, false); err == nil && s.policy() == SyncAlways {
		_ = s.commit(b) // reported through Trouble
	}
}

var errClosed = errors.New("the audit log is closed")

func (s *JSONL) append(r *Record, sync bool) (*batch, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	b := s.open
	b.lines = append(r.AppendJSON(b.lines), '\n')
	b.sync = b.sync || sync || s.policy() == SyncAlways
	size := len(b.lines)
	s.mu.Unlock()
	switch {
	case size >= holdSize:
		_ = s.commit(b)
	case size >= flushSize:
		signal(s.hurry)
		fallthrough
	default:
		signal(s.wake)
	}
	return b, nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// commit returns when b is written. Whoever comes first writes for all who wait for the same batch.
func (s *JSONL) commit(b *batch) error {
	s.io.Lock()
	defer s.io.Unlock()
	select {
	case <-b.done:
		return b.err
	default:
	}
	// Batches are written in the order they were opened, so one that is not done is the one that takes lines now.
	s.mu.Lock()
	s.open = newBatch(s.log.spare())
	s.mu.Unlock()
	b.err = s.log.write(b.lines, b.sync, s.lost)
	s.log.reuse(b.lines)
	b.lines = nil
	close(b.done)
	if bad := b.err != nil; bad != s.trouble {
		s.trouble = bad
		if s.opt.Trouble != nil {
			s.opt.Trouble(b.err)
		}
	}
	return b.err
}

// lost is the line that tells of n records which could not be written.
func (s *JSONL) lost(n uint64) []byte {
	r := Record{ID: s.ids.Next(), Phase: Dropped, Time: time.Now(), Enforced: true,
		Note: fmt.Sprintf("%d records could not be written", n)}
	return append(r.AppendJSON(nil), '\n')
}

// flushLoop writes what reads left behind, at most opt.Flush after the first of them.
func (s *JSONL) flushLoop() {
	defer close(s.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	hurry := s.hurry
	for {
		select {
		case <-s.wake:
		case <-s.stop:
			return
		}
		timer.Reset(s.opt.Flush)
		select {
		case <-timer.C:
		case <-hurry:
		case <-s.stop:
			return
		}
		hurry = s.hurry
		if s.Flush() != nil { // reported through Trouble
			hurry = nil // a disk that fails is not asked more often for more records
			signal(s.wake)
		}
	}
}

// Flush writes what is held back. It does not sync.
func (s *JSONL) Flush() error {
	s.mu.Lock()
	b := s.open
	none := len(b.lines) == 0
	s.mu.Unlock()
	if none && !s.pending() {
		return nil
	}
	return s.commit(b)
}

// pending reports whether a failed write left lines to retry.
func (s *JSONL) pending() bool {
	s.io.Lock()
	defer s.io.Unlock()
	return s.log.pending()
}

// Close writes and, unless the policy is SyncNever, syncs what is held back.
func (s *JSONL) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	b := s.open
	b.sync = s.policy() != SyncNever
	s.mu.Unlock()
	close(s.stop)
	<-s.ended
	err := s.commit(b)
	s.io.Lock()
	defer s.io.Unlock()
	return errors.Join(err, s.log.close())
}
