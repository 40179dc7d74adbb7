package guard

import "time"

// Tuning is what of the Options may change while a Guard works, with the same meanings and defaults. A Keeper is not closed
// by the Guard that stops using it.
type Tuning struct {
	Relative  string
	FSTimeout time.Duration
	TreeLimit int
	NoSlow    bool
	Keep      Keeper
}

// Tune takes effect with the next call; a call that has begun ends as it began. Safe for concurrent use.
func (g *Guard) Tune(t Tuning) {
	if t.TreeLimit <= 0 {
		t.TreeLimit = 50_000
	}
	g.tuning.Store(&t)
}
