package search

import (
	"sync/atomic"
	"time"
)

// Clock tells when the time of a walk is over, for as little as a look at each entry may take. Safe for concurrent use.
type Clock struct {
	over  atomic.Bool
	timer *time.Timer
}

// NewClock starts one, which Stop ends.
func NewClock(d time.Duration) *Clock { return newClock(d, nil) }

// newClock tells told, if that is not nil, when the time is over.
func newClock(d time.Duration, told func()) *Clock {
	c := &Clock{}
	c.timer = time.AfterFunc(d, func() {
		c.over.Store(true)
		if told != nil {
			told()
		}
	})
	return c
}

// Late reports that the time is over; nil has no end.
func (c *Clock) Late() bool { return c != nil && c.over.Load() }

// Stop ends it.
func (c *Clock) Stop() { c.timer.Stop() }
