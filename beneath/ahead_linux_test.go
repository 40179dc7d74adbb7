package beneath

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig"
)

// wait waits until nobody reads ahead what was asked for, or will.
func (a *ahead) wait() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.t.levels {
		for _, e := range l.early {
			for (e.state == waiting || e.state == reading) && !a.over.Load() {
				a.done.Wait()
			}
		}
	}
}

// states says how it stands with the directories that were asked for.
func (a *ahead) states() map[string]earlyState {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]earlyState{}
	for _, l := range a.t.levels {
		for _, e := range l.early {
			all[e.name] = e.state
		}
	}
	return all
}

// tour is all that a walk tells; visit may say what to do with an entry.
func tour(t testing.TB, s *Set, p string, readers int, visit func(*Node) Step) (told []string) {
	t.Helper()
	o, err := s.Open(Ref{0, p}, Dir)
	must(t, err)
	defer o.Close()
	say := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	err = o.Tour(ctx(), Course{
		Readers: readers,
		Ahead:   func(*Node) bool { return true },
		Enter:   func(d *Directory) { say("enter %s", d.Rel()) },
		Leave:   func() { say("leave") },
		Failed:  func(rel string, err error) { say("failed %s: %s", rel, outcome(err)) },
		Visit: func(n *Node) (Step, error) {
			step := visit(n)
			say("visit %s %s %d %d", n.Rel(), n.Type(), n.Depth(), step)
			return step, nil
		},
	})
	say("%s", outcome(err))
	return told
}

// TestAheadTellsTheSame: whoever reads the directories, a walk tells the same, entry by entry, and nothing stays open.
func TestAheadTellsTheSame(t *testing.T) {
	const trees = 12
	r := rand.New(rand.NewPCG(3, 14))
	for n := range trees {
		w := newWorld(t)
		dirs := []string{"ws"}
		for range 60 {
			up := dirs[r.IntN(len(dirs))]
			if n%4 == 0 { // deeper than a walk holds descriptors
				up = dirs[max(0, len(dirs)-1-r.IntN(2))]
			}
			dirs = append(dirs, fmt.Sprintf("%s/%d", up, r.IntN(100)))
			must(t, os.MkdirAll(w.path(dirs[len(dirs)-1]), 0o755))
			for range r.IntN(6) {
				w.do(fmt.Sprintf("file %s/f%d x", dirs[r.IntN(len(dirs))], r.IntN(30)))
			}
		}
		w.do("link ws/link d", "link ws/astray $OUT")
		for range 80 { // more than the reader leaves to the descriptor it read by
			w.do(fmt.Sprintf("file %s/many/%d x", dirs[7], r.IntN(1000)))
		}
		s := w.set(false)
		if n%3 == 0 {
			s = w.set(false, "ws:nomounts")
		}
		if id, err := os.Stat(w.path(dirs[3])); n%2 == 0 && err == nil {
			s.marks = []ObjectID{{Dev: uint64(id.Sys().(*syscall.Stat_t).Dev), Ino: id.Sys().(*syscall.Stat_t).Ino}}
		}
		seed, end := r.Uint64(), 1+r.IntN(300)
		var begun bool
		steps := func() func(*Node) Step {
			r, seen := rand.New(rand.NewPCG(seed, 1)), 0
			return func(n *Node) Step {
				if a := n.t.ahead; a != nil {
					begun = begun || a.begun > 0 // it is written by this goroutine
				}
				switch seen++; {
				case seen == end:
					return Stop
				case r.IntN(6) == 0:
					return Over
				}
				return Into
			}
		}
		before := openFDs(t)
		want := tour(t, s, "", -1, steps())
		if begun {
			t.Fatal("a walk that was told not to read ahead did")
		}
		for readers := 1; readers <= 3; readers++ {
			if got := tour(t, s, "", readers, steps()); !slices.Equal(got, want) {
				t.Errorf("tree %d, %d readers:\n%s\nwant\n%s", n, readers, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		if !begun {
			t.Error("nobody read ahead")
		}
		if after := openFDs(t); after != before {
			t.Errorf("%d descriptors, %d before", after, before)
		}
	}
}

// changed waits until a change of a directory shows in its times, whose clock is coarse.
func changed(t *testing.T, dir string, change func()) {
	t.Helper()
	var was, now unix.Stat_t
	must(t, unix.Stat(dir, &was))
	for change(); ; {
		must(t, unix.Stat(dir, &now))
		if now.Ctim != was.Ctim {
			return
		}
		must(t, os.Chtimes(dir, time.Time{}, time.Now()))
	}
}

// TestAheadTakesWhatStandsThere: what was read ahead counts only while it is what the walk would open, and as it was read.
func TestAheadTakesWhatStandsThere(t *testing.T) {
	alter := func(w *world) {
		w.do("rm ws/x/gone", "mv ws/x/out out/moved", "mv ws/x/link out/linked", "link ws/x/link $OUT", "mv ws/x/other out/other", "mv out/sub ws/x/other")
		changed(t, w.path("ws/x/more"), func() { w.do("file ws/x/more/g x") })
		changed(t, w.path("ws/x/less"), func() { w.do("rm ws/x/less/f") })
		w.do("mv ws/x/file out/file", "file ws/x/file x")
		changed(t, w.path("ws/x/back"), func() { // and its time set back, as it can be
			was, err := os.Stat(w.path("ws/x/back"))
			must(t, err)
			w.do("mv ws/x/back/f ws/x/back/g")
			must(t, os.Chtimes(w.path("ws/x/back"), time.Time{}, was.ModTime()))
		})
	}
	told := map[int][]string{}
	for _, readers := range []int{-1, 1, 3} {
		w := newWorld(t)
		for _, d := range []string{"a", "back", "file", "gone", "less", "link", "more", "other", "out", "same"} {
			w.do("file ws/x/" + d + "/f x")
		}
		told[readers] = tour(t, w.set(false), "x", readers, func(n *Node) Step {
			if n.Rel() != "a" {
				return Into
			}
			if a := n.t.ahead; a != nil {
				a.wait()
				for name, state := range a.states() {
					if state != ready {
						t.Errorf("%s was not read ahead: %d", name, state)
					}
				}
				if n := len(a.states()); n != 10 {
					t.Errorf("%d directories were read ahead", n)
				}
			}
			alter(w)
			return Into
		})
	}
	for _, readers := range []int{1, 3} {
		if !slices.Equal(told[readers], told[-1]) {
			t.Errorf("%d readers:\n%s\nwant\n%s", readers, strings.Join(told[readers], "\n"), strings.Join(told[-1], "\n"))
		}
	}
}

// TestAheadIsTakenWhileItIsBegun: a walk comes to directories in the moment in which somebody begins to read them. The race
// detector has to agree.
func TestAheadIsTakenWhileItIsBegun(t *testing.T) {
	w := newWorld(t)
	for d := range 8 {
		w.do(fmt.Sprintf("mkdir ws/x/%d/y", d))
	}
	o, err := w.set(false).Open(Ref{0, "x"}, Dir)
	must(t, err)
	defer o.Close()
	before := openFDs(t)
	for range 1000 {
		visits := 0
		must(t, o.Tour(ctx(), Course{Readers: 2, Ahead: func(*Node) bool { return true }, Visit: func(*Node) (Step, error) { visits++; return Into, nil }}))
		if visits != 16 {
			t.Fatalf("%d entries of 16", visits)
		}
	}
	if after := openFDs(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// TestAheadOpensWhatItMay: directories that the walk does not want, that Go forbids or that a mount covers are not opened
// before their turn.
func TestAheadOpensWhatItMay(t *testing.T) {
	if !rig.OwnMounts(t) {
		return
	}
	w := newWorld(t)
	w.do("file ws/x/a/f x", "file ws/x/b/f x", "file ws/x/c/f x", "mkdir ws/x/m")
	w.mount("none", "ws/x/m", "tmpfs", 0, "")
	o, err := w.set(false).Open(Ref{0, "x"}, Dir)
	must(t, err)
	defer o.Close()
	boom := errors.New("boom")
	for _, c := range []struct {
		err  error
		want map[string]earlyState
	}{
		{nil, map[string]earlyState{"a": ready, "c": ready, "m": failed}},
		{boom, map[string]earlyState{"a": failed, "c": failed, "m": failed}},
	} {
		var got map[string]earlyState
		files := 0
		must(t, o.Tour(ctx(), Course{Readers: 2, Go: func() error { return c.err }, Ahead: func(n *Node) bool { return n.Name() != "b" }, Visit: func(n *Node) (Step, error) {
			if got == nil {
				n.t.ahead.wait()
				got = n.t.ahead.states()
			}
			if n.Name() == "f" {
				files++
			}
			return Into, nil
		}}))
		if fmt.Sprint(got) != fmt.Sprint(c.want) || files != 3 {
			t.Errorf("%v: %v, want %v; %d files", c.err, got, c.want, files)
		}
	}
}

// TestAheadIsBounded: few directories are read ahead and few bytes; a large directory is begun, and the walk reads the rest.
func TestAheadIsBounded(t *testing.T) {
	w := newWorld(t)
	name := strings.Repeat("n", 200)
	for d := range 50 {
		for f := range 20 + d/48*300 {
			w.do(fmt.Sprintf("file ws/x/%02d/%s%d x", d, name, f))
		}
	}
	s := w.set(false)
	want := tour(t, s, "x", -1, func(*Node) Step { return Into })
	for _, room := range []int64{maxAhead, 10_000, 1, 0} {
		o, err := s.Open(Ref{0, "x"}, Dir)
		must(t, err)
		before := openFDs(t)
		most, parts, entries := 0, int64(0), 0
		must(t, o.Tour(ctx(), Course{
			Readers: 2, Ahead: func(*Node) bool { return true },
			Enter: func(d *Directory) {
				if d.Rel() == "" {
					d.t.ahead.room.Store(room)
				}
			},
			Visit: func(n *Node) (Step, error) {
				if entries++; n.Type().IsDir() {
					a := n.t.ahead
					a.wait()
					most, parts = max(most, len(a.states())), max(parts, room-a.room.Load())
					if left := room - a.room.Load(); left < 0 {
						t.Errorf("%d bytes more than there were", -left)
					}
				}
				return Into, nil
			},
		}))
		if most == 0 || most > queueLength() || parts > room+2*(1<<partBits) {
			t.Errorf("%d directories, %d bytes of %d", most, parts, room)
		}
		visits := 0
		for _, l := range want {
			if strings.HasPrefix(l, "visit") {
				visits++
			}
		}
		if entries != visits {
			t.Errorf("with room for %d: %d entries of %d", room, entries, visits)
		}
		if after := openFDs(t); after != before {
			t.Errorf("%d descriptors, %d before", after, before)
		}
		o.Close()
	}
}

// TestAheadEnds: a walk that is cancelled, fails or panics leaves nobody behind, and who was told of its beginning is told of
// its end.
func TestAheadEnds(t *testing.T) {
	w := newWorld(t)
	for d := range 40 {
		w.do(fmt.Sprintf("file ws/x/%02d/y/f x", d))
	}
	o, err := w.set(false).Open(Ref{0, "x"}, Dir)
	must(t, err)
	defer o.Close()
	boom := errors.New("boom")
	before := openFDs(t)
	for _, c := range []struct {
		at   string
		want string
	}{{"", "ok"}, {"00", "boom"}, {"05/y", "panic"}, {"20", "cancelled"}, {"39/y/f", "stop"}} {
		wide, narrowed := 0, 0
		on, cancel := context.WithCancel(ctx())
		var a *ahead
		got := func() (got string) {
			defer func() {
				if recover() != nil {
					got = "panic"
				}
			}()
			err := o.Tour(on, Course{Ahead: func(*Node) bool { return true }, Widen: func() func() { wide++; return func() { narrowed++ } }, Visit: func(n *Node) (Step, error) {
				a = n.t.ahead
				if n.Rel() != c.at {
					return Into, nil
				}
				switch c.want {
				case "boom":
					return Stop, boom
				case "panic":
					panic("boom")
				case "cancelled":
					cancel()
				case "stop":
					return Stop, nil
				}
				return Into, nil
			}})
			switch {
			case err == boom:
				return "boom"
			case c.want == "stop" && err == nil:
				return "stop"
			case rootbound.ReasonOf(err) == rootbound.Cancelled:
				return "cancelled"
			}
			return outcome(err)
		}()
		cancel()
		if got != c.want || wide != narrowed {
			t.Errorf("at %q: %s, want %s; wide %d times, narrow %d", c.at, got, c.want, wide, narrowed)
		}
		if few := c.at == "00" || c.at == "05/y"; few == (wide > 0) {
			t.Errorf("at %q: wide %d times", c.at, wide)
		}
		a.mu.Lock()
		if len(a.queue) > 0 || a.left != queueLength() || a.room.Load() != maxAhead {
			t.Errorf("at %q: %d in the queue, %d of %d directories left, %d bytes", c.at, len(a.queue), a.left, queueLength(), a.room.Load())
		}
		a.mu.Unlock()
		if after := openFDs(t); after != before {
			t.Errorf("at %q: %d descriptors, %d before", c.at, after, before)
		}
	}
}

// TestAheadKeepsAPanic: Go may panic where a directory is read ahead, on whatever goroutine: it is who walks that panics, and
// nobody and nothing is left behind.
func TestAheadKeepsAPanic(t *testing.T) {
	w := newWorld(t)
	for d := range 20 {
		w.do(fmt.Sprintf("file ws/x/%02d/y/f x", d))
	}
	o, err := w.set(false).Open(Ref{0, "x"}, Dir)
	must(t, err)
	defer o.Close()
	before := openFDs(t)
	for at := range int64(12) { // it is asked before a directory is opened, and before each part of it
		for readers := 1; readers <= 3; readers++ {
			var asked atomic.Int64
			wide, narrowed := 0, 0
			var a *ahead
			got := func() (got any) {
				defer func() { got = recover() }()
				_ = o.Tour(ctx(), Course{
					Readers: readers,
					Ahead:   func(*Node) bool { return true },
					Widen:   func() func() { wide++; return func() { narrowed++ } },
					Go: func() error {
						if asked.Add(1) > at {
							panic("boom")
						}
						return nil
					},
					Visit: func(n *Node) (Step, error) {
						a = n.t.ahead
						a.wait()
						return Into, nil
					},
				})
				return nil
			}()
			if got != "boom" || wide != narrowed {
				t.Errorf("%d readers, asked %d times before: %v; wide %d times, narrow %d", readers, at, got, wide, narrowed)
			}
			if len(a.queue) > 0 || a.left != queueLength() || a.room.Load() != maxAhead {
				t.Errorf("%d readers, asked %d times before: %d in the queue, %d of %d directories left, %d bytes", readers, at, len(a.queue), a.left, queueLength(), a.room.Load())
			}
			if after := openFDs(t); after != before {
				t.Fatalf("%d readers, asked %d times before: %d descriptors, %d before", readers, at, after, before)
			}
		}
	}
}
