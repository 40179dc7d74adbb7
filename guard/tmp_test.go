package guard_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
)

func BenchmarkTmp(b *testing.B) {
	dir := b.TempDir()
	os.MkdirAll(dir+"/p/a/b/c/d", 0o755)
	os.WriteFile(dir+"/p/a/b/c/d/f", nil, 0o644)
	g, ctx := door(b, dir+"/p")
	g.Do(ctx, guard.Request{Op: rootbound.OpTree, Path: "a/b/c/d"}, func(ctx context.Context, t *guard.Target) error {
		s := t.Sight()
		i := t.Info()
		i.Mode = 0o644
		for range 3 {
			n := time.Now()
			for range 10000 {
				if err := s.Sees(t.Object(), "f", &i, false); err != nil {
					b.Fatal(err)
				}
			}
			fmt.Println("sees", time.Since(n)/10000)
			p := t.Object().Place()
			n = time.Now()
			for range 10000 {
				o, _ := p.Open("", beneath.Handle)
				o.Close()
			}
			fmt.Println("open", time.Since(n)/10000)
		}
		return nil
	})
}
