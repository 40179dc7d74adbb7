package main

import (
	"runtime"
	"testing"
)

// TestProcessors: a search has all processors, also while another one ends, and the session has one again after the last.
func TestProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	p := &processors{all: 3}
	want := func(n int, when string) {
		t.Helper()
		if got := runtime.GOMAXPROCS(0); got != n {
			t.Errorf("%s: %d processors, want %d", when, got, n)
		}
	}
	first := p.widen()
	want(3, "one search")
	second := p.widen()
	first()
	first()
	want(3, "the other goes on")
	second()
	want(1, "none is left")
	p.widen()()
	want(1, "another one")
}
