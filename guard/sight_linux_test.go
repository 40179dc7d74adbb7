package guard_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/watch"
	"golang.org/x/sys/unix"
)

// heard collects the events of a watch.
type heard struct {
	mu   sync.Mutex
	cond sync.Cond
	all  []watch.Event
	last watch.Event
}

func (l *heard) add(e watch.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
	l.cond.Broadcast()
}

// until waits for one of some events, which is last then, and gives all that came before it.
func (l *heard) until(t testing.TB, want ...watch.Event) []watch.Event {
	t.Helper()
	end := time.Now().Add(time.Minute)
	late := time.AfterFunc(time.Minute, func() { l.mu.Lock(); l.cond.Broadcast(); l.mu.Unlock() })
	defer late.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if i := slices.IndexFunc(l.all, func(e watch.Event) bool { return slices.Contains(want, e) }); i >= 0 {
			got := l.all[:i]
			l.last = l.all[i]
			l.all = l.all[i+1:]
			return got
		}
		if !time.Now().Before(end) {
			t.Fatalf("no %+v in %+v", want, l.all)
		}
		l.cond.Wait()
	}
}

// watch begins a watch of a directory through the door.
func (h *house) watch(in *watch.Watcher, path string) (*watch.Watch, *heard) {
	h.t.Helper()
	l := &heard{}
	l.cond.L = &l.mu
	var x *watch.Watch
	must(h.t, h.do(guard.Request{Op: rootbound.OpTree, Path: path}, func(ctx context.Context, t *guard.Target) (err error) {
		x, err = in.Add(ctx, t.Object(), true, t.Sight(), l.add)
		return err
	}))
	h.t.Cleanup(x.Close)
	return x, l
}

func watcher(t testing.TB, o watch.Options) *watch.Watcher {
	t.Helper()
	in, err := watch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	return in
}

// A watch tells nothing that rules, own files, nested projects or rights hide, not even as a number, and each watch
// leaves one record.
func TestSightHidesWhatIsHidden(t *testing.T) {
	outer := rootbound.Project{ID: "p", Dir: "p", Rights: rootbound.ReadWrite, Deny: []string{"secret/**", "**/*.key"}, AllowExtensions: nil}
	inner := rootbound.Project{ID: "q", Dir: "p/q", Rights: rootbound.Read | rootbound.Write}
	var dir string
	o := guard.Options{Own: func() []guard.Own { return []guard.Own{{Path: dir + "/p/state"}} }}
	h := build(t, o, func(at string) { dir = at }, outer, inner)
	h.mkdirs("p/secret")
	h.mkdirs("p/state")
	h.mkdirs("p/.ssh")
	h.mkdirs("p/open/deep")
	h.mkdirs("p/q/sub")
	_, l := h.watch(watcher(t, watch.Options{Pending: 2, Window: time.Millisecond}), filepath.Join(h.dir, "p"))
	before := len(h.log.Records())
	for range 20 {
		for _, f := range []string{"secret/a", "a.key", "open/b.KEY", "open/deep/c.key", "open/.env", ".ssh/id", "state/log", "q/f", "q/sub/f", "open/.ssh/x"} {
			h.file("p/"+f, "x")
		}
	}
	must(t, os.Rename(h.dir+"/p/secret", h.dir+"/p/.aws"))
	must(t, os.Rename(h.dir+"/p/q/sub", h.dir+"/p/.kube"))
	must(t, os.Remove(h.dir+"/p/a.key"))
	h.file("p/open/last", "x")
	for _, e := range l.until(t, watch.Event{Rel: "open/last", Kind: watch.Changed}) {
		t.Errorf("told %+v", e)
	}
	if n := len(h.log.Records()); n != before {
		t.Errorf("%d records for events", n-before)
	}
	var begun []decision.Record
	for _, r := range h.log.Records() {
		if r.Operation == rootbound.OpTree && r.Phase == decision.Decided {
			begun = append(begun, r)
		}
	}
	if len(begun) != 1 {
		t.Errorf("%d records of one watch", len(begun))
	}
}

// What opens a directory that rules hide, by another name, opens it to the watch too, and the other way round.
func TestSightFollowsNames(t *testing.T) {
	p := one(rootbound.ReadWrite)
	p.Deny = []string{"hidden/**"}
	h := build(t, guard.Options{}, nil, p)
	h.file("p/hidden/d/f", "1")
	_, l := h.watch(watcher(t, watch.Options{Window: -1}), ".")
	h.file("p/hidden/d/f", "2")
	must(t, os.Rename(h.dir+"/p/hidden", h.dir+"/p/open"))
	for _, e := range l.until(t, watch.Event{Rel: "open/d/f", Kind: watch.Changed}) {
		if strings.HasPrefix(e.Rel, "hidden") {
			t.Errorf("told %+v", e)
		}
	}
	h.file("p/open/d/g", "3")
	l.until(t, watch.Event{Rel: "open/d/g", Kind: watch.Changed})
	must(t, os.Rename(h.dir+"/p/open", h.dir+"/p/hidden"))
	l.until(t, watch.Event{Rel: "open", Kind: watch.Gone})
	h.file("p/hidden/d/h", "4")
	h.file("p/last", "x")
	for _, e := range l.until(t, watch.Event{Rel: "last", Kind: watch.Changed}) {
		if strings.HasPrefix(e.Rel, "hidden") || strings.HasSuffix(e.Rel, "h") {
			t.Errorf("told %+v", e)
		}
	}
}

// After the end of a generation nothing is told; under the next one, what happened meanwhile is one change, if any of it
// may be seen.
func TestSightEndsWithTheGeneration(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadWrite))
	h.file("p/d/f", "1")
	x, l := h.watch(watcher(t, watch.Options{Window: -1}), "d")
	silent, ls := h.watch(watcher(t, watch.Options{Window: -1}), "d")
	<-h.auth.Invalidate(rootbound.GenerationStale)
	h.file("p/d/.env", "hidden")
	must(t, os.MkdirAll(h.dir+"/p/d/.ssh/new", 0o755))
	renew := func(x *watch.Watch) {
		must(t, h.do(guard.Request{Op: rootbound.OpTree, Path: "d"}, func(_ context.Context, t *guard.Target) error { return x.Resume(t.Object(), t.Sight()) }))
	}
	renew(silent)
	h.file("p/d/now", "x")
	// by its name, or with what happened before the watch went on
	if told := ls.until(t, watch.Event{Rel: "now", Kind: watch.Changed}, watch.Event{Kind: watch.Changed}); len(told) > 0 {
		t.Errorf("told %+v", told)
	}
	h.file("p/d/new/deep/f", "2")
	l.mu.Lock()
	if len(l.all) > 0 {
		t.Errorf("told %+v of an ended generation", l.all)
	}
	l.mu.Unlock()
	renew(x)
	// One change of all that was read before; what is read later is told by itself. What is hidden never is.
	for _, e := range l.until(t, watch.Event{Kind: watch.Changed}, watch.Event{Rel: "new", Kind: watch.Changed}) {
		if e.Kind != watch.Changed || e.Rel != "now" && !strings.HasPrefix(e.Rel, "new/") {
			t.Errorf("told %+v", e)
		}
	}
	for told, n := false, 0; !told; n++ {
		h.file("p/d/new/deep/g", strings.Repeat("3", n+1))
		whole, own := watch.Event{Kind: watch.Changed}, watch.Event{Rel: "new/deep/g", Kind: watch.Changed}
		l.until(t, whole, own)
		l.mu.Lock()
		told = l.last == own
		l.mu.Unlock()
		if n == 2 && !told { // once with what the look at the tree took up
			t.Fatal("what is watched again is not told by its name")
		}
	}
}

// A project whose path leads elsewhere ends the watch.
func TestSightOfAReplacedRoot(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadWrite))
	h.mkdirs("p/d")
	h.mkdirs("other/d")
	_, l := h.watch(watcher(t, watch.Options{Window: -1}), "d")
	must(t, unix.Renameat2(unix.AT_FDCWD, h.dir+"/p", unix.AT_FDCWD, h.dir+"/other", unix.RENAME_EXCHANGE))
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { // the root is looked at once a second, when something happens
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				_ = os.WriteFile(h.dir+"/other/d/f", []byte{byte(n)}, 0o644)
			}
		}
	})
	defer func() { close(done); writer.Wait() }()
	l.until(t, watch.Event{Kind: watch.Ended, Why: rootbound.RootReplaced})
}

// BenchmarkNotify compares the time from a write to the call of a watch's function, with default rules and the root
// check, four directories deep, with that of a bare inotify program: a goroutine that blocks in read, finds the path of
// the watch in a map, joins the name to it and calls a function. Changes come one after another.
func BenchmarkNotify(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	check(b, err)
	for _, p := range []string{"/p/a/b/c/d", "/out"} {
		check(b, os.MkdirAll(dir+p, 0o755))
		check(b, os.WriteFile(dir+p+"/f", []byte("x"), 0o644))
	}
	g, ctx := door(b, rootbound.Project{ID: "p", Dir: dir + "/p", Rights: rootbound.ReadWrite})
	in := watcher(b, watch.Options{Window: -1})
	told := make(chan time.Time, 16)
	check(b, g.Do(ctx, guard.Request{Op: rootbound.OpTree, Path: "."}, func(ctx context.Context, t *guard.Target) error {
		_, err := in.Add(ctx, t.Object(), true, t.Sight(), func(watch.Event) { told <- time.Now() })
		return err
	}))
	bare, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	check(b, err)
	wd, err := unix.InotifyAddWatch(bare, dir+"/out", unix.IN_MODIFY)
	paths := map[int32]string{int32(wd): dir + "/out"}
	check(b, err)
	read, over := make(chan time.Time, 16), make(chan struct{})
	tell := func(path string) bool {
		now := time.Now()
		select {
		case read <- now:
			return strings.HasSuffix(path, "/out/f")
		default: // the last write, which nobody waits for
			return false
		}
	}
	go func() {
		defer close(over)
		for buf := make([]byte, 4096); ; {
			n, err := unix.Read(bare, buf)
			if err != nil || n < unix.SizeofInotifyEvent {
				return
			}
			name := buf[unix.SizeofInotifyEvent:n]
			if !tell(paths[int32(binary.NativeEndian.Uint32(buf))] + "/" + string(bytes.TrimRight(name, "\x00"))) {
				return
			}
		}
	}()
	one := func(p string, c chan time.Time) time.Duration {
		f, err := os.OpenFile(dir+p, os.O_WRONLY, 0)
		check(b, err)
		start := time.Now()
		_, err = f.WriteAt([]byte("y"), 0)
		check(b, err)
		took := (<-c).Sub(start)
		check(b, f.Close())
		if c == told {
			<-c // of the close
		}
		return took
	}
	var ours, rival []time.Duration
	for b.Loop() {
		for range 20 {
			rival = append(rival, one("/out/f", read))
			ours = append(ours, one("/p/a/b/c/d/f", told))
		}
	}
	b.ReportMetric(median(ours)/median(rival), "ratio")
	b.ReportMetric(median(rival), "bare-ns")
	b.ReportMetric(median(ours), "ours-ns")
	for range cap(read) + 1 {
		_ = os.WriteFile(dir+"/out/f", []byte("z"), 0o644)
	}
	<-over
	unix.Close(bare)
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
