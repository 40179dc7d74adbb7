// Package entrylock serializes changes of directory entries inside one process; internal to guard, which uses it where no
// lock among processes is given.
package entrylock

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/rootbound/rootbound/beneath"
)

// Locks serializes entries inside this process. The zero value is ready. Safe for concurrent use.
type Locks struct {
	mu   sync.Mutex
	held map[beneath.Key]*turn
}

type turn struct {
	ch   chan struct{} // capacity 1: who sends holds it
	want int
}

// Lock takes the locks of all keys, in one order for all callers, and waits for them until ctx ends; the error is its cause.
func (l *Locks) Lock(ctx context.Context, keys ...beneath.Key) (func(), error) {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b beneath.Key) int {
		return cmp.Or(cmp.Compare(a.Dir.Dev, b.Dir.Dev), cmp.Compare(a.Dir.Ino, b.Dir.Ino), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Dir.Mount, b.Dir.Mount))
	})
	keys = slices.Compact(keys)
	for i, k := range keys {
		if err := l.take(ctx, k); err != nil {
			for _, k := range keys[:i] {
				l.give(k, true)
			}
			return nil, err
		}
	}
	return func() {
		for _, k := range keys {
			l.give(k, true)
		}
	}, nil
}

func (l *Locks) take(ctx context.Context, k beneath.Key) error {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[beneath.Key]*turn{}
	}
	t := l.held[k]
	if t == nil {
		t = &turn{ch: make(chan struct{}, 1)}
		l.held[k] = t
	}
	t.want++
	l.mu.Unlock()
	select {
	case t.ch <- struct{}{}:
		return nil
	case <-ctx.Done():
		l.give(k, false)
		return context.Cause(ctx)
	}
}

func (l *Locks) give(k beneath.Key, holds bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.held[k]
	if holds {
		<-t.ch
	}
	if t.want--; t.want == 0 {
		delete(l.held, k)
	}
}
