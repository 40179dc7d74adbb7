package storm

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// attack is one change that is made over and over, and its way back.
type attack struct {
	there, back func() error
	away        bool
}

// attackers hold directories opened before the storm, so that no attack can hit a path that another one has moved.
type attackers struct {
	fds   []int
	sets  [][]attack // one goroutine each
	swaps atomic.Int64
}

// newAttackers prepares the attacks. With swapRoot the root's own name is exchanged with an outside directory too, which
// a victim may answer with root_replaced for as long as it lasts.
func newAttackers(w *World, swapRoot bool) (*attackers, error) {
	a := &attackers{}
	open := func(p string) int {
		fd, err := unix.Open(p, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			a.fds = append(a.fds, fd)
		}
		return fd
	}
	ws, b, top, park := open(w.Root), open(w.Root+"/a/b"), open(w.Dir), open(w.Dir+"/park")
	if len(a.fds) != 4 {
		a.close()
		return nil, unix.ENOENT
	}
	exchange := func(dir int, x, y string) attack {
		f := func() error { return unix.Renameat2(dir, x, dir, y, unix.RENAME_EXCHANGE) }
		return attack{there: f, back: f}
	}
	relink := func(name, inside, outside string) attack {
		to := func(target string) func() error {
			return func() error {
				_ = unix.Unlinkat(ws, ".lt-"+name, 0)
				if err := unix.Symlinkat(target, ws, ".lt-"+name); err != nil {
					return err
				}
				return unix.Renameat(ws, ".lt-"+name, ws, name)
			}
		}
		return attack{there: to(outside), back: to(inside)}
	}
	move := func(from int, name string, to int) attack {
		return attack{
			there: func() error { return unix.Renameat2(from, name, to, name, unix.RENAME_NOREPLACE) },
			back:  func() error { return unix.Renameat2(to, name, from, name, unix.RENAME_NOREPLACE) },
		}
	}
	a.sets = [][]attack{
		{exchange(ws, "d", "evil"), exchange(ws, "x", "xevil"), exchange(b, "c", "evil")},
		{exchange(ws, "y", "yevil"), relink("l", "d", "../out"), relink("abs", w.Root+"/d", w.Dir+"/out"),
			relink("back", "../ws/d", "../gone"), move(ws, "m", park)},
	}
	if swapRoot {
		a.sets[1] = append(a.sets[1], exchange(top, "ws", "fake"))
	}
	return a, nil
}

func (a *attackers) close() {
	for _, fd := range a.fds {
		unix.Close(fd)
	}
}

// run attacks until ctx ends and then undoes what is away.
func (a *attackers) run(ctx context.Context, set []attack) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for n := uint64(0); ctx.Err() == nil; n++ {
		// Each attack stays away for a while that differs from the others', so that all combinations come up.
		for i := range set {
			if n%uint64(i+1) == 0 {
				a.flip(&set[i])
			}
		}
	}
	for i := range set {
		if set[i].away {
			a.flip(&set[i])
		}
	}
}

func (a *attackers) flip(at *attack) {
	f := at.there
	if at.away {
		f = at.back
	}
	if f() == nil { // a name may be taken for the moment; the next round tries again
		at.away = !at.away
		a.swaps.Add(1)
	}
}
