package state

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Locks serializes edits of directory entries among all processes that use one state directory. An entry's lock is a byte
// of one file, chosen by a hash of the parent directory's identity and the name (the mount it was reached by does not
// count), so nothing has to be cleaned up, and the system drops the locks of a process that dies. Callers of one process
// queue in their order; between processes the order is not defined. Safe for concurrent use.
type Locks struct {
	file *os.File

	mu    sync.Mutex
	queue map[slot]*turn
}

// slot is an offset in the lock file. Two entries share one with a probability of 2^-62; then they wait for each other.
type slot uint64

// turn is the queue of one slot in this process. Who holds it may ask for the file's lock.
type turn struct {
	sem  chan struct{}
	refs int // holder and waiting
}

// Locks opens the lock file.
func (d *Dir) Locks() (*Locks, error) {
	f, err := os.OpenFile(filepath.Join(d.path, "locks"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &Locks{file: f, queue: make(map[slot]*turn)}, nil
}

// Lock takes the locks of all keys, in the byte order of their hashes, and waits for them until ctx ends. unlock gives
// all of them back; calls after the first do nothing. Errors are *rootbound.Error: cancelled, io_error.
func (l *Locks) Lock(ctx context.Context, keys ...beneath.Key) (unlock func(), err error) {
	slots := make([]slot, len(keys))
	for i, k := range keys {
		slots[i] = slotOf(k)
	}
	slices.Sort(slots)
	slots = slices.Compact(slots)
	for i, s := range slots {
		if err := l.take(ctx, s); err != nil {
			l.giveBack(slots[:i])
			if ctx.Err() != nil {
				return nil, &rootbound.Error{Reason: rootbound.Cancelled, Detail: "waiting for another change of the same entry", Retryable: true, Err: err}
			}
			return nil, &rootbound.Error{Reason: rootbound.IOError, Detail: "entry lock", Err: err}
		}
	}
	return sync.OnceFunc(func() { l.giveBack(slots) }), nil
}

func slotOf(k beneath.Key) slot {
	b := make([]byte, 16, 16+len(k.Name))
	binary.BigEndian.PutUint64(b, k.Dir.Dev)
	binary.BigEndian.PutUint64(b[8:], k.Dir.Ino)
	h := sha256.Sum256(append(b, k.Name...))
	return slot(binary.BigEndian.Uint64(h[:8]) >> 2) // offsets are signed
}

func (l *Locks) take(ctx context.Context, s slot) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	t := l.queue[s]
	if t == nil {
		t = &turn{sem: make(chan struct{}, 1)}
		l.queue[s] = t
	}
	t.refs++
	l.mu.Unlock()
	select {
	case t.sem <- struct{}{}:
	case <-ctx.Done():
		l.leave(s, t)
		return ctx.Err()
	}
	if err := l.takeFile(ctx, s); err != nil {
		<-t.sem
		l.leave(s, t)
		return err
	}
	return nil
}

func (l *Locks) leave(s slot, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.refs--; t.refs == 0 {
		delete(l.queue, s)
	}
}

var errBusy = errors.New("locked by another process")

// takeFile asks again and again, because a system call that waits for a lock cannot be cancelled.
func (l *Locks) takeFile(ctx context.Context, s slot) error {
	err := tryRange(l.file, s)
	if err == nil || !errors.Is(err, errBusy) {
		return err
	}
	const first, longest = 100 * time.Microsecond, 10 * time.Millisecond
	pause := time.NewTimer(first)
	defer pause.Stop()
	for wait := first; ; wait = min(2*wait, longest) {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := tryRange(l.file, s); err == nil || !errors.Is(err, errBusy) {
			return err
		}
		pause.Reset(wait)
	}
}

func (l *Locks) giveBack(slots []slot) {
	for _, s := range slices.Backward(slots) {
		// Fails only if the file is closed, which drops the lock too.
		_ = freeRange(l.file, s)
		l.mu.Lock()
		t := l.queue[s]
		l.mu.Unlock()
		<-t.sem
		l.leave(s, t)
	}
}

// Close drops all locks. Nothing may be held or waited for.
func (l *Locks) Close() error { return l.file.Close() }
