package decision

import (
	"context"
	"sync"
)

// Memory keeps records in memory: all of them, or the last ones. Made for status pages and tests. Safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	limit int
	next  int // ring: where the next record goes once it is full
	kept  []Record
	total uint64
	grown chan struct{} // closed at the next record; nil while nobody waits
}

// NewMemory keeps the last limit records; 0 keeps all.
func NewMemory(limit int) *Memory { return &Memory{limit: limit} }

// Decided, Completed and Event keep a copy of *r. They never fail.
func (m *Memory) Decided(r *Record, _ bool) error { m.add(r); return nil }
func (m *Memory) Completed(r *Record)             { m.add(r) }
func (m *Memory) Event(r *Record)                 { m.add(r) }

// Close does nothing: the records stay readable.
func (m *Memory) Close() error { return nil }

func (m *Memory) add(r *Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	slot := m.slot()
	*slot = *r
	if slot.Schema == "" {
		slot.Schema = Schema
	}
	m.total++
	if m.grown != nil {
		close(m.grown)
		m.grown = nil
	}
}

func (m *Memory) slot() *Record {
	if m.limit <= 0 || len(m.kept) < m.limit {
		m.kept = append(m.kept, Record{})
		return &m.kept[len(m.kept)-1]
	}
	s := &m.kept[m.next]
	if m.next++; m.next == m.limit {
		m.next = 0
	}
	return s
}

// Records is a copy of what is kept, oldest first.
func (m *Memory) Records() []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.copyLocked()
}

func (m *Memory) copyLocked() []Record {
	out := make([]Record, 0, len(m.kept))
	out = append(out, m.kept[m.next:]...)
	return append(out, m.kept[:m.next]...)
}

// Total counts the records ever taken, also those no longer kept.
func (m *Memory) Total() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

// Await returns the first kept record that matches, waiting for it until ctx ends.
func (m *Memory) Await(ctx context.Context, match func(*Record) bool) (Record, error) {
	for {
		m.mu.Lock()
		kept := m.copyLocked()
		if m.grown == nil {
			m.grown = make(chan struct{})
		}
		grown := m.grown
		m.mu.Unlock()
		for i := range kept {
			if match(&kept[i]) {
				return kept[i], nil
			}
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return Record{}, ctx.Err()
		}
	}
}
