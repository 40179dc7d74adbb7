package guard_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

// BenchmarkDeleteTree deletes a tree of 10,000 files with the default rules, against rm -r of one like it.
func BenchmarkDeleteTree(b *testing.B) {
	dir := b.TempDir()
	g, ctx := door(b, rootbound.Project{ID: "p", Dir: dir, Rights: rootbound.Full})
	fill := func(name string) {
		for d := range 100 {
			sub := filepath.Join(dir, name, fmt.Sprintf("group%d/dir%02d", d%7, d))
			if err := os.MkdirAll(sub, 0o755); err != nil {
				b.Fatal(err)
			}
			for f := range 100 {
				if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file_%03d.go", f)), []byte("package p\n"), 0o644); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	var o, r []time.Duration
	for n := 0; b.Loop(); n++ {
		fill("ours")
		fill("theirs")
		rm := func() {
			start := time.Now()
			if out, err := exec.Command("rm", "-r", filepath.Join(dir, "theirs")).CombinedOutput(); err != nil {
				b.Fatalf("%v %s", err, out)
			}
			r = append(r, time.Since(start))
		}
		if n%2 == 0 {
			rm()
		}
		start := time.Now()
		err := g.Do(ctx, guard.Request{Op: rootbound.OpDelete, Path: "ours", Recursive: true}, func(ctx context.Context, t *guard.Target) error {
			d, err := fileop.Delete(ctx, t, fileop.Expected{})
			if err == nil && d.Entries != 10_108 {
				b.Fatal(d)
			}
			return err
		})
		o = append(o, time.Since(start))
		if n%2 != 0 {
			rm()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	mo, mr := median(o), median(r)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(mr/1e6, "rm-ms")
	b.ReportMetric(mo/1e6, "ms")
	b.ReportMetric(mo/mr, "ratio")
}
