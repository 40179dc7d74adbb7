package effect

import (
	"context"

	"github.com/rootbound/rootbound/beneath"
)

// Keeper keeps what a change replaces or removes: *guard.Target. Keep comes before the effect, Kept after it.
type Keeper interface {
	Keep(ctx context.Context, at *beneath.Entry, old beneath.Info, size int64, left *beneath.Info, digest []byte) (place *beneath.Entry, err error)
	Kept() (ok bool)
}

// NotKept is the warning for what could not be kept after all.
const NotKept = "done, but what was there before could not be kept: the change cannot be taken back"

// Replacement publishes s at an entry in place of old, which may be nil, and lets old be kept.
type Replacement struct {
	Keep   Keeper // nil: nothing is
	At     *beneath.Entry
	Staged Staged
	Old    *beneath.Info
	place  *beneath.Entry
	lost   bool
}

// Prepare is done when everything is staged and before the lease.
func (r *Replacement) Prepare(ctx context.Context, digest []byte) error {
	if r.Keep == nil || r.Old == nil {
		return nil
	}
	left, err := r.Staged.Stat()
	if err == nil {
		r.place, err = r.Keep.Keep(ctx, r.At, *r.Old, r.Old.Size, &left, digest)
	}
	return err
}

// Publish is done inside the lease.
func (r *Replacement) Publish() (beneath.Info, error) {
	if r.place == nil {
		return r.Staged.Publish(r.Old)
	}
	now, err := r.Staged.Hold(r.Old)
	if err != nil {
		return now, err
	}
	if r.Staged.Settle(r.place) != nil {
		_ = r.Staged.Settle(nil)
		r.lost = true
	}
	return now, nil
}

// End is done after the effect.
func (r *Replacement) End() (warnings []string) {
	if r.Keep == nil || r.Old == nil {
		return nil
	}
	if r.lost || !r.Keep.Kept() {
		return []string{NotKept}
	}
	return nil
}
