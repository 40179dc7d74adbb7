package rig

import (
	"os"
	"path/filepath"
	"testing"
)

// Later waits until a change is stamped later than the last one of path. Many file systems, and all of them under kernels
// before 6.13, stamp by a clock that ticks every few milliseconds: what changes within one tick and keeps its size looks as
// it was, to whoever goes by times.
func Later(tb testing.TB, path string) {
	tb.Helper()
	last, err := os.Lstat(path)
	if err != nil {
		tb.Fatal(err)
	}
	clock := filepath.Join(tb.TempDir(), "clock")
	for later := false; !later; {
		if err := os.WriteFile(clock, []byte("x"), 0o600); err != nil {
			tb.Fatal(err)
		}
		now, err := os.Lstat(clock)
		if err != nil {
			tb.Fatal(err)
		}
		later = now.ModTime().After(last.ModTime())
	}
}
