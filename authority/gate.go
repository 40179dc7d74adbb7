package authority

import (
	"context"
	"sync/atomic"

	"github.com/rootbound/rootbound"
)

const shut = 1 << 62

// gate counts the leases of one generation. enter never blocks; after shut no enter succeeds; idle is closed when it is
// shut and the last lease has left. Two atomic operations a lease. Safe for concurrent use.
type gate struct {
	n    atomic.Int64
	idle chan struct{}
}

func (g *gate) enter() bool {
	for {
		v := g.n.Load()
		if v&shut != 0 {
			return false
		}
		if g.n.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

func (g *gate) leave() {
	if g.n.Add(-1) == shut {
		close(g.idle) // nobody can enter any more, so this is reached once
	}
}

func (g *gate) shut() {
	if g.n.Or(shut) == 0 { // the old value: open and empty, so no leave closes idle
		close(g.idle)
	}
}

func (g *gate) open() bool { return g.n.Load()&shut == 0 }

// life is one generation: what its snapshots share, so that its end reaches all of them.
type life struct {
	gate    gate
	gen     rootbound.Generation
	version uint64 // of the ceiling
	why     atomic.Pointer[rootbound.Error]
	ctx     context.Context // ended by end; derived from nothing, since it outlives the request that made it
	cancel  context.CancelCauseFunc
}

func newLife(gen rootbound.Generation, version uint64) *life {
	l := &life{gate: gate{idle: make(chan struct{})}, gen: gen, version: version}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

// end is done once, by whoever took the life out of the authority. why is there before the gate shuts: who finds it shut
// finds a reason.
func (l *life) end(why *rootbound.Error) {
	l.why.Store(why)
	l.gate.shut()
	l.cancel(why)
}

// stale is nil while the generation lives; else a copy, since callers fill in their own fields.
func (l *life) stale() error {
	if l.gate.open() {
		return nil
	}
	e := *l.why.Load()
	return &e
}
