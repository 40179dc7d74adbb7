package subscribe

import (
	"fmt"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpscope"
)

// Where generations do not last as long as it takes to let all subscriptions go on, each has its turn all the same, and what
// there is to tell is told.
func TestEachHasItsTurnWhileGenerationsChange(t *testing.T) {
	const subs, last = 200, 10 // so many are renewed in one generation
	w := newWorld(t, mcpscope.Options{}, Options{})
	var all []string
	for i := range subs {
		w.write(fmt.Sprintf("app/many/%d", i), "1")
		all = append(all, of("app", fmt.Sprintf("many/%d", i)))
	}
	q := w.dial()
	q.listening(1, uris(all...))
	change := func(n int) {
		if err := w.ceiling.Activate([]rootbound.RootID{"app", "lib"}[:1+n%2]); err != nil {
			t.Error(err)
		}
	}
	renewals, changes, late, reached := 0, 0, 0, make(chan struct{})
	w.mu.Lock()
	w.onRenew = func() { // under w.mu, as all of these
		if renewals++; late == 0 && renewals%last == 0 {
			changes++
			change(changes)
		}
		left := 0
		for _, s := range w.watches {
			if s.renewed == 0 {
				left++
			}
		}
		if late == 0 && (left == 0 || changes == 10*subs/last) {
			late = changes
			close(reached)
		}
	}
	w.mu.Unlock()
	change(0)
	w.say("app/many/7", "", false)
	q.updated(of("app", "many/7"), 1.0)
	await(t, reached)
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Logf("%d subscriptions went on within %d generations, of which each had time for %d", subs, late, last)
	if late > 2*subs/last {
		t.Error("some had to wait while others had several turns")
	}
}
