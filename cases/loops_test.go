//go:build linux

package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// loop is an attacker that works in the background on entries of directory handles taken when it started.
type loop struct {
	stop  atomic.Bool
	done  chan struct{}
	dirs  []int
	turns atomic.Int64
	dirty atomic.Pointer[string] // loop-create: what else it saw
	err   error
}

// entry is a name in a held directory.
type place struct {
	dir  int
	name string
}

// place holds the directory of p, which is never a link for good: where another loop just put one, the directory itself is
// meant, and a hand on what the link reaches would make this loop an attacker from outside.
func (l *loop) place(p string) (place, error) {
	for end := time.Now().Add(time.Minute); ; {
		fd, err := unix.Open(filepath.Dir(p), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			l.dirs = append(l.dirs, fd)
			return place{fd, filepath.Base(p)}, nil
		}
		if time.Now().After(end) {
			return place{}, fmt.Errorf("%s: %w", filepath.Dir(p), err)
		}
		runtime.Gosched()
	}
}

func (p place) file(name, text string) error {
	fd, err := unix.Openat(p.dir, name, unix.O_CREAT|unix.O_TRUNC|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}

func (p place) read() (string, error) {
	fd, err := unix.Openat(p.dir, p.name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	return string(b[:max(n, 0)]), err
}

// start begins a loop step and returns when it has gone round once.
func (w *world) start(s step) (*loop, error) {
	l := &loop{done: make(chan struct{})}
	turn, end, err := w.turn(l, s)
	if err != nil {
		return nil, err
	}
	var once sync.Once
	began := make(chan struct{})
	go func() {
		defer close(l.done)
		defer once.Do(func() { close(began) })
		for !l.stop.Load() {
			if l.err = turn(); l.err != nil {
				break
			}
			l.turns.Add(1)
			once.Do(func() { close(began) })
		}
		if end != nil {
			end()
		}
		for _, d := range l.dirs {
			unix.Close(d)
		}
	}()
	<-began
	return l, nil
}

// halt ends the loop in the state in which it began.
func (l *loop) halt() error {
	l.stop.Store(true)
	<-l.done
	return l.err
}

// turn gives one round of a loop, which leaves the world as it found it, and what is to be done after the last.
func (w *world) turn(l *loop, s step) (turn func() error, end func(), err error) {
	a, err := l.place(w.at(s.str(0)))
	if err != nil {
		return nil, nil, err
	}
	two := func(a, b func() error) func() error {
		return func() error {
			if err := a(); err != nil {
				return err
			}
			return b()
		}
	}
	mustRename := func(from, to place, flags uint) func() error {
		return func() error { return unix.Renameat2(from.dir, from.name, to.dir, to.name, flags) }
	}
	work := place{a.dir, ".lt-" + a.name}
	switch s.name {
	case "loop-exchange":
		b, err := l.place(w.at(s.str(1)))
		if err != nil {
			return nil, nil, err
		}
		swap := mustRename(a, b, unix.RENAME_EXCHANGE)
		return two(swap, swap), nil, nil
	case "loop-rename":
		b, err := l.place(w.at(s.str(1)))
		if err != nil {
			return nil, nil, err
		}
		return two(mustRename(a, b, 0), mustRename(b, a, 0)), nil, nil
	case "loop-relink":
		one, other := w.expand(s.str(1)), w.expand(s.str(2))
		to := func(target string) func() error {
			return two(func() error { return unix.Symlinkat(target, work.dir, work.name) }, mustRename(work, a, 0))
		}
		return two(to(other), to(one)), nil, nil
	case "loop-flip":
		target, text := w.expand(s.str(1)), w.expand(s.str(2))
		link := two(func() error { return unix.Symlinkat(target, work.dir, work.name) }, mustRename(work, a, 0))
		file := two(func() error { return work.file(work.name, text) }, mustRename(work, a, 0))
		return two(link, file), nil, nil
	case "loop-replace-hardlink":
		other, text := w.at(s.str(1)), w.expand(s.str(2))
		link := two(func() error { return unix.Linkat(unix.AT_FDCWD, other, work.dir, work.name, 0) }, mustRename(work, a, 0))
		file := two(func() error { return work.file(work.name, text) }, mustRename(work, a, 0))
		return two(link, file), nil, nil
	case "loop-create":
		text := w.expand(s.str(1))
		return func() error { return a.createOnce(l, text) }, nil, nil
	case "loop-grow":
		return w.grow(a, s.num(w.t, 1)), nil, nil
	case "loop-kind":
		kinds := []string{s.str(1), s.str(2)}
		make := func(kind string) func() error {
			return func() error {
				if err := unix.Unlinkat(a.dir, a.name, 0); err != nil && err != unix.ENOENT {
					unix.Unlinkat(a.dir, a.name, unix.AT_REMOVEDIR)
				}
				switch kind {
				case "fifo":
					return unix.Mknodat(a.dir, a.name, unix.S_IFIFO|0o644, 0)
				case "dir":
					return unix.Mkdirat(a.dir, a.name, 0o755)
				}
				return a.file(a.name, inText)
			}
		}
		return two(make(kinds[1]), make(kinds[0])), nil, nil
	case "loop-hijack-new", "loop-hijack-dirs":
		return w.hijack(l, w.at(s.str(0)), w.expand(s.str(1)), s.name == "loop-hijack-dirs")
	}
	return nil, nil, fmt.Errorf("loop %q is unknown", s.name)
}

// createOnce makes the file exclusively, checks that it still holds its text, and removes it. Somebody else's file in its
// place is removed too: it was born first.
func (p place) createOnce(l *loop, text string) error {
	fd, err := unix.Openat(p.dir, p.name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err == unix.EEXIST {
		unix.Unlinkat(p.dir, p.name, 0)
		return nil
	}
	if err == unix.ENOENT || err == unix.ENOTDIR { // the directory is away at this moment
		return nil
	}
	if err != nil {
		return err
	}
	unix.Write(fd, []byte(text))
	unix.Close(fd)
	for range 20 {
		if got, err := p.read(); err == nil && got != text {
			l.dirty.CompareAndSwap(nil, &got)
		}
	}
	unix.Unlinkat(p.dir, p.name, 0)
	return nil
}

func (w *world) grow(a place, size int64) func() error {
	chunk, total := make([]byte, size), int64(0)
	for i := range chunk {
		chunk[i] = 'g'
	}
	return func() error {
		if total >= 1<<30 {
			return nil
		}
		fd, err := unix.Openat(a.dir, a.name, unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		n, err := unix.Write(fd, chunk)
		total += int64(n)
		return err
	}
}

// hijack moves each new name in dir away and puts a link to target in its place.
func (w *world) hijack(l *loop, dir, target string, onlyDirs bool) (func() error, func(), error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	fd := int(d.Fd())
	moved := 0
	return func() error {
		if _, err := d.Seek(0, 0); err != nil {
			return err
		}
		entries, err := d.ReadDir(-1)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name()[:1] == "." || e.Type()&os.ModeSymlink != 0 || onlyDirs && !e.IsDir() {
				continue
			}
			moved++
			if unix.Renameat(fd, e.Name(), fd, ".lt-"+strconv.Itoa(moved)) == nil {
				unix.Symlinkat(target, fd, e.Name())
			}
		}
		return nil
	}, func() { d.Close() }, nil
}
