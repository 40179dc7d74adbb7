package undo

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTune: smaller bounds drop what they have no room for, the oldest first; wider ones and equal ones drop nothing.
func TestTune(t *testing.T) {
	now := time.Now()
	h := build(t, Options{Now: func() time.Time { now = now.Add(time.Millisecond); return now }})
	put(t, h.dir+"/f", strings.Repeat("x", 100))
	var ids []string
	for range 3 {
		ids = append(ids, h.write(t, "f", strings.Repeat("y", 100)))
	}
	left := func(want int) {
		t.Helper()
		all, err := h.s.List()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != want || !slices.ContainsFunc(all, func(c Change) bool { return c.ID == ids[2] }) {
			t.Errorf("%d changes are kept, want %d: %+v", len(all), want, all)
		}
	}
	left(3)
	h.s.Tune(Options{Entries: 3, MaxSize: DefaultMaxSize, Keep: DefaultKeep})
	h.s.Tune(Options{Entries: 4, MaxSize: DefaultMaxSize, Keep: DefaultKeep})
	left(2)
	h.s.Tune(Options{MaxSize: 100})
	left(1)
}
