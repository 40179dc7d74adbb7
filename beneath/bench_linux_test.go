package beneath

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

	"golang.org/x/sys/unix"
)

// against measures two ways in turn, round by round, and reports the medians and their ratio: a ratio within one run
// means something on any machine, a time does not.
func against(b *testing.B, rival string, theirs, ours func()) {
	const block = 64
	var t, o []float64
	time1 := func(f func(), n int) float64 {
		start := time.Now()
		for range n {
			f()
		}
		return float64(time.Since(start).Nanoseconds()) / float64(n)
	}
	ours()
	theirs()
	for n := 0; b.Loop(); n++ {
		if n%2 == 0 {
			t, o = append(t, time1(theirs, block)), append(o, time1(ours, block))
		} else {
			o, t = append(o, time1(ours, block)), append(t, time1(theirs, block))
		}
	}
	slices.Sort(t)
	slices.Sort(o)
	mt, mo := t[len(t)/2], o[len(o)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(mt, rival+"-ns")
	b.ReportMetric(mo, "ns")
	b.ReportMetric(mo/mt, "ratio")
	b.ReportMetric(o[len(o)*99/100], "p99-ns")
}

func benchWorld(b *testing.B) (dir string, set *Set, raw int) {
	dir = b.TempDir()
	deep := strings.Repeat("d/", 7)
	must(b, os.MkdirAll(filepath.Join(dir, deep), 0o755))
	must(b, os.WriteFile(filepath.Join(dir, deep, "f"), []byte("x"), 0o644))
	must(b, os.Symlink("d", filepath.Join(dir, "d/d/l")))
	must(b, os.WriteFile(filepath.Join(dir, "d/d/d/f"), []byte("x"), 0o644))
	r, err := OpenRoot(dir)
	must(b, err)
	raw, err = unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(b, err)
	b.Cleanup(func() { r.Release(); unix.Close(raw) })
	return dir, NewSet([]Member{{Root: r}}, nil), raw
}

func rawOpen(b *testing.B, dir int, p string) func() {
	return func() {
		var st unix.Stat_t
		fd, err := unix.Openat(dir, p, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil || unix.Fstat(fd, &st) != nil {
			b.Fatal(err)
		}
		unix.Close(fd)
	}
}

func ourOpen(b *testing.B, s *Set, p string) func() {
	return func() {
		o, err := s.Open(Ref{0, p}, File)
		if err != nil {
			b.Fatal(err)
		}
		o.Close()
	}
}

// BenchmarkOpenDepth8 is one open, check and close eight levels down against a bare openat, fstat and close.
func BenchmarkOpenDepth8(b *testing.B) {
	_, s, raw := benchWorld(b)
	p := strings.Repeat("d/", 7) + "f"
	against(b, "raw", rawOpen(b, raw, p), ourOpen(b, s, p))
}

// BenchmarkOpenLinkDepth4 goes through one relative link.
func BenchmarkOpenLinkDepth4(b *testing.B) {
	_, s, raw := benchWorld(b)
	against(b, "raw", rawOpen(b, raw, "d/d/l/f"), ourOpen(b, s, "d/d/l/f"))
}

// BenchmarkWalkTierDepth8 is the walk alone against os.Root, which also goes one component at a time.
func BenchmarkWalkTierDepth8(b *testing.B) {
	dir, s, _ := benchWorld(b)
	s.walkOnly = true
	p := strings.Repeat("d/", 7) + "f"
	r, err := os.OpenRoot(dir)
	must(b, err)
	defer r.Close()
	against(b, "os.Root", func() {
		f, err := r.Open(p)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Stat(); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}, ourOpen(b, s, p))
}

// BenchmarkTree walks 100,000 files in 6,249 directories with the cheapest visit there is.
func BenchmarkTree(b *testing.B) {
	dir := b.TempDir()
	growTree(b, dir, 100_000)
	r, err := OpenRoot(dir)
	must(b, err)
	defer r.Release()
	s := NewSet([]Member{{Root: r}}, nil)
	var t, o []float64
	for b.Loop() {
		theirs, ours := 0, 0
		start := time.Now()
		must(b, filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { theirs++; return nil }))
		t = append(t, float64(time.Since(start).Microseconds())/1000)
		start = time.Now()
		top, err := s.Open(Ref{}, Dir)
		must(b, err)
		must(b, top.Walk(context.Background(), func(*Node) (Step, error) { ours++; return Into, nil }, nil))
		top.Close()
		o = append(o, float64(time.Since(start).Microseconds())/1000)
		if ours != theirs-1 {
			b.Fatalf("%d entries, WalkDir saw %d", ours, theirs-1)
		}
	}
	slices.Sort(t)
	slices.Sort(o)
	b.ReportMetric(t[len(t)/2], "WalkDir-ms")
	b.ReportMetric(o[len(o)/2], "ms")
	b.ReportMetric(o[len(o)/2]/t[len(t)/2], "ratio")
}

// growTree makes directories of 16 files, 16 directories below each, until there are n files.
func growTree(tb testing.TB, dir string, n int) {
	queue := []string{dir}
	for made := 0; made < n; {
		d := queue[0]
		queue = queue[1:]
		for i := range 16 {
			if made++; made > n {
				return
			}
			must(tb, os.WriteFile(fmt.Sprintf("%s/f%02d", d, i), nil, 0o644))
		}
		for i := range 16 {
			if len(queue)*16+made > n {
				break
			}
			sub := fmt.Sprintf("%s/d%02d", d, i)
			must(tb, os.Mkdir(sub, 0o755))
			queue = append(queue, sub)
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
