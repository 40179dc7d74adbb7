package probe

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound/probe/script"
	"github.com/rootbound/rootbound/probe/wire"
)

const (
	inFlight = 4                      // calls at once in a storm
	moreHits = 500 * time.Millisecond // how long a storm goes on after its first hit
)

// race repeats the case's deeds in a tight loop, and its calls beside them, for the time the run was given. The deeds end
// as they began, so that what is outside afterwards and was not before is an escape.
func (p *player) race() error {
	var n atomic.Int64
	// One call in peace. It shows that the server serves it at all: one that finds itself deceived in the storm may well
	// refuse everything from then on.
	call, err := p.run.profile.Call(p.w, p.c.Steps[0].Op, p.values(p.c.Steps[0], int(n.Add(1))))
	if err != nil {
		return err
	}
	r, err := p.once(call)
	calm := err == nil && !r.Refused && !r.Open
	p.mu.Lock()
	p.settle()
	p.mu.Unlock()
	before := p.w.Look()
	ctx, stop := context.WithTimeout(p.ctx, p.run.o.Race)
	defer stop()

	var swaps, calls, done, lost atomic.Int64
	var first atomic.Int64 // nanoseconds
	began := time.Now()
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			if err := p.w.Do(p.c.Storm); err != nil {
				p.mu.Lock()
				p.broken = err
				p.mu.Unlock()
				stop()
				return
			}
			swaps.Add(1)
		}
	})
	for range inFlight {
		all.Go(func() {
			for ctx.Err() == nil {
				s := p.c.Steps[0]
				call, err := p.run.profile.Call(p.w, s.Op, p.values(s, int(n.Add(1))))
				if err != nil {
					stop()
					return
				}
				r, err := p.once(call)
				calls.Add(1)
				switch {
				case err != nil:
					if lost.Add(1); p.conn.Err() != nil {
						stop()
						return
					}
				case !r.Refused && !r.Open:
					done.Add(1)
					p.told(s, r)
				}
				if p.hit(s) && first.CompareAndSwap(0, int64(time.Since(began))) {
					time.AfterFunc(moreHits, stop)
				}
			}
		})
	}
	all.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil {
		return p.broken
	}
	escapes, _ := p.w.Changes(before, p.w.Look())
	made := escapes[:0]
	for _, e := range escapes {
		if strings.HasSuffix(e, "was made") || strings.HasSuffix(e, "is gone") || strings.Contains(e, "content") || strings.Contains(e, "mode") {
			made = append(made, e)
		}
	}
	got := fmt.Sprintf("%d leaks, %d escapes in %d calls (%d served), %d swaps", p.leaks, len(made), calls.Load(), done.Load(), swaps.Load())
	if first.Load() > 0 {
		got += fmt.Sprintf(", first after %d ms", first.Load()/int64(time.Millisecond))
	}
	p.got = append(p.got, got)
	p.evidence = append(p.evidence, made[:min(len(made), 5)]...)
	switch {
	case len(p.evidence) > 0:
	case p.conn.Err() != nil:
		p.evidence = append(p.evidence, p.conn.Err().Error())
	case done.Load() == 0 && !calm || swaps.Load() == 0 || calls.Load() == 0:
		return fmt.Errorf("the storm proves nothing: %d of %d calls succeeded, %d swaps, %d lost; try a longer --race", done.Load(), calls.Load(), swaps.Load(), lost.Load())
	}
	return nil
}

// told counts an answer that says what it must not as a leak.
func (p *player) told(s script.Step, r *wire.Result) {
	for _, t := range s.Lacks {
		if !mentions(string(whole(r)), t) {
			continue
		}
		p.mu.Lock()
		if p.leaks++; p.leaks == 1 {
			p.evidence = append(p.evidence, "what lies outside was described")
		}
		p.mu.Unlock()
	}
}

func (p *player) once(call wire.Call) (*wire.Result, error) {
	ctx, stop := p.run.patience(p.ctx)
	defer stop()
	return p.conn.Do(ctx, call)
}

// hit reports whether something got out already.
func (p *player) hit(s script.Step) bool {
	p.mu.Lock()
	leaked := p.leaks > 0
	p.mu.Unlock()
	return leaked || script.Mutating(s.Op) && p.escaped()
}

// escaped looks for a new name in the directory outside, while the storm goes on.
func (p *player) escaped() bool {
	for _, d := range []string{"{out}", "{out}/sub"} {
		list, err := os.ReadDir(p.w.Fill(d))
		if err != nil {
			continue
		}
		for _, e := range list {
			if strings.HasPrefix(e.Name(), "n-") {
				return true
			}
		}
	}
	return false
}
