package serve

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/config/follow"
)

// BenchmarkReload1000Projects is a change of a configuration with 1,000 projects, from the file to the scope in force,
// against a cold start from the same file.
func BenchmarkReload1000Projects(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("group%d/p%d", i%20, i)), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	file := filepath.Join(dir, "rootbound.yaml")
	write := func(n int) { // each is narrower than the one before
		var s strings.Builder
		s.WriteString("projects:\n")
		for i := range 1000 {
			fmt.Fprintf(&s, "  - {id: p%d, dir: group%d/p%d, rights: rw, deny: [\"**/private/**\"], max_read: %d}\n", i, i%20, i, 1<<40-n)
		}
		if err := os.WriteFile(file, []byte(s.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	var accepted []byte
	in := config.Input{File: file, Getenv: func(string) string { return "" }, Accepted: func(string) ([]byte, error) {
		if accepted == nil {
			return nil, fs.ErrNotExist
		}
		return accepted, nil
	}}
	start := func() (*config.Config, *Service) {
		c, _, err := config.Load(in)
		if err != nil {
			b.Fatal(err)
		}
		s, err := New(Options{Projects: c.Projects, Mode: "narrow"})
		if err != nil {
			b.Fatal(err)
		}
		return c, s
	}
	end := func(s *Service) {
		if err := s.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	write(0)
	c, s := start()
	defer end(s)
	var err error
	if accepted, err = c.Accept(time.Now()); err != nil {
		b.Fatal(err)
	}
	r, err := follow.NewReloader(in, c, false)
	if err != nil {
		b.Fatal(err)
	}
	var cold, warm []time.Duration
	n := 0
	for b.Loop() {
		n++
		write(n)
		t := time.Now()
		_, fresh := start()
		cold = append(cold, time.Since(t))
		end(fresh)
		t = time.Now()
		c, _, err := r.Next()
		if err == nil {
			err = s.Reload(c.Projects)
		}
		if err != nil {
			b.Fatal(err)
		}
		r.Took(c)
		warm = append(warm, time.Since(t))
	}
	slices.Sort(cold)
	slices.Sort(warm)
	mc, mw := float64(cold[len(cold)/2]), float64(warm[len(warm)/2])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(mc/1e6, "cold-ms")
	b.ReportMetric(mw/1e6, "reload-ms")
	b.ReportMetric(mw/mc, "ratio")
}
