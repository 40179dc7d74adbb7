package undo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/state"
	"github.com/rootbound/rootbound/patch"
)

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

// byHand is a durable atomic replacement as a program writes it that knows how.
func byHand(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	return state.SyncDir(filepath.Dir(path))
}

// BenchmarkApply50 replaces 50 files of 4 KiB in 5 directories, all or none, journalled and kept.
func BenchmarkApply50(b *testing.B) {
	h := build(b, Options{})
	var paths []string
	for i := range 50 {
		paths = append(paths, fmt.Sprintf("d%d/f%02d", i%5, i))
		put(b, h.dir+"/ours/"+paths[i], "x")
		put(b, h.dir+"/theirs/"+paths[i], "x")
	}
	content := make([]byte, 4096)
	var ours, theirs []time.Duration
	for n := 0; b.Loop(); n++ {
		content[0] = byte(n)
		hand := func() {
			start := time.Now()
			for _, p := range paths {
				if err := byHand(h.dir+"/theirs/"+p, content); err != nil {
					b.Fatal(err)
				}
			}
			theirs = append(theirs, time.Since(start))
		}
		if n%2 == 0 {
			hand()
		}
		start := time.Now()
		files := make([]patch.File, len(paths))
		for i, p := range paths {
			files[i] = patch.File{Path: "ours/" + p, After: content}
		}
		if _, err := h.apply(files...); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(start))
		if n%2 == 1 {
			hand()
		}
	}
	b.ReportMetric(median(ours)/median(theirs), "ratio")
}

// BenchmarkKeptWrite is a durable replacement of 4 KiB through one guard, kept and not kept.
func BenchmarkKeptWrite(b *testing.B) {
	h := build(b, Options{})
	content := make([]byte, 4096)
	write := func(g *guard.Guard, path string) time.Duration {
		start := time.Now()
		err := g.Do(h.ctx, guard.Request{Op: rootbound.OpWrite, Root: "p", Path: path}, func(ctx context.Context, on *guard.Target) error {
			_, err := fileop.Write(ctx, on, content, fileop.Expected{})
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	plain := guard.New(guard.Options{Locks: h.locks})
	var kept, not []time.Duration
	for n := 0; b.Loop(); n++ {
		if n%2 == 0 {
			not = append(not, write(plain, "g"))
		}
		kept = append(kept, write(h.g, "f"))
		if n%2 == 1 {
			not = append(not, write(plain, "g"))
		}
	}
	b.ReportMetric(median(kept)/median(not), "ratio")
}
