//go:build linux

package guard_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard"
)

// door opens one project with a record in memory and the root check, as a server does.
func door(b *testing.B, p rootbound.Project) (*guard.Guard, context.Context) {
	c, err := authority.Open([]rootbound.Project{p}, authority.CeilingOptions{})
	if err != nil {
		b.Fatal(err)
	}
	a := authority.New(c, authority.Options{})
	u, err := a.Acquire(context.Background(), true)
	if err != nil {
		b.Fatal(err)
	}
	ctx, done := authority.With(context.Background(), u)
	b.Cleanup(func() { done(); u.Release(); a.Close(); c.Close() })
	return guard.New(guard.Options{Sink: decision.NewMemory(1024)}), ctx
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds())
}

// inTurns times two things in blocks, now one and now the other first, and gives what one call took in each block.
func inTurns(b *testing.B, first, second func()) (f, s []time.Duration) {
	const block = 64
	timed := func(f func()) time.Duration {
		start := time.Now()
		for range block {
			f()
		}
		return time.Since(start) / block
	}
	for n := 0; b.Loop(); n++ {
		if n%2 == 0 {
			f, s = append(f, timed(first)), append(s, timed(second))
		} else {
			s, f = append(s, timed(second)), append(f, timed(first))
		}
	}
	return f, s
}

// BenchmarkDoDepth8 is one read through the door against a bare openat, fstat and close of the same path.
func BenchmarkDoDepth8(b *testing.B) {
	dir := b.TempDir()
	const deep = "a/b/c/d/e/f/g/h"
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(deep)), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, deep), []byte("x"), 0o644); err != nil {
		b.Fatal(err)
	}
	root, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer syscall.Close(root)
	g, ctx := door(b, rootbound.Project{ID: "p", Dir: dir, Rights: rootbound.ReadWrite})
	nothing := func(context.Context, *guard.Target) error { return nil }
	ours := func() {
		if err := g.Do(ctx, guard.Read(deep), nothing); err != nil {
			b.Fatal(err)
		}
	}
	raw := func() {
		var st syscall.Stat_t
		fd, err := syscall.Openat(root, deep, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil || syscall.Fstat(fd, &st) != nil {
			b.Fatal(err)
		}
		syscall.Close(fd)
	}
	r, o := inTurns(b, raw, ours)
	mo, mr := median(o), median(r)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(mr, "raw-ns")
	b.ReportMetric(mo, "ns")
	b.ReportMetric(mo/mr, "ratio")
	b.ReportMetric(float64(o[len(o)*99/100].Nanoseconds()), "p99-ns")
	b.ReportMetric(testing.AllocsPerRun(200, ours), "allocs")
}

// BenchmarkTreeWithRules is a sorted walk of 100,000 files with the default rules against filepath.WalkDir.
func BenchmarkTreeWithRules(b *testing.B) {
	dir := b.TempDir()
	for d := range 1000 {
		sub := filepath.Join(dir, fmt.Sprintf("group%02d/dir%03d", d%40, d))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 100 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file_%03d.go", f)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	g, ctx := door(b, rootbound.Project{ID: "p", Dir: dir, Rights: rootbound.ReadWrite})
	var o, r []time.Duration
	for n := 0; b.Loop(); n++ {
		theirs, ours := 0, 0
		walkDir := func() {
			start := time.Now()
			if err := filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { theirs++; return nil }); err != nil {
				b.Fatal(err)
			}
			r = append(r, time.Since(start))
		}
		if n%2 == 0 {
			walkDir()
		}
		start := time.Now()
		err := g.Do(ctx, guard.Request{Op: rootbound.OpTree, Path: "."}, func(ctx context.Context, t *guard.Target) error {
			return t.Walk(ctx, func(*beneath.Node) (beneath.Step, error) { ours++; return beneath.Into, nil }, nil)
		})
		o = append(o, time.Since(start))
		if n%2 != 0 {
			walkDir()
		}
		if err != nil || ours != theirs-1 {
			b.Fatalf("%d entries of %d, %v", ours, theirs-1, err)
		}
	}
	mo, mr := median(o), median(r)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(mr/1e6, "WalkDir-ms")
	b.ReportMetric(mo/1e6, "ms")
	b.ReportMetric(mo/mr, "ratio")
}
