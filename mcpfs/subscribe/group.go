package subscribe

import (
	"path"
	"strings"
	"sync"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
)

// group is what belongs to one authority: what it hears, how far, and whether it is suspended.
type group struct {
	mu        sync.Mutex // before stream.mu
	streams   map[*stream]bool
	gen       rootbound.Generation // the last one that was resumed
	ended     rootbound.Generation // the last one that was marked
	suspended bool
	writing   map[chan struct{}]bool // notifications on their way to a transport; closed when they are there
}

func (g *group) add(st *stream, listens int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if st.listen() {
		n := 0
		for other := range g.streams {
			if other.listen() {
				n++
			}
		}
		if n >= listens {
			return false
		}
	}
	g.streams[st] = true
	return true
}

// remove reports whether nothing is left.
func (g *group) remove(st *stream) (empty bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.streams, st)
	return len(g.streams) == 0
}

func (g *group) all() []*stream {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]*stream, 0, len(g.streams))
	for st := range g.streams {
		out = append(out, st)
	}
	return out
}

// keep registers a subscription made under use, unless that has ended meanwhile: whoever ends it later finds it here.
func (g *group) keep(s, instead *subscription, use *authority.Use) (old *subscription, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := use.Stale(); err != nil {
		return nil, err
	}
	g.gen = max(g.gen, use.Snapshot().Generation)
	return s.stream.put(s, instead)
}

func (g *group) suspend(ended rootbound.Generation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = max(g.ended, ended)
	if g.gen > ended {
		return
	}
	g.suspended = true
	for st := range g.streams {
		st.nudge() // where nobody is asked the next generation can begin at once
	}
}

func (g *group) waits() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.suspended
}

// begin is called right before a notification is written that was judged under gen. done is called when the transport has
// it; nil: gen has ended, and nothing may be written.
func (g *group) begin(gen rootbound.Generation) (done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gen <= g.ended || gen < g.gen {
		return nil
	}
	c := make(chan struct{})
	if g.writing == nil {
		g.writing = map[chan struct{}]bool{}
	}
	g.writing[c] = true
	return func() {
		g.mu.Lock()
		delete(g.writing, c)
		g.mu.Unlock()
		close(c)
	}
}

// handOver is how long the next generation waits for what is being written under the one before. Only a client that does
// not read takes longer, and each notification is waited for once.
const handOver = 250 * time.Millisecond

// written waits until what began to be written before is written.
func (g *group) written() {
	g.mu.Lock()
	under := g.writing
	g.writing = nil
	g.mu.Unlock()
	if len(under) == 0 {
		return
	}
	late := time.NewTimer(handOver)
	defer late.Stop()
	for c := range under {
		select {
		case <-c:
		case <-late.C:
			return
		}
	}
}

// resume keeps what goes on in next and drops the rest. When it returns, all that was judged before is written, as far as the
// client reads.
func (g *group) resume(next *authority.Snapshot, changed bool) {
	var dropped []*subscription
	g.mu.Lock()
	g.gen, g.suspended = max(g.gen, next.Generation), false
	for st := range g.streams {
		dropped = append(dropped, st.resume(func(s *subscription) bool { return s.home.in(next) }, changed)...)
	}
	g.mu.Unlock()
	for _, s := range dropped {
		s.close()
	}
	g.written()
}

// end ends every stream: the authority, or the hub, is gone.
func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for st := range g.streams {
		st.finish()
	}
}

// home is where a subscribed object lay when it was judged.
type home struct {
	project rootbound.RootID // the one that was named
	at      string           // inside it
	rights  rootbound.Rights // what was needed
	inner   rootbound.RootID // the innermost project of the object
	dirs    [2]beneath.ObjectID
}

// homeIn finds the home of what named.at reached: inner is the innermost project, at the reached path inside it.
func homeIn(s *authority.Snapshot, named rootbound.RootID, sent string, inner rootbound.RootID, at string, rights rootbound.Rights) home {
	h := home{project: named, at: sent, rights: rights, inner: inner}
	if inner == named {
		h.at = at
	}
	h.dirs[0], _ = directory(s, named)
	h.dirs[1], _ = directory(s, inner)
	return h
}

// in reports whether next grants the same project, as the same directory and with the rights, so far that the object's
// place is inside. Whether the object is still there, and what rules say of it, is judged with each notification.
func (h home) in(next *authority.Snapshot) bool {
	named, ok := directory(next, h.project)
	if !ok || named != h.dirs[0] {
		return false
	}
	inner, ok := directory(next, h.inner)
	if !ok || inner != h.dirs[1] {
		return false
	}
	for i := range next.Grants {
		g := &next.Grants[i]
		if g.Project.ID == h.project && g.Project.Rights.Has(h.rights) && within(g.Prefix, h.at) {
			return true
		}
	}
	return false
}

// directory is the directory that an id means in a snapshot; not of a project that is revoked.
func directory(s *authority.Snapshot, id rootbound.RootID) (beneath.ObjectID, bool) {
	for i := range s.Marks {
		if m := &s.Marks[i]; m.Project.ID == id {
			return m.Root.ID(), m.Project.Rights != 0
		}
	}
	for i := range s.Grants { // a root of the client's own
		if g := &s.Grants[i]; g.Project.ID == id {
			return g.Root.ID(), true
		}
	}
	return beneath.ObjectID{}, false
}

// within reports whether a path inside a project is prefix or below it.
func within(prefix, at string) bool {
	at = path.Clean("/" + at)
	prefix = path.Clean("/" + prefix)
	return prefix == "/" || at == prefix || strings.HasPrefix(at, prefix+"/")
}
