//go:build linux

package guard_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

// hundredRules are deny patterns of every kind people write, none of which matches what is read.
func hundredRules() (out []string) {
	for i := range 20 {
		out = append(out,
			fmt.Sprintf("**/*.ext%d", i),            // by the end of a name
			fmt.Sprintf("**/private%d/", i),         // by a name, everywhere
			fmt.Sprintf("vendor%d/**", i),           // by a directory at the top
			fmt.Sprintf("src/**/gen_%d_*.go", i),    // by a path with stars
			fmt.Sprintf("**/{old,tmp}%d/*.[ch]", i), // by alternatives and classes
		)
	}
	return out
}

// BenchmarkRead100Rules is one read of a small file through the door with 100 rules against the same without any.
func BenchmarkRead100Rules(b *testing.B) {
	dir := b.TempDir()
	const file = "src/app/internal/text.md"
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte("some text\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	reader := func(deny []string) func() {
		g, ctx := door(b, rootbound.Project{ID: "p", Dir: dir, Rights: rootbound.ReadOnly, Deny: deny, LiftCredentials: true, LiftExecution: true})
		read := func(ctx context.Context, t *guard.Target) error {
			_, err := fileop.ReadText(ctx, t, t.Info(), fileop.Part{}, 1<<20)
			return err
		}
		return func() {
			if err := g.Do(ctx, guard.Read(file), read); err != nil {
				b.Fatal(err)
			}
		}
	}
	with, without := reader(hundredRules()), reader(nil)
	o, w := inTurns(b, without, with)
	mw, mo := median(w), median(o)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(mo, "none-ns")
	b.ReportMetric(mw, "ns")
	b.ReportMetric(mw/mo, "ratio")
}
