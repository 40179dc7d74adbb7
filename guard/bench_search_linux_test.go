//go:build linux

package guard_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
	"github.com/rootbound/rootbound/search"
	"github.com/rootbound/rootbound/search/match"
)

func BenchmarkContent(b *testing.B) {
	dir := os.Getenv("RB_CORPUS")
	if dir == "" {
		dir = b.TempDir()
		if err := (rig.Corpus{Dir: dir}).Make(); err != nil {
			b.Fatal(err)
		}
	}
	g, ctx := door(b, dir)
	for _, c := range []struct {
		name, pattern string
		o             match.Options
	}{{"literal", "needle_zq81 here", match.Options{Literal: true}}, {"required", `func\s+\w+FooHandler\(`, match.Options{}}, {"none", `[A-Z]{5}[0-9]{5}[A-Z]{5}`, match.Options{}}} {
		b.Run(c.name, func(b *testing.B) {
			m, err := match.Compile(c.pattern, c.o)
			if err != nil {
				b.Fatal(err)
			}
			args := []string{"--no-config", "--hidden", "-j2", "-n", "--no-heading", "-e", c.pattern, dir}
			if c.o.Literal {
				args = append([]string{"-F"}, args...)
			}
			var o, r []time.Duration
			for b.Loop() {
				start := time.Now()
				out, err := exec.Command("rg", args...).Output()
				r = append(r, time.Since(start))
				if err != nil {
					b.Fatal(err)
				}
				var res search.ContentResult
				start = time.Now()
				err = g.Do(ctx, guard.Request{Op: rootbound.OpSearchContent, Path: "."}, func(ctx context.Context, t *guard.Target) (err error) {
					res, err = search.Content(ctx, t, m, search.ContentOptions{Limit: 1 << 20})
					return err
				})
				o = append(o, time.Since(start))
				if err != nil || res.Hits != strings.Count(string(out), "\n") {
					b.Fatal(err, res.Hits, strings.Count(string(out), "\n"))
				}
			}
			mo, mr := median(o), median(r)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(mr/1e6, "rg-ms")
			b.ReportMetric(mo/1e6, "ms")
			b.ReportMetric(mo/mr, "ratio")
		})
	}
}
