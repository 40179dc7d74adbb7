package storm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Storm is what to run. The zero values of its numbers mean: two workers, three seconds, a random seed.
type Storm struct {
	World    *World
	Victim   Victim
	Workers  int           // at most Workers
	For      time.Duration // ends the storm
	Calls    int64         // ends it earlier if not 0
	Seed     uint64
	SwapRoot bool // exchange the root's own name too
	Hides    bool // errors must not hold the world's path
	Only     []Op // all if empty
}

// Run runs the storm to its end and looks at everything afterwards.
func (s Storm) Run(ctx context.Context) (*Report, error) {
	if s.Workers == 0 {
		s.Workers = 2
	}
	if s.For == 0 {
		s.For = 3 * time.Second
	}
	for s.Seed == 0 {
		s.Seed = rand.Uint64()
	}
	if len(s.Only) == 0 {
		usual := []Op{Read, Read, Read, Read, Write, Create, Edit, Mkdir, Move, List, Stat, Tree}
		s.Only = append(append(usual, usual...), Copy, Delete, Append)
	}
	a, err := newAttackers(s.World, s.SwapRoot)
	if err != nil {
		return nil, err
	}
	defer a.close()
	ends, err := openEnds(s.World)
	if err != nil {
		return nil, err
	}
	defer ends.close()

	ctx, cancel := context.WithTimeout(ctx, s.For)
	defer cancel()
	start := time.Now()
	var attackers, workers sync.WaitGroup
	for _, set := range a.sets {
		attackers.Go(func() { a.run(ctx, set) })
	}
	done := make([]*worker, min(max(s.Workers, 1), Workers))
	for i := range done {
		done[i] = &worker{Storm: s, id: i, ends: ends, r: rand.New(rand.NewPCG(s.Seed, uint64(i))), ops: map[Op]*Count{}}
		workers.Go(func() { done[i].run(ctx, s.Calls/int64(len(done))) })
	}
	workers.Wait()
	cancel()
	attackers.Wait()

	r := &Report{Seed: s.Seed, Elapsed: time.Since(start), Swaps: a.swaps.Load(), Ops: map[Op]*Count{}}
	for _, w := range done {
		for op, c := range w.ops {
			t := r.Ops[op]
			if t == nil {
				t = &Count{}
				r.Ops[op] = t
			}
			t.OK += c.OK
			t.Denied += c.Denied
			t.Leaked += c.Leaked
		}
		r.Leaks = append(r.Leaks, w.leaks...)
	}
	diff, err := s.World.changed()
	if err != nil {
		return nil, err
	}
	r.Outside = len(diff)
	r.Leaks = append(r.Leaks, diff...)
	r.Leaks = r.Leaks[:min(len(r.Leaks), 20)]
	return r, nil
}

// ends are held handles of the inside directories in which changes must appear, and of the root.
type ends map[string]int

func openEnds(w *World) (ends, error) {
	e := ends{}
	for p, dir := range map[string]string{"": "", "d": "d", "l": "d", "abs": "d", "back": "d", "evil": "d", "a/b/c": "a/b/c", "m": "m", "in": "in"} {
		fd, err := unix.Open(w.Root+"/"+dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			e.close()
			return nil, err
		}
		e[p] = fd
	}
	return e, nil
}

func (e ends) close() {
	for _, fd := range e {
		unix.Close(fd)
	}
}

type worker struct {
	Storm
	id    int
	n     int
	ends  ends
	r     *rand.Rand
	ops   map[Op]*Count
	leaks []string
}

func (w *worker) run(ctx context.Context, calls int64) {
	for n := int64(0); ctx.Err() == nil && (calls == 0 || n < calls); n++ {
		w.one(w.Only[w.r.IntN(len(w.Only))])
	}
}

func (w *worker) pick(of ...string) string { return of[w.r.IntN(len(of))] }

// one makes a call, judges the answer, and looks for what it should have done.
func (w *worker) one(op Op) {
	w.n++
	mine := fmt.Sprintf("%s-w%d-%d", w.World.Inside, w.id, w.n)
	c := Call{Op: op}
	dir := w.pick("d", "d", "d", "l", "abs", "back", "evil", "a/b/c", "m", "in")
	name := fmt.Sprintf("n%d-%d", w.id, w.n)
	var check func() error // after success
	switch op {
	case Read, Stat:
		c.Path = w.pick("d/f", "d/../d/f", "./d//sub/../f", "a/b/c/d/e/f", "x", "y", "l/f", "abs/f", "back/f", "m/f", "d/sub/inner",
			"l/sub/inner", "evil/f", "xevil", "alive", "in/keep")
	case List, Tree:
		c.Path = w.pick("d", "l", "abs", "a/b/c", "a/b", ".", "m", "in", "evil")
	case Write:
		c.Path, c.Text = dir+fmt.Sprintf("/w%d", w.id), mine
		check = func() error { return w.holds(dir, fmt.Sprintf("w%d", w.id), mine) }
	case Create:
		c.Path, c.Text = dir+"/"+name, mine
		check = func() error { return w.holds(dir, name, mine) }
		defer func() { _ = unix.Unlinkat(w.ends[dir], name, 0) }()
	case Mkdir:
		if dir == "m" { // while m is away a tool that makes parents would make another one, and m could not come back
			dir = "d"
		}
		c.Path = dir + "/" + name
		check = func() error { return w.isDir(dir, name) }
		defer func() { _ = unix.Unlinkat(w.ends[dir], name, unix.AT_REMOVEDIR) }()
	case Edit:
		dir = w.pick("d", "d", "l", "abs", "back", "evil")
		file := fmt.Sprintf("e%d", w.id)
		c.Path, c.Old, c.New = dir+"/"+file, "tok", "tik"
		if b, _ := w.text(dir, file); bytes.HasPrefix(b, []byte("tik")) {
			c.Old, c.New = "tik", "tok"
		}
		check = func() error { return w.holds(dir, file, c.New+" "+w.World.Inside) }
	case Move:
		from := fmt.Sprintf("s%d", w.id)
		if err := w.put("d", from, mine); err != nil {
			return
		}
		to := w.pick("in", "d", "l", "m", "a/b/c")
		c.Path, c.To = w.pick("d", "d", "evil", "l")+"/"+from, to+"/"+name
		check = func() error { return w.holds(to, name, mine) }
		defer func() {
			_ = unix.Unlinkat(w.ends["d"], from, 0)
			_ = unix.Unlinkat(w.ends[to], name, 0)
		}()
	case Copy:
		from, inner := "keep", ""
		c.Path = "in/keep"
		if w.r.IntN(2) == 0 {
			from, inner = "sub", "/inner"
			c.Path = w.pick("d", "d", "evil", "l", "abs") + "/" + from
		}
		to := w.pick("in", "d", "l", "m", "a/b/c")
		c.To = to + "/" + name
		check = func() error { return w.holds(to, name+inner, "tok "+w.World.Inside) }
		defer func() {
			_ = unix.Unlinkat(w.ends[to], name+"/inner", 0)
			_ = unix.Unlinkat(w.ends[to], name, unix.AT_REMOVEDIR)
			_ = unix.Unlinkat(w.ends[to], name, 0)
		}()
	case Delete:
		tree := fmt.Sprintf("t%d", w.id) // it exists outside too
		_ = unix.Mkdirat(w.ends["d"], tree, 0o755)
		if err := w.put("d", tree+"/x", mine); err != nil {
			return
		}
		c.Path = w.pick("d", "d", "d", "evil", "l", "abs", "back") + "/" + tree
		if w.r.IntN(2) == 0 {
			c.Path += "/x"
		}
		check = func() error {
			if _, err := w.text("d", c.Path[strings.IndexByte(c.Path, '/')+1:]); err == nil {
				return errors.New("it is still there")
			}
			return nil
		}
	case Append:
		file := fmt.Sprintf("p%d", w.id)
		if err := w.put("d", file, w.World.Inside); err != nil {
			return
		}
		c.Path, c.Text = w.pick("d", "d", "d", "evil", "l", "abs", "back")+"/"+file, mine
		check = func() error { return w.holds("d", file, w.World.Inside+mine) }
	}
	answer, err := w.Victim.Do(c)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	count := w.ops[op]
	if count == nil {
		count = &Count{}
		w.ops[op] = count
	}
	what := ""
	if err != nil {
		count.Denied++
		answer = append(answer, err.Error()...)
		if w.Hides && strings.Contains(err.Error(), w.World.Dir) {
			what = "told the host's path: " + err.Error()
		}
	} else {
		count.OK++
		if op == Read && !bytes.Contains(answer, []byte(w.World.Inside)) {
			what = fmt.Sprintf("gave other than the inside text: %.200q", answer)
		}
		if check != nil {
			if err := check(); err != nil {
				what = "acknowledged a change that is not there: " + err.Error()
			}
		}
	}
	if bytes.Contains(answer, []byte(w.World.Outside)) {
		what = fmt.Sprintf("showed what is outside: %.200q", answer)
	}
	if what != "" {
		count.Leaked++
		if len(w.leaks) < 20 {
			w.leaks = append(w.leaks, fmt.Sprintf("%+v %s", c, what))
		}
	}
}

// text reads by a held handle, never by a path from the top.
func (w *worker) text(dir, name string) ([]byte, error) {
	fd, err := unix.Openat(w.ends[dir], name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	b := make([]byte, 4096)
	n, _ := f.Read(b)
	return b[:n], nil
}

func (w *worker) holds(dir, name, text string) error {
	b, err := w.text(dir, name)
	if err != nil {
		return fmt.Errorf("%s in %s: %w", name, dir, err)
	}
	if !bytes.HasPrefix(b, []byte(text)) {
		return fmt.Errorf("%s in %s holds %.100q", name, dir, b)
	}
	return nil
}

func (w *worker) isDir(dir, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(w.ends[dir], name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	return nil
}

func (w *worker) put(dir, name, text string) error {
	fd, err := unix.Openat(w.ends[dir], name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}
