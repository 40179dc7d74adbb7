package guard

import (
	"context"
	"sync"
	"time"
)

// Denials that come faster than this slow the authority's further denials and raise an alert (contract §6).
const (
	paceDenials = 50
	paceWindow  = 10 * time.Second
	paceDelay   = 100 * time.Millisecond
)

// pacer counts denials for each authority in a sliding window.
type pacer struct {
	mu sync.Mutex
	by map[string]*window
}

type window struct {
	at    [paceDenials]time.Time // ring of the last denials
	next  int
	alert bool // raised and not yet quiet again
}

// deny notes a denial; slow: it is one too many; alert: the first such since it was quiet.
func (p *pacer) deny(authority string, now time.Time) (slow, alert bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[string]*window{}
	}
	w := p.by[authority]
	if w == nil {
		for a, old := range p.by { // ended sessions
			if len(p.by) > 256 && now.Sub(old.last()) > paceWindow {
				delete(p.by, a)
			}
		}
		w = &window{}
		p.by[authority] = w
	}
	oldest := w.at[w.next]
	w.at[w.next] = now
	w.next = (w.next + 1) % paceDenials
	slow = !oldest.IsZero() && now.Sub(oldest) < paceWindow
	alert = slow && !w.alert
	w.alert = slow
	return slow, alert
}

func (w *window) last() time.Time { return w.at[(w.next+paceDenials-1)%paceDenials] }

func (g *Guard) paceDenial(ctx context.Context, authority string) {
	slow, alert := g.pace.deny(authority, time.Now())
	if alert && g.opt.Alert != nil {
		g.opt.Alert(authority, paceDenials)
	}
	if !slow || g.opt.NoSlow {
		return
	}
	t := time.NewTimer(paceDelay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
