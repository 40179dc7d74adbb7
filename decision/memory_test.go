package decision

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestMemoryRing(t *testing.T) {
	for _, c := range []struct {
		limit, given int
		want         string
	}{{0, 5, "[0 1 2 3 4]"}, {3, 2, "[0 1]"}, {3, 3, "[0 1 2]"}, {3, 4, "[1 2 3]"}, {3, 8, "[5 6 7]"}, {1, 3, "[2]"}} {
		m := NewMemory(c.limit)
		for i := range c.given {
			r := Record{ID: fmt.Sprint(i), Phase: Decided}
			switch i % 3 {
			case 0:
				if err := m.Decided(&r, true); err != nil {
					t.Fatal(err)
				}
			case 1:
				m.Completed(&r)
			case 2:
				m.Event(&r)
			}
			r.ID = "reused by the caller"
		}
		var got []string
		for _, r := range m.Records() {
			got = append(got, r.ID)
			if r.Schema != Schema {
				t.Errorf("schema %q", r.Schema)
			}
		}
		if fmt.Sprint(got) != c.want || m.Total() != uint64(c.given) {
			t.Errorf("limit %d, %d given: %v of %d", c.limit, c.given, got, m.Total())
		}
	}
}

func TestMemoryAwait(t *testing.T) {
	m := NewMemory(2)
	is := func(id string) func(*Record) bool { return func(r *Record) bool { return r.ID == id } }
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	found := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := m.Await(ctx, is("c"))
			found <- err
		}()
	}
	for _, id := range []string{"a", "b", "c"} {
		m.Event(&Record{ID: id})
	}
	for range 2 {
		if err := <-found; err != nil {
			t.Error(err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := m.Await(ended, is("never")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestIDsAreUnique(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[string]bool)
	var wg sync.WaitGroup
	for range 4 {
		ids := NewIDs()
		for range 4 {
			wg.Go(func() {
				for range 500 {
					id := ids.Next()
					mu.Lock()
					if seen[id] || len(id) > 64 {
						t.Errorf("id %q", id)
					}
					seen[id] = true
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
}

func TestTee(t *testing.T) {
	a, b := NewMemory(0), NewMemory(0)
	s := Tee(a, failing{}, b)
	if err := s.Decided(&Record{}, true); err == nil {
		t.Error("one sink refused, and the mutation was allowed")
	}
	s.Completed(&Record{})
	s.Event(&Record{})
	if a.Total() != 3 || b.Total() != 3 {
		t.Errorf("%d and %d records", a.Total(), b.Total())
	}
	if Tee(a) != Sink(a) {
		t.Error("one sink needs no tee")
	}
}

type failing struct{ Discard }

func (failing) Decided(*Record, bool) error { return errors.New("full") }

func BenchmarkMemory(b *testing.B) {
	m, ids := NewMemory(4096), NewIDs()
	r := samples()["read-decided"]
	b.ReportAllocs()
	for b.Loop() {
		r.ID = ids.Next()
		if err := m.Decided(r, false); err != nil {
			b.Fatal(err)
		}
	}
}
