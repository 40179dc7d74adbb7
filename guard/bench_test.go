package guard_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard"
)

// BenchmarkDo measures the door with the default rules, the root check and a record in memory; BenchmarkRaw is what it
// is compared with (docs/benchmarks.md).
func BenchmarkDo(b *testing.B) {
	dir := b.TempDir()
	deep := filepath.Join(dir, "a/b/c/d/e/f/g")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "h"), []byte("x"), 0o644); err != nil {
		b.Fatal(err)
	}
	c, err := authority.Open([]rootbound.Project{{ID: "p", Dir: dir, Rights: rootbound.ReadWrite}}, authority.CeilingOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	a := authority.New(c, authority.Options{})
	defer a.Close()
	g := guard.New(guard.Options{Sink: decision.NewMemory(1024)})
	u, err := a.Acquire(context.Background(), false)
	if err != nil {
		b.Fatal(err)
	}
	defer u.Release()
	ctx, done := authority.With(context.Background(), u)
	defer done()
	nothing := func(context.Context, *guard.Target) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Do(ctx, guard.Read("a/b/c/d/e/f/g/h"), nothing); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRaw(b *testing.B) {
	dir := b.TempDir()
	deep := filepath.Join(dir, "a/b/c/d/e/f/g")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "h"), []byte("x"), 0o644); err != nil {
		b.Fatal(err)
	}
	root, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer syscall.Close(root)
	for b.Loop() {
		fd, err := syscall.Openat(root, "a/b/c/d/e/f/g/h", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			b.Fatal(err)
		}
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil {
			b.Fatal(err)
		}
		syscall.Close(fd)
	}
}
