// Package hang bounds what a file system that does not answer can hold up (contract §4.7): the workers of a project, and the
// time one operation may make no progress in.
package hang

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
)

// Stages of an operation.
const (
	working int32 = iota
	waiting       // for another caller, not for the file system
	committing
	abandoned
)

// Pulse is an operation's sign of life. The zero value is one that works. Safe for concurrent use.
type Pulse struct {
	beat  atomic.Bool // since Await looked last
	stage atomic.Int32
}

// Touch tells that the file system answered. It is asked for at each file, by several goroutines: it writes only what is
// not yet written.
func (p *Pulse) Touch() {
	if !p.beat.Load() {
		p.beat.Store(true)
	}
}

// Alive is ctx for the work of the operation: who looks whether to stop shows that it goes on. Work that reckons for long must
// not be taken for a file system that does not answer.
func (p *Pulse) Alive(ctx context.Context) context.Context { return alive{ctx, p} }

type alive struct {
	context.Context
	p *Pulse
}

func (a alive) Err() error {
	a.p.Touch()
	return a.Context.Err()
}

// Wait brackets a wait for another caller: it runs out of no time.
func (p *Pulse) Wait(f func()) {
	p.stage.CompareAndSwap(working, waiting)
	f()
	p.Touch()
	p.stage.CompareAndSwap(waiting, working)
}

// Commit brackets an effect; ok is false, and f not run, if the operation was given up before.
func (p *Pulse) Commit(f func()) (ok bool) {
	if !p.stage.CompareAndSwap(working, committing) {
		return false
	}
	f()
	p.Touch()
	p.stage.CompareAndSwap(committing, working)
	return true
}

// Abandoned reports whether the operation was given up: it may commit nothing more.
func (p *Pulse) Abandoned() bool { return p.stage.Load() == abandoned }

// looks is how often in a time limit it is looked whether the limit has run out. Only looks count, not the time between two:
// Go's timers go on while a process is stopped or gets no processor (CLOCK_MONOTONIC of clock_gettime(2), which rests only
// while the machine is suspended), and whatever is waited for did not run then either, nor was its answer taken. A ticker
// makes no more than one look of such a gap.
const looks = 8

func every(limit time.Duration) time.Duration { return max(limit/looks, time.Millisecond) }

// Await waits for done, and gives up when there is no sign of life for the time limit, which runs while this process does.
// done has room for one error: who gave up takes none. For one goroutine.
func (p *Pulse) Await(done <-chan error, limit time.Duration) (err error, gaveUp bool) {
	tick := time.NewTicker(every(limit))
	defer tick.Stop()
	for quiet := 0; ; {
		select {
		case err := <-done:
			return err, false
		case <-tick.C:
			if p.beat.Swap(false) || p.stage.Load() == waiting {
				quiet = 0
				continue
			}
			if quiet++; quiet < looks {
				continue
			}
			if p.stage.CompareAndSwap(working, abandoned) {
				return &rootbound.Error{Reason: rootbound.IOError, Detail: "the file system does not answer; nothing was changed by this step", Retryable: true}, true
			}
			return &rootbound.Error{Reason: rootbound.IOError, Detail: "the file system does not answer; whether the change happened is not known",
				Next: "Look at the file before the call is sent again."}, true
		}
	}
}

// ErrBusy is what Enter says when no worker becomes free in time.
var ErrBusy = errors.New("no worker is free")

// Gates bound the workers of each project. Safe for concurrent use.
type Gates struct{ gates sync.Map } // rootbound.RootID → chan struct{}

// Enter takes one of a project's workers, and waits for one up to the time limit, counted as by Await: ErrBusy, or the cause
// of ctx's end. leave gives it back.
func (g *Gates) Enter(ctx context.Context, id rootbound.RootID, workers int, limit time.Duration) (leave func(), err error) {
	c, ok := g.gates.Load(id)
	if !ok {
		c, _ = g.gates.LoadOrStore(id, make(chan struct{}, workers))
	}
	gate := c.(chan struct{})
	leave = func() { <-gate }
	select {
	case gate <- struct{}{}:
		return leave, nil
	default:
	}
	tick := time.NewTicker(every(limit))
	defer tick.Stop()
	for range looks {
		select {
		case gate <- struct{}{}:
			return leave, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil, ErrBusy
}
