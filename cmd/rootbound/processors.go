package main

import (
	"runtime"
	"sync"
)

// processors gives a search that works side by side all processors of the process while it runs. The rest of a session keeps
// to one (tune).
type processors struct {
	mu  sync.Mutex
	all int // of them that the process may use
	on  int // searches under way
}

// widen is called before a search, and narrow once after it. Safe for concurrent use.
func (p *processors) widen() (narrow func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.on++; p.on == 1 {
		runtime.GOMAXPROCS(p.all)
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.on--; p.on == 0 {
			runtime.GOMAXPROCS(1)
		}
	})
}
