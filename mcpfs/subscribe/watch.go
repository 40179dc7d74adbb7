package subscribe

import (
	"context"
	"sync"

	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/watch"
)

// Watching is an Options.Watch on one watch.Watcher, which is made when something is subscribed to for the first time. close
// ends it. Call it before the process is confined. Of one authority 100,000 directories are watched at once, if o sets no other bound.
func Watching(o watch.Options) (start func(context.Context, *guard.Target, bool, func(string, bool)) (Watch, error), close func()) {
	if o.Together == 0 {
		o.Together = 100_000
	}
	if o.Mounts == nil {
		o.Mounts, _ = beneath.NewMounts() // now, since a confinement that follows may forbid it
	}
	l := &lazy{opt: o}
	return l.start, l.close
}

type lazy struct {
	opt watch.Options

	mu     sync.Mutex
	w      *watch.Watcher
	closed bool
}

func (l *lazy) watcher() (*watch.Watcher, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosing
	}
	if l.w == nil {
		w, err := watch.New(l.opt)
		if err != nil {
			return nil, err
		}
		l.w = w
	}
	return l.w, nil
}

func (l *lazy) start(ctx context.Context, t *guard.Target, tree bool, told func(string, bool)) (Watch, error) {
	w, err := l.watcher()
	if err != nil {
		return nil, err
	}
	use, err := authority.From(ctx)
	if err != nil {
		return nil, err
	}
	x, err := w.AddFor(ctx, use.Snapshot().Authority, t.Object(), tree, t.Sight(), func(e watch.Event) { told(e.Rel, e.Kind == watch.Ended) })
	if err != nil {
		return nil, err
	}
	return watched{x}, nil
}

func (l *lazy) close() {
	l.mu.Lock()
	w := l.w
	l.closed = true
	l.mu.Unlock()
	switch {
	case w != nil:
		w.Close()
	case l.opt.Mounts != nil:
		l.opt.Mounts.Close()
	}
}

type watched struct{ *watch.Watch }

// Renew implements Watch.
func (x watched) Renew(t *guard.Target) error { return x.Resume(t.Object(), t.Sight()) }
