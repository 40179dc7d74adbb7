package guard_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/search"
)

// alone is a Walker that reads no directory ahead.
type alone struct{ *guard.Target }

func (w alone) Tour(ctx context.Context, c beneath.Course) error {
	c.Ahead = nil
	return w.Target.Tour(ctx, c)
}

// BenchmarkReadAhead compares searches by name, and the walks of trees, that read directories ahead with the same that do not,
// in turn, each as the server runs it: on one processor until it is told to widen.
func BenchmarkReadAhead(b *testing.B) {
	all := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(all)
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(128 << 20))
	widen := func() func() {
		runtime.GOMAXPROCS(all)
		return func() { runtime.GOMAXPROCS(1) }
	}
	ok := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	pattern, err := search.Compile("**/*.none")
	ok(err)
	for _, c := range []struct{ dirs, files, group int }{{500, 100, 500}, {500, 200, 500}, {500, 100, 10}, {3000, 16, 16}, {10, 10, 10}} {
		dir := b.TempDir()
		for d := range c.dirs {
			sub := filepath.Join(dir, fmt.Sprintf("g%03d/d%04d", d/c.group, d))
			ok(os.MkdirAll(sub, 0o755))
			for f := range c.files {
				ok(os.WriteFile(filepath.Join(sub, fmt.Sprintf("file_%03d.go", f)), nil, 0o644))
			}
		}
		g, ctx := door(b, rootbound.Project{ID: "p", Dir: dir, Rights: rootbound.ReadWrite})
		for _, way := range []string{"names", "tree"} {
			run := func(ahead bool) time.Duration {
				start := time.Now()
				ok(g.Do(ctx, guard.Request{Op: rootbound.OpTree, Path: "."}, func(ctx context.Context, t *guard.Target) error {
					var w search.Walker = t
					if !ahead {
						w = alone{t}
					}
					if way == "names" {
						_, err := search.Files(ctx, w, pattern, search.Options{Widen: widen})
						return err
					}
					_, err := fileop.Grow(ctx, w, fileop.TreeOptions{Nodes: 1 << 30, Widen: widen})
					return err
				}))
				return time.Since(start)
			}
			b.Run(fmt.Sprintf("%s-%dx%d-%d", way, c.dirs, c.files, c.group), func(b *testing.B) {
				var with, without []time.Duration
				for n := 0; b.Loop(); n++ {
					if n%2 == 0 {
						with = append(with, run(true))
					}
					without = append(without, run(false))
					if n%2 != 0 {
						with = append(with, run(true))
					}
				}
				w, o := median(with), median(without)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(w/1e6, "ms")
				b.ReportMetric(o/1e6, "alone-ms")
				b.ReportMetric(o/w, "times")
			})
		}
	}
}
