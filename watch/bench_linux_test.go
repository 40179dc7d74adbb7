package watch

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/beneath"
	"golang.org/x/sys/unix"
)

// TestMain serves the child processes of BenchmarkMemory too.
func TestMain(m *testing.M) {
	if how := os.Getenv("WATCH_CHILD"); how != "" {
		child(how, os.Args[1])
		return
	}
	os.Exit(m.Run())
}

// child watches a tree, tells its memory, and ends with its input.
func child(how, dir string) {
	n := 0
	switch how {
	case "idle":
	case "bare":
		paths := map[int32]string{}
		in, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		check(err)
		check(filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return err
			}
			wd, err := unix.InotifyAddWatch(in, p, unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVE|unix.IN_MODIFY|unix.IN_ATTRIB|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF)
			paths[int32(wd)] = p
			return err
		}))
		n = len(paths)
		defer func() { fmt.Println(len(paths)) }()
	case "ours":
		root, err := beneath.OpenRoot(dir)
		check(err)
		set := beneath.NewSet([]beneath.Member{{Root: root}}, nil)
		o, err := set.Open(beneath.Ref{}, beneath.Dir)
		check(err)
		w, err := New(Options{})
		check(err)
		x, err := w.Add(context.Background(), o, true, nil, func(Event) {})
		check(err)
		n = x.nodes.count
		defer x.Close()
	}
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	check(err)
	field := func(name string) string {
		_, rest, _ := strings.Cut(string(status), name+":")
		return strings.Fields(rest)[0]
	}
	fmt.Println(field("VmRSS"), field("VmHWM"), n)
	bufio.NewReader(os.Stdin).ReadByte()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// grow makes n directories, ten in each, below dir.
func grow(b *testing.B, dir string, n int) {
	b.Helper()
	level := []string{dir}
	for made := 0; made < n; {
		var next []string
		for _, up := range level {
			for i := 0; i < 10 && made < n; i++ {
				p := fmt.Sprintf("%s/module-%02d", up, i)
				must(b, os.Mkdir(p, 0o755))
				next = append(next, p)
				made++
			}
		}
		level = next
	}
}

// BenchmarkMemory compares the resident memory of a process that watches 100,000 directories with that of a bare inotify
// program that maps watch numbers to paths. Both are fresh processes of this binary that have given back what they do not
// need; ratio is of the whole processes.
func BenchmarkMemory(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	must(b, err)
	const count = 100_000
	grow(b, dir, count-1)
	measure := func(how string) (rss, peak float64) {
		c := exec.Command(os.Args[0], dir)
		c.Env = append(os.Environ(), "WATCH_CHILD="+how)
		c.Stderr = os.Stderr
		stdin, err := c.StdinPipe()
		must(b, err)
		stdout, err := c.StdoutPipe()
		must(b, err)
		must(b, c.Start())
		var n int
		_, err = fmt.Fscan(stdout, &rss, &peak, &n)
		stdin.Close()
		must(b, err)
		must(b, c.Wait())
		if how != "idle" && n != count {
			b.Fatalf("%s watches %d directories, want %d", how, n, count)
		}
		return rss, peak
	}
	var idle, bare, ours, top, bareTop []float64
	for b.Loop() {
		i, _ := measure("idle")
		r, q := measure("bare")
		o, p := measure("ours")
		idle, bare, ours, top, bareTop = append(idle, i), append(bare, r), append(ours, o), append(top, p), append(bareTop, q)
	}
	b.ReportMetric(median(ours)/median(bare), "ratio")
	b.ReportMetric(median(bare), "bare-KiB")
	b.ReportMetric(median(ours), "ours-KiB")
	b.ReportMetric(median(top), "ours-peak-KiB")
	b.ReportMetric(median(bareTop), "bare-peak-KiB")
	b.ReportMetric(median(idle), "idle-KiB")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
