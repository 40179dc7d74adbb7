package roots

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Opener opens directories that may hang (a dead mount) without hanging those who wait. A path whose opening hangs is
// not tried again before the kernel lets go. The zero value is ready. Safe for concurrent use.
type Opener struct {
	Dir func(path string) (*beneath.Root, error) // nil: beneath.OpenRoot. Set before the first use

	once  sync.Once
	slots chan struct{} // at once in the kernel

	mu   sync.Mutex
	hung map[string]int
}

// Bounds of one call of [Opener.All].
const (
	OpenFor    = time.Second // for all directories of one answer
	openAtOnce = 64
)

// Opened is a directory, or why there is none.
type Opened struct {
	Root *beneath.Root
	Err  error
}

// Late is the detail of root_unusable for what did not open in time.
const Late = "timeout"

// All opens each path and gives up on those that are not open after OpenFor or when ctx ends: root_unusable, "timeout".
// The roots are the caller's to release.
func (o *Opener) All(ctx context.Context, paths []string) []Opened {
	return o.each(ctx, paths, func(i int) (*beneath.Root, error) {
		if o.Dir != nil {
			return o.Dir(paths[i])
		}
		return beneath.OpenRoot(paths[i])
	})
}

// Unmoved is beneath.Root.Unmoved of each, within the same bounds.
func (o *Opener) Unmoved(ctx context.Context, roots []*beneath.Root) []error {
	paths := make([]string, len(roots))
	for i, r := range roots {
		paths[i] = r.Spelled()
	}
	errs := make([]error, len(roots))
	for i, got := range o.each(ctx, paths, func(i int) (*beneath.Root, error) { return nil, roots[i].Unmoved() }) {
		errs[i] = got.Err
	}
	return errs
}

// each does something with each path that may hang.
func (o *Opener) each(ctx context.Context, paths []string, do func(i int) (*beneath.Root, error)) []Opened {
	o.once.Do(func() { o.slots = make(chan struct{}, openAtOnce) })
	ctx, cancel := context.WithTimeout(ctx, OpenFor)
	defer cancel()
	coming := make([]chan Opened, len(paths))
	for i, p := range paths {
		if !o.hangs(p) {
			coming[i] = make(chan Opened, 1)
			go o.one(ctx, func() (*beneath.Root, error) { return do(i) }, coming[i])
		}
	}
	out := make([]Opened, len(paths))
	for i, c := range coming {
		out[i].Err = unusable(Late)
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
func (o *Opener) one(ctx context.Context, do func() (*beneath.Root, error), to chan<- Opened) {
	select {
	case o.slots <- struct{}{}:
	case <-ctx.Done():
		to <- Opened{Err: unusable(Late)}
		return
	}
	r, err := do()
	<-o.slots
	to <- Opened{r, err}
}

// abandon releases what comes too late.
func (o *Opener) abandon(path string, coming <-chan Opened) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hung == nil {
		o.hung = map[string]int{}
	}
	o.hung[path]++
	go func() {
		if late := <-coming; late.Root != nil {
			late.Root.Release()
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.hung[path]--; o.hung[path] == 0 {
			delete(o.hung, path)
		}
	}()
}

func (o *Opener) hangs(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hung[path] > 0
}

func unusable(detail string) error {
	return &rootbound.Error{Reason: rootbound.RootUnusable, Detail: detail}
}

// Detail is the detail of a *rootbound.Error in err, or empty.
func Detail(err error) string {
	var e *rootbound.Error
	if errors.As(err, &e) {
		return e.Detail
	}
	return ""
}
