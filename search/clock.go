package search

import (
	"sync/atomic"
	"time"
)

// clock tells when the time of a walk is over, for as little as a look at each entry may take.
type clock struct{ late atomic.Bool }

// after starts it; the walk ends with stop. told, if not nil, is called when the time is over.
func (c *clock) after(d time.Duration, told func()) (stop func() bool) {
	return time.AfterFunc(d, func() {
		c.late.Store(true)
		if told != nil {
			told()
		}
	}).Stop
}

// Load reports that the time is over.
func (c *clock) Load() bool { return c.late.Load() }
