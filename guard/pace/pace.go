// Package pace counts denials, so that a caller who guesses is slowed and noticed (contract §6). It knows no clock but the
// one it is given.
package pace

import (
	"sync"
	"time"
)

// Denials that come faster than this slow the authority's further denials and raise an alert.
const (
	Denials = 50
	Window  = 10 * time.Second
	Delay   = 100 * time.Millisecond // the most by which one denial is slowed
)

// Pacer counts denials for each authority in a sliding window. The zero value is ready. Safe for concurrent use.
type Pacer struct {
	mu sync.Mutex
	by map[string]*window
}

type window struct {
	at    [Denials]time.Time // ring of the last denials
	next  int
	alert bool // raised and not yet quiet again
}

// Deny notes a denial; slow: it is one too many; alert: the first such since it was quiet.
func (p *Pacer) Deny(authority string, now time.Time) (slow, alert bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[string]*window{}
	}
	w := p.by[authority]
	if w == nil {
		for a, old := range p.by { // ended sessions
			if len(p.by) > 256 && now.Sub(old.last()) > Window {
				delete(p.by, a)
			}
		}
		w = &window{}
		p.by[authority] = w
	}
	oldest := w.at[w.next]
	w.at[w.next] = now
	w.next = (w.next + 1) % Denials
	slow = !oldest.IsZero() && now.Sub(oldest) < Window
	alert = slow && !w.alert
	w.alert = slow
	return slow, alert
}

func (w *window) last() time.Time { return w.at[(w.next+Denials-1)%Denials] }
