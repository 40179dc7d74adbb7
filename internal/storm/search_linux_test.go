package storm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/search"
	"github.com/rootbound/rootbound/search/match"
)

// searches is how many run at once.
const searches = 100

// searchTime is how long the storm blows: RB_STORM_SECONDS, a minute with RB_LONG, else a little.
func searchTime(t *testing.T) time.Duration {
	if s := os.Getenv("RB_STORM_SECONDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(n) * time.Second
	}
	if os.Getenv("RB_LONG") != "" {
		return time.Minute
	}
	return 1500 * time.Millisecond
}

// rough are attacks on whole trees: one that is deleted and made again, one that changes places with a link into a loop, one
// that goes from directory to directory.
func rough(t *testing.T, w *World) func(context.Context) (swaps int64) {
	t.Helper()
	tree := func(at string) error {
		for _, f := range []string{"one", "sub/two", "sub/deep/three"} {
			p := filepath.Join(w.Root, at, f)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(p, []byte("tok "+w.Inside), 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	at := func(p string) string { return filepath.Join(w.Root, p) }
	for _, err := range []error{tree("churn"), tree("ring/tree"), tree("from/tree"), os.Mkdir(at("to"), 0o755), os.Symlink("..", at("ring/loop")),
		os.Symlink("self", at("ring/self"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return func(ctx context.Context) (swaps int64) {
		for n := 0; ctx.Err() == nil; n++ {
			errs := []error{
				unix.Renameat2(unix.AT_FDCWD, at("ring/tree"), unix.AT_FDCWD, at("ring/loop"), unix.RENAME_EXCHANGE),
				os.Rename(at([]string{"from", "to"}[n%2]+"/tree"), at([]string{"to", "from"}[n%2]+"/tree")),
			}
			if n%8 == 0 {
				errs = append(errs, os.RemoveAll(at("churn")), tree("churn"))
			}
			for _, err := range errs {
				if err != nil {
					t.Error(err)
					return swaps
				}
				swaps++
			}
		}
		return swaps
	}
}

// patience is how much longer a storm may take to see what it must.
const patience = time.Minute

// seek is one search; answer is all that its caller would see.
type seek func(n int) (answer string, err error)

// blow runs searches while directories are exchanged, moved out, deleted and made into loops, and counts the answers, those
// that hold something of the outside, and the attacks. It ends after the time long, or when enough is seen, at the latest
// after that and patience: how much a busy machine gets done in a time is no claim of the tests.
func blow(t *testing.T, w *World, long time.Duration, enough func(leaks, swaps int64) bool, one seek) (answers, leaks, swaps int64) {
	t.Helper()
	a, err := newAttackers(w, false)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	wild := rough(t, w)
	ctx, cancel := context.WithTimeout(context.Background(), long+patience)
	defer cancel()
	began := time.Now()
	var attacking, seeking sync.WaitGroup
	for _, set := range a.sets {
		attacking.Go(func() { a.run(ctx, set) })
	}
	attacking.Go(func() { a.swaps.Add(wild(ctx)) })
	var given, bad atomic.Int64
	for n := range searches {
		seeking.Go(func() {
			for i := 0; i == 0 || ctx.Err() == nil; i++ {
				answer, err := one(n + i)
				if err != nil {
					answer += err.Error()
				}
				given.Add(1)
				if at := strings.Index(answer, w.Outside); at >= 0 {
					if bad.Add(1) == 1 {
						t.Logf("the first leak: %.300q", answer[max(0, at-100):])
					}
				}
				if time.Since(began) >= long && enough(bad.Load(), a.swaps.Load()) {
					cancel()
				}
			}
		})
	}
	seeking.Wait()
	cancel()
	attacking.Wait()
	if diff, err := w.changed(); err != nil || len(diff) > 0 {
		t.Error(err, diff)
	}
	return given.Load(), bad.Load(), a.swaps.Load()
}

// TestSearchStorm: while directories are exchanged with links to outside, moved out, deleted and made into loops, a hundred
// searches at once give no name and no byte of what is outside, and end.
func TestSearchStorm(t *testing.T) {
	w, err := NewWorld(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := authority.Open([]rootbound.Project{{ID: "p", Dir: w.Root, Rights: rootbound.ReadOnly}}, authority.CeilingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := authority.New(c, authority.Options{})
	defer a.Close()
	u, err := a.Acquire(context.Background(), false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, done := authority.With(context.Background(), u)
	defer func() { done(); u.Release() }()
	g := guard.New(guard.Options{Workers: 2 * searches})
	m, err := match.Compile("tok|OUT|in-", match.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := search.Compile("**")
	if err != nil {
		t.Fatal(err)
	}
	before := descriptors()
	var hits atomic.Int64
	enough := func(_, swaps int64) bool { return hits.Load() >= 10*searches && swaps >= 10 }
	answers, leaks, swaps := blow(t, w, searchTime(t), enough, func(n int) (answer string, err error) {
		op := rootbound.OpSearchContent
		if n%3 == 0 {
			op = rootbound.OpSearch
		}
		path := []string{".", ".", "d", "a/b", "ring", "m", "l", "evil", "churn"}[n%9]
		err = g.Do(ctx, guard.Request{Op: op, Path: path}, func(ctx context.Context, on *guard.Target) error {
			if op == rootbound.OpSearch {
				r, err := search.Files(ctx, reading{on, n/3%3 - 1}, all, search.Options{Limit: 1000})
				answer = fmt.Sprint(r)
				return err
			}
			r, err := search.Content(ctx, on, m, search.ContentOptions{Limit: 1000, Context: n % 2, IncludeIgnored: n%4 == 0})
			answer = fmt.Sprint(r)
			hits.Add(int64(r.Hits))
			return err
		})
		return answer, err
	})
	t.Logf("%d answers with %d hits, %d attacks, %d leaks", answers, hits.Load(), swaps, leaks)
	if leaks > 0 {
		t.Errorf("%d of %d answers hold what is outside", leaks, answers)
	}
	if hits.Load() < 10*searches || swaps < 10 {
		t.Errorf("no storm: %d answers, %d hits, %d attacks", answers, hits.Load(), swaps)
	}
	if after := descriptors(); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// reading walks with so many goroutines that read directories ahead, from its first directory on.
type reading struct {
	*guard.Target
	readers int
}

func (r reading) Tour(ctx context.Context, c beneath.Course) error {
	c.Readers = r.readers * 2
	return r.Target.Tour(ctx, c)
}

// descriptors counts those of this process, without /proc.
func descriptors() (n int) {
	for fd := range 4096 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			n++
		}
	}
	return n
}

// TestSearchStormIsOne: a search by paths leaks in the same storm.
func TestSearchStormIsOne(t *testing.T) {
	w, err := NewWorld(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	leaked := func(leaks, _ int64) bool { return leaks > 0 }
	if _, leaks, swaps := blow(t, w, 0, leaked, func(int) (string, error) { return byPaths(w.Root) }); leaks == 0 {
		t.Fatalf("a search by paths leaks nothing in %d attacks", swaps)
	}
}

// byPaths is the usual search: it walks, asks of each file whether its path lies inside, and reads it.
func byPaths(root string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if real, err := filepath.EvalSymlinks(p); err != nil || !strings.HasPrefix(real, root+"/") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err == nil {
			fmt.Fprintln(&b, p, string(text))
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return b.String(), err
}
