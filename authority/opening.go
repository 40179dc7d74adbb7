package authority

import (
	"context"
	"sync"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// opening opens directories that may hang (a dead mount) without hanging those who wait. A path whose opening hangs is
// not tried again before the kernel lets go. Safe for concurrent use.
type opening struct {
	once  sync.Once
	slots chan struct{}                       // at once in the kernel
	dir   func(string) (*beneath.Root, error) // beneath.OpenRoot but in tests

	mu   sync.Mutex
	hung map[string]int
}

const (
	openFor    = time.Second // for all directories of one answer
	openAtOnce = 64
)

type opened struct {
	root *beneath.Root
	err  error
}

// all opens each path and gives up on those that are not open after openFor or when ctx ends. The roots are the caller's.
func (o *opening) all(ctx context.Context, paths []string) []opened {
	o.once.Do(func() {
		o.slots = make(chan struct{}, openAtOnce)
		if o.dir == nil {
			o.dir = beneath.OpenRoot
		}
	})
	ctx, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	coming := make([]chan opened, len(paths))
	for i, p := range paths {
		if !o.hangs(p) {
			coming[i] = make(chan opened, 1)
			go o.one(ctx, p, coming[i])
		}
	}
	out := make([]opened, len(paths))
	for i, c := range coming {
		out[i].err = unusable("timeout")
		if c == nil {
			continue
		}
		select {
		case out[i] = <-c:
			continue
		case <-ctx.Done():
		}
		select { // what was open in time counts, whatever hangs before it in the list
		case out[i] = <-c:
		default:
			o.abandon(paths[i], c)
		}
	}
	return out
}

// one ends when the kernel lets it.
func (o *opening) one(ctx context.Context, path string, to chan<- opened) {
	select {
	case o.slots <- struct{}{}:
	case <-ctx.Done():
		to <- opened{err: unusable("timeout")}
		return
	}
	r, err := o.dir(path)
	<-o.slots
	to <- opened{r, err}
}

// abandon releases what comes too late.
func (o *opening) abandon(path string, coming <-chan opened) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hung == nil {
		o.hung = map[string]int{}
	}
	o.hung[path]++
	go func() {
		if late := <-coming; late.root != nil {
			late.root.Release()
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.hung[path]--; o.hung[path] == 0 {
			delete(o.hung, path)
		}
	}()
}

func (o *opening) hangs(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hung[path] > 0
}

func unusable(detail string) error {
	return &rootbound.Error{Reason: rootbound.RootUnusable, Detail: detail}
}
