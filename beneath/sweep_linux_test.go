package beneath

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig"
)

// taking takes every file.
func taking(n *Node) (Step, error) {
	if n.Type().IsDir() {
		return Into, nil
	}
	return Take, nil
}

// readAll is a Work that tells each file with what it holds, or why not.
func readAll(told *[]string) func(int, *Run) (func() error, int) {
	return func(_ int, r *Run) (func() error, int) {
		var mine []string
		for i := range r.Len() {
			f, err := r.Open(i)
			if err != nil {
				mine = append(mine, r.Rel(i)+": "+outcome(err))
				continue
			}
			b, err := io.ReadAll(f)
			mine = append(mine, r.Rel(i)+": "+string(b))
			if err != nil {
				mine = append(mine, r.Rel(i)+": "+outcome(err))
			}
		}
		return func() error { *told = append(*told, mine...); return nil }, len(mine)
	}
}

func sweep(t testing.TB, s *Set, p string, workers int) (told, failed []string) {
	t.Helper()
	o, err := s.Open(Ref{0, p}, Any)
	must(t, err)
	defer o.Close()
	must(t, o.Sweep(ctx(), Sweep{Workers: workers, Work: readAll(&told), Course: Course{Visit: taking, Failed: func(rel string, err error) {
		failed = append(failed, rel+": "+outcome(err))
	}}}))
	return told, failed
}

// TestSweepIsInOrder: whatever the workers do, what they give comes as a walk would meet it, and nothing stays open.
func TestSweepIsInOrder(t *testing.T) {
	w := newWorld(t)
	for d := range 40 {
		for f := range d * 7 % 150 {
			w.do(fmt.Sprintf("file ws/t%d/s%d/f%d text %d", d%3, d, f, f))
		}
		w.do(fmt.Sprintf("file ws/t%d/s%d.x %d", d%3, d, d))
	}
	s := w.set(false)
	before := openFDs(t)
	var want []string
	o, err := s.Open(Ref{}, Dir)
	must(t, err)
	must(t, o.Walk(ctx(), func(n *Node) (Step, error) {
		if !n.Type().IsDir() {
			want = append(want, n.Rel()+": "+w.text("ws/"+n.Rel()))
		}
		return Into, nil
	}, nil))
	o.Close()
	for _, workers := range []int{0, 1, 2, 4} {
		if got, failed := sweep(t, s, "", workers); !slices.Equal(got, want) || failed != nil {
			t.Errorf("%d workers: %d of %d files, failed %q", workers, len(got), len(want), failed)
		}
	}
	if got, _ := sweep(t, s, "d/f", 0); !slices.Equal(got, []string{": " + inside}) {
		t.Errorf("a file: %q", got)
	}
	if after := openFDs(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// TestSweepOpensWhatItWasShown: between the visit and the worker's open anything may come into the place of a file.
func TestSweepOpensWhatItWasShown(t *testing.T) {
	w := newWorld(t)
	names := []string{"dir", "fifo", "gone", "hard", "link", "other", "socket"}
	for _, n := range names {
		w.do("file ws/x/" + n + " first")
	}
	swap := map[string]func(p string) error{
		"dir":   func(p string) error { return os.Mkdir(p, 0o755) },
		"fifo":  func(p string) error { return unix.Mkfifo(p, 0o644) },
		"gone":  func(string) error { return nil },
		"hard":  func(p string) error { return os.Link(w.path("ws/d/f"), p) },
		"link":  func(p string) error { return os.Symlink(w.path("out/secret"), p) },
		"other": func(p string) error { return os.WriteFile(p, []byte("second"), 0o644) },
		"socket": func(p string) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Bind(fd, &unix.SockaddrUnix{Name: p})
		},
	}
	o, err := w.set(false).Open(Ref{0, "x"}, Dir)
	must(t, err)
	defer o.Close()
	t.Chdir(w.path("ws/x")) // the names of sockets are short
	var told []string
	work := readAll(&told)
	must(t, o.Sweep(ctx(), Sweep{Course: Course{Visit: taking}, Work: func(n int, r *Run) (func() error, int) {
		for _, n := range names {
			must(t, os.Remove(n))
			must(t, swap[n](n))
		}
		return work(n, r)
	}}))
	want := []string{"dir: is_a_directory", "fifo: special_file [fifo]", "gone: not_found", "hard: " + inside, "link: path_unresolvable", "other: second", "socket: special_file"}
	if !slices.Equal(told, want) {
		t.Errorf("%q\nwant %q", told, want)
	}
}

// TestSweepKeepsItsDirectory: a directory that is exchanged for a link to the outside, or moved, is still the one that was
// walked, and a run tells that it left the root.
func TestSweepKeepsItsDirectory(t *testing.T) {
	w := newWorld(t)
	o, err := w.set(false).Open(Ref{}, Dir)
	must(t, err)
	defer o.Close()
	var told []string
	inside := map[string]string{}
	var once sync.Once
	work := readAll(&told)
	must(t, o.Sweep(ctx(), Sweep{Course: Course{Visit: taking}, Workers: 2, Work: func(n int, r *Run) (func() error, int) {
		once.Do(func() { w.do("mv ws/d elsewhere", "link ws/d $OUT") })
		tell, weight := work(n, r)
		at, err := r.Rel(0), r.Inside()
		return func() error { inside[at] = outcome(err); return tell() }, weight
	}}))
	for _, l := range told {
		if strings.Contains(l, secret) {
			t.Error(l)
		}
	}
	if inside["alive"] != "ok" || inside["d/f"] != "moved_out" {
		t.Errorf("%q", inside)
	}
}

func TestSweepAsksBeforeItReads(t *testing.T) {
	w := newWorld(t)
	w.do("file ws/a 1", "file ws/b 22", "hard ws/c ws/b")
	o, err := w.set(false).Open(Ref{}, Dir)
	must(t, err)
	defer o.Close()
	var told []string
	must(t, o.Sweep(ctx(), Sweep{Course: Course{Visit: taking}, Work: readAll(&told), May: func(mark int, i Info) error {
		if i.Links > 1 || i.Size > 10 || mark != -1 {
			return refuse(rootbound.RuleDenied, "mine", nil)
		}
		return nil
	}}))
	want := []string{"a: 1", "alive: alive", "b: rule_denied [mine]", "c: rule_denied [mine]", "d/f: rule_denied [mine]"}
	if !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}

func TestSweepAndMounts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount /proc")
	}
	if !rig.OwnMounts(t) {
		return
	}
	w := newWorld(t)
	w.do("file ws/bound x", "file ws/here 1")
	w.bind("ws/bound", "out/secret")
	w.mount("none", "ws/tmp", "tmpfs", 0, "")
	w.do("file ws/tmp/f in tmp")
	w.mount("none", "ws/proc", "proc", 0, "")
	got, failed := sweep(t, w.set(false), "", 2)
	want := []string{"alive: alive", "bound: " + secret, "d/f: " + inside, "here: 1", "tmp/f: in tmp"}
	if !slices.Equal(got, want) || !slices.Equal(failed, []string{"proc: special_file [kernel]"}) {
		t.Errorf("mounts allowed: %q %q", got, failed)
	}
	got, failed = sweep(t, w.set(false, "ws:nomounts"), "", 2)
	want = []string{"alive: alive", "bound: rule_denied [mounts]", "d/f: " + inside, "here: 1"}
	if !slices.Equal(got, want) || len(failed) != 2 {
		t.Errorf("mounts denied: %q %q", got, failed)
	}
}

// TestSweepFailsInOrder: what could not be read is told where the walk met it.
func TestSweepFailsInOrder(t *testing.T) {
	w := newWorld(t)
	o, err := w.set(false).Open(Ref{}, Dir)
	must(t, err)
	defer o.Close()
	w.do("file ws/b/x 1", "file ws/c 2")
	var told []string
	work := readAll(&told)
	must(t, o.Sweep(ctx(), Sweep{Work: work, Course: Course{
		Visit: func(n *Node) (Step, error) {
			if n.Name() == "b" {
				w.do("rm ws/b", "link ws/b $OUT")
			}
			return taking(n)
		},
		Failed: func(rel string, err error) { told = append(told, rel+"! "+outcome(err)) },
	}}))
	if want := []string{"alive: alive", "b! path_unresolvable", "c: 2", "d/f: " + inside}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}

func TestSweepEnds(t *testing.T) {
	w := newWorld(t)
	for d := range 300 {
		w.do(fmt.Sprintf("file ws/m/d%03d/f x", d))
	}
	boom := errors.New("boom")
	o, err := w.set(false).Open(Ref{0, "m"}, Dir)
	must(t, err)
	defer o.Close()
	before := openFDs(t)
	for _, workers := range []int{1, 3} {
		told := 0
		count := func(end error) func(int, *Run) (func() error, int) {
			return func(int, *Run) (func() error, int) {
				return func() error {
					if told++; told == 7 {
						return end
					}
					return nil
				}, 0
			}
		}
		if err := o.Sweep(ctx(), Sweep{Workers: workers, Course: Course{Visit: taking}, Work: count(ErrEnough)}); err != nil || told != 7 {
			t.Errorf("enough: %v, %d told", err, told)
		}
		told = 0
		if err := o.Sweep(ctx(), Sweep{Workers: workers, Course: Course{Visit: taking}, Work: count(boom)}); err != boom || told != 7 {
			t.Errorf("an error of tell: %v, %d told", err, told)
		}
		err := o.Sweep(ctx(), Sweep{Workers: workers, Work: count(nil), Course: Course{Visit: func(n *Node) (Step, error) {
			if n.Name() == "d200" {
				return Stop, boom
			}
			return taking(n)
		}}})
		if err != boom {
			t.Errorf("an error of visit: %v", err)
		}
		err = o.Sweep(ctx(), Sweep{Workers: workers, Course: Course{Visit: taking, Go: func() error { return boom }}, Work: func(_ int, r *Run) (func() error, int) {
			if _, err := r.Open(0); err != boom {
				t.Errorf("opened though it ended: %v", err)
			}
			return nil, 0
		}})
		if err != boom {
			t.Errorf("an error of Go: %v", err)
		}
		for _, where := range []string{"work", "tell", "visit"} {
			func() {
				defer func() {
					if p := recover(); p != where {
						t.Errorf("%d workers, a panic of %s: %v", workers, where, p)
					}
				}()
				_ = o.Sweep(ctx(), Sweep{Workers: workers, Course: Course{Visit: func(n *Node) (Step, error) {
					if where == "visit" && n.Name() == "d100" {
						panic(where)
					}
					return taking(n)
				}}, Work: func(int, *Run) (func() error, int) {
					if where == "work" {
						panic(where)
					}
					return func() error {
						if where == "tell" {
							panic(where)
						}
						return nil
					}, 0
				}})
			}()
		}
	}
	if after := openFDs(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// TestSweepHoldsBackWhatIsHeavy: what waits to be told is bounded by its weight, and whoever all wait for is not held back.
func TestSweepHoldsBackWhatIsHeavy(t *testing.T) {
	w := newWorld(t)
	for d := range 60 {
		w.do(fmt.Sprintf("file ws/m/d%02d/f x", d))
	}
	o, err := w.set(false).Open(Ref{0, "m"}, Dir)
	must(t, err)
	defer o.Close()
	var mu sync.Mutex
	weight, most, told := 0, 0, 0
	must(t, o.Sweep(ctx(), Sweep{Workers: 4, Course: Course{Visit: taking}, Work: func(int, *Run) (func() error, int) {
		mu.Lock()
		defer mu.Unlock()
		weight += maxWeight / 2
		most = max(most, weight)
		return func() error {
			mu.Lock()
			defer mu.Unlock()
			weight -= maxWeight / 2
			told++
			return nil
		}, maxWeight / 2
	}}))
	if told != 60 || most > 2*maxWeight+4*maxWeight/2 {
		t.Errorf("%d told, %d bytes waited", told, most)
	}
}

// TestSweepWithFewDescriptors: where descriptors run out, the walk waits for its workers.
func TestSweepWithFewDescriptors(t *testing.T) {
	w := newWorld(t)
	for d := range 100 {
		w.do(fmt.Sprintf("file ws/m/d%02d/f x", d))
	}
	o, err := w.set(false).Open(Ref{0, "m"}, Dir)
	must(t, err)
	defer o.Close()
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	limit := uint64(0)
	for free := 0; free < 6; limit++ { // six more may be open, whatever is open already
		if _, err := unix.FcntlInt(uintptr(limit), unix.F_GETFD, 0); err != nil {
			free++
		}
	}
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: was.Max}))
	defer func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) }()
	told := 0
	err = o.Sweep(ctx(), Sweep{Workers: 2, Course: Course{Visit: taking, Failed: func(rel string, err error) { t.Errorf("%s: %v", rel, err) }},
		Work: func(_ int, r *Run) (func() error, int) { return func() error { told += r.Len(); return nil }, 0 }})
	if err != nil || told != 100 {
		t.Errorf("%d of 100 files, %v", told, err)
	}
}

// G43: a sweep that is asked to end reads no further block, opens no further file and visits few further entries, whatever
// it is at.
func TestG43SearchStopsWhenAsked(t *testing.T) {
	w := newWorld(t)
	w.do("mkdir ws/big", "mkdir ws/many")
	const block = 64 << 10
	for n := range 4 {
		f := w.path(fmt.Sprintf("ws/big/%d", n))
		must(t, os.WriteFile(f, nil, 0o644))
		must(t, os.Truncate(f, 256*block))
	}
	for n := range 500 {
		w.do(fmt.Sprintf("file ws/many/%03d x", n))
	}
	s := w.set(false)
	open := func(p string) *Object {
		o, err := s.Open(Ref{0, p}, Dir)
		must(t, err)
		t.Cleanup(func() { o.Close() })
		return o
	}
	for _, workers := range []int{1, 4} {
		// in the middle of a file
		ctx, cancel := context.WithCancel(ctx())
		after := 0
		err := open("big").Sweep(ctx, Sweep{Workers: workers, Course: Course{Visit: taking}, Work: func(_ int, r *Run) (func() error, int) {
			b := make([]byte, block)
			f, err := r.Open(0)
			must(t, err)
			_, err = f.Read(b)
			must(t, err)
			cancel()
			for err == nil {
				if _, err = f.Read(b); err == nil {
					after++
				}
			}
			if _, err := r.Open(1); err == nil {
				after++
			}
			return func() error { after++; return nil }, 0
		}})
		if rootbound.ReasonOf(err) != rootbound.Cancelled || after != 0 {
			t.Errorf("in a file, %d workers: %v, %d blocks, files or results after the end", workers, err, after)
		}

		// among the entries of a directory
		ctx, cancel = context.WithCancel(context.Background())
		seen := 0
		err = open("many").Sweep(ctx, Sweep{Workers: workers, Course: Course{Visit: func(n *Node) (Step, error) {
			if seen++; seen == 100 {
				cancel()
			}
			return Take, nil
		}}, Work: readAll(&[]string{})})
		if rootbound.ReasonOf(err) != rootbound.Cancelled || seen > 164 {
			t.Errorf("in a directory, %d workers: %v, %d entries", workers, err, seen)
		}
	}

	// among entries of a walk that reads no files, each of which may be dear to judge
	walked, stop := context.WithCancel(ctx())
	seen := 0
	err := open("many").Walk(walked, func(*Node) (Step, error) {
		if seen++; seen == 100 {
			stop()
		}
		return Over, nil
	}, nil)
	if rootbound.ReasonOf(err) != rootbound.Cancelled || seen > 108 {
		t.Errorf("in a walk: %v, %d entries", err, seen)
	}

	// while the names of a large directory are sorted
	ctx, cancel := context.WithCancel(ctx())
	l := listing{names: []string{strings.Repeat("0123456789abcdef", 1<<10)}}
	for n := range uint32(1 << 20) {
		l.sorted = append(l.sorted, dirent{off: n * 2654435761 % 16000, len: 12})
	}
	cancel()
	if err := (&reader{ctx: ctx}).sort(&l); rootbound.ReasonOf(err) != rootbound.Cancelled {
		t.Errorf("sorting a large directory: %v", err)
	}
}
