package authority

import "sync"

// notes tells events in the order in which they happened, one at a time, without holding up the receive loop: what marks
// an authority stale lets a goroutine tell, what publishes waits until its own events are told.
type notes struct {
	tell func(Event)

	mu      sync.Mutex // of events
	events  []Event
	turn    sync.Mutex // held while telling
	tellers sync.WaitGroup
}

// add is called with Authority.mu held, which gives the order; then tell with drain. soon: a goroutine does, which flush
// waits for.
func (n *notes) add(e Event, soon bool) {
	if n.tell == nil {
		return
	}
	n.mu.Lock()
	n.events = append(n.events, e)
	n.mu.Unlock()
	if soon {
		n.tellers.Go(n.drain)
	}
}

// drain tells what is pending.
func (n *notes) drain() {
	if n.tell == nil {
		return
	}
	n.turn.Lock()
	defer n.turn.Unlock()
	for {
		n.mu.Lock()
		if len(n.events) == 0 {
			n.mu.Unlock()
			return
		}
		e := n.events[0]
		n.events = n.events[1:]
		n.mu.Unlock()
		n.tell(e)
	}
}

// flush comes after the last add.
func (n *notes) flush() {
	n.drain()
	n.tellers.Wait()
}
