package fileop

import (
	"context"

	"github.com/rootbound/rootbound/beneath"
)

// Keeper keeps what a change replaces or removes: *guard.Target. Keep comes before the effect, Kept after it.
type Keeper interface {
	Keep(ctx context.Context, at *beneath.Entry, old beneath.Info, size int64, left *beneath.Info, digest []byte) (place *beneath.Entry, err error)
	Kept() (ok bool)
}

// notKept is the warning for what could not be kept after all.
const notKept = "done, but what was there before could not be kept: the change cannot be taken back"

// replacement publishes s at an entry in place of old, which may be nil, and lets old be kept.
type replacement struct {
	keep  Keeper // nil: nothing is
	at    *beneath.Entry
	s     staged
	old   *beneath.Info
	place *beneath.Entry
	lost  bool
}

// prepare is done when everything is staged and before the lease.
func (r *replacement) prepare(ctx context.Context, digest []byte) error {
	if r.keep == nil || r.old == nil {
		return nil
	}
	left, err := r.s.Stat()
	if err == nil {
		r.place, err = r.keep.Keep(ctx, r.at, *r.old, r.old.Size, &left, digest)
	}
	return err
}

// publish is done inside the lease.
func (r *replacement) publish() (beneath.Info, error) {
	if r.place == nil {
		return r.s.Publish(r.old)
	}
	now, err := r.s.Hold(r.old)
	if err != nil {
		return now, err
	}
	if r.s.Settle(r.place) != nil {
		_ = r.s.Settle(nil)
		r.lost = true
	}
	return now, nil
}

// end is done after the effect.
func (r *replacement) end() (warnings []string) {
	if r.keep == nil || r.old == nil {
		return nil
	}
	if r.lost || !r.keep.Kept() {
		return []string{notKept}
	}
	return nil
}
