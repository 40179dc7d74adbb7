package pins

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/roots"
	"github.com/rootbound/rootbound/beneath"
)

// Replace puts another list of projects in force: what a configuration was changed to. A directory that stays keeps its
// pin and its handle and costs one system call; new ones are opened and pinned; rights and rules are those of the new
// list. An id that is no longer listed is retired, and so is one whose path reaches another object than the one it meant
// in this process, unless AcceptRetarget or a Retarget says that it may: it is never pinned to the other object by
// itself. A retired id comes back with the object it meant. Missing directories are kept and pinned when they appear; a
// new one that does not open within a second counts as missing.
//
// It takes effect at once: when Replace returns, every follower has followed. Errors are those of Open, and argument_invalid after
// Close; then nothing has changed.
func (c *Set) Replace(projects []rootbound.Project) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	for {
		c.mu.Lock()
		p := plan{c: c, opened: c.open.All, before: map[rootbound.RootID]prior{}}
		version, closed := c.version.Load(), c.closed
		for _, t := range c.tombs {
			p.before[t.id] = prior{root: t.root, tomb: true}
		}
		for _, s := range c.slots {
			p.before[s.project.ID] = prior{slot: s, root: s.root}
		}
		c.mu.Unlock()
		if closed {
			return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: "the ceiling is closed", Next: "Open another one."}
		}
		if err := p.make(projects); err != nil {
			return err
		}
		again := false
		c.change(func() *Change {
			if again = c.version.Load() != version; again || c.closed { // something was pinned meanwhile
				p.discard()
				return nil
			}
			return c.take(&p)
		})
		if !again {
			return nil
		}
	}
}

// Activate chooses which of the projects are in force (contract §2, rootbound use): nil: all; none: nothing. It only ever
// narrows what Open and Replace grant, holds for the projects of a later Replace too, and takes effect like Replace.
// argument_invalid for an id that is no project: then nothing has changed.
func (c *Set) Activate(ids []rootbound.RootID) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	var active map[rootbound.RootID]bool
	if ids != nil {
		active = map[rootbound.RootID]bool{}
	}
	known := map[rootbound.RootID]bool{}
	for _, s := range c.all() {
		known[s.project.ID] = true
	}
	for _, id := range ids {
		if !known[id] {
			return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: "no project " + rootbound.Quote(string(id)), Root: id,
				Next: "Choose among the ids of the projects that were opened."}
		}
		active[id] = true
	}
	c.change(func() *Change {
		before := c.active
		d := &Change{}
		for _, s := range c.slots {
			was := c.on(s)
			c.active = active
			if c.on(s) != was {
				d.changed(s.project.ID, s.root, s.root)
			}
			c.active = before
		}
		c.active = active
		d.none = len(d.IDs) == 0
		return d
	})
	return nil
}

// plan is the list of slots that a list of projects comes to.
type plan struct {
	c      *Set
	opened func(context.Context, []string) []roots.Opened
	before map[rootbound.RootID]prior

	slots []*slot // those of before are the same pointers where nothing changed
	fresh []*beneath.Root
}

// prior is what an id meant before.
type prior struct {
	slot *slot
	root *beneath.Root // nil: nothing yet, or not known any more
	tomb bool
}

const missing = "missing" // detail of root_unusable

// make fills slots. An error leaves nothing open.
func (p *plan) make(projects []rootbound.Project) (err error) {
	defer func() {
		if err != nil {
			p.discard()
		}
	}()
	if err := valid(projects); err != nil {
		return err
	}
	there := p.check(projects)
	var dirs []string
	for i, pr := range projects {
		if there[i] == nil {
			dirs = append(dirs, pr.Dir)
		}
	}
	got := p.opened(context.Background(), dirs)
	for _, o := range got {
		if o.Root != nil {
			p.fresh = append(p.fresh, o.Root)
		}
	}
	type object struct{ dev, ino uint64 }
	by := map[object]*slot{}
	for i, pr := range projects {
		s := there[i]
		if s == nil {
			o := got[0]
			got = got[1:]
			if d := roots.Detail(o.Err); o.Err != nil && d != missing && d != roots.Late {
				return &rootbound.Error{Reason: rootbound.RootUnusable, Detail: d, Root: pr.ID, Path: pr.Dir, Err: o.Err}
			}
			s = p.slot(pr, o.Root)
		}
		if s.root != nil && !s.retired {
			at := object{s.root.ID().Dev, s.root.ID().Ino}
			if twin := by[at]; twin == nil {
				by[at] = s
			} else if twin.sum == s.sum {
				continue
			} else {
				return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Root: pr.ID, Path: pr.Dir,
					Detail: "projects " + string(twin.project.ID) + " and " + string(pr.ID) + " are one directory with different rights",
					Next:   "Leave one of them out, or give both the same rights and rules."}
			}
		}
		p.slots = append(p.slots, s)
	}
	return nil
}

func valid(projects []rootbound.Project) error {
	seen := map[rootbound.RootID]bool{}
	for _, p := range projects {
		detail, next := "", ""
		switch {
		case p.ID == "":
			detail, next = "a project without id", "Give each project an id of its own."
		case seen[p.ID]:
			detail, next = "two projects with the id "+string(p.ID), "Give each project an id of its own."
		case p.Rights == 0:
			detail, next = "project "+string(p.ID)+" has no rights", "Set Rights, for example to rootbound.ReadOnly or rootbound.ReadWrite."
		case !filepath.IsAbs(p.Dir):
			detail, next = "the directory of project "+string(p.ID)+" is not absolute", "Set Dir to an absolute path: filepath.Abs makes one from a relative one."
		}
		if detail != "" {
			return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: detail, Root: p.ID, Path: p.Dir, Next: next}
		}
		seen[p.ID] = true
	}
	return nil
}

// check gives the slots that need no opening: those whose path still reaches what it meant, and those whose path cannot be
// followed now, which stay pinned (root_replaced until it can). A retired slot was pinned by another path, perhaps.
func (p *plan) check(projects []rootbound.Project) []*slot {
	out := make([]*slot, len(projects))
	var ask []*beneath.Root
	var at []int
	for i, pr := range projects {
		if b := p.before[pr.ID]; b.slot != nil && !b.slot.retired && b.root != nil && b.slot.project.Dir == pr.Dir {
			ask, at = append(ask, b.root), append(at, i)
		}
	}
	for j, err := range p.c.open.Unmoved(context.Background(), ask) {
		pr := projects[at[j]]
		b := p.before[pr.ID]
		other := err != nil && roots.Detail(err) == ""
		if other && p.c.accept {
			continue
		}
		out[at[j]] = b.slot.with(pr, b.root, other)
	}
	return out
}

// with is s itself where nothing changes.
func (s *slot) with(p rootbound.Project, root *beneath.Root, retired bool) *slot {
	sum := Sum(p)
	if s.like(p, sum, root, retired) && s.project.Description == p.Description {
		return s
	}
	return &slot{&p, sum, root, retired}
}

// like reports whether s grants the same.
func (s *slot) like(p rootbound.Project, sum string, root *beneath.Root, retired bool) bool {
	return s != nil && s.sum == sum && s.project.Dir == p.Dir && s.root == root && s.retired == retired
}

// slot is what becomes of a project whose path was followed just now; root is nil where nothing is there.
func (p *plan) slot(pr rootbound.Project, root *beneath.Root) *slot {
	b, known := p.before[pr.ID]
	meant := known && (b.root != nil || b.tomb || b.slot.retired) // it meant an object, whether we still hold that or not
	if !meant || p.c.accept && root != nil || root != nil && b.root != nil && root.ID().Same(b.root.ID()) {
		return b.slot.with(pr, root, false)
	}
	return b.slot.with(pr, b.root, true)
}

// unused is what was opened for nothing.
func (p *plan) unused() []*beneath.Root {
	return slices.DeleteFunc(p.fresh, func(r *beneath.Root) bool {
		return slices.ContainsFunc(p.slots, func(s *slot) bool { return s.root == r })
	})
}

func (p *plan) discard() {
	for _, r := range p.fresh {
		r.Release()
	}
}

// tomb remembers an id that was taken out of the configuration, and the object it meant: held, so that the kernel does not
// give its number to another one.
type tomb struct {
	id   rootbound.RootID
	path string        // canonical, as it was
	root *beneath.Root // nil: not held any more
}

// maxTombs is how many objects of removed ids are held. An id whose object is not known any more stays retired.
const maxTombs = 256

func (t *tomb) forget() {
	if t.root != nil {
		t.root.Release()
		t.root = nil
	}
}

// take puts a plan in force. Called with mu held.
func (c *Set) take(p *plan) *Change {
	d := &Change{}
	now := map[rootbound.RootID]*slot{}
	owned := map[*beneath.Root]bool{} // a reference that goes on
	for _, s := range p.slots {
		now[s.project.ID] = s
		owned[s.root] = true
		b := p.before[s.project.ID]
		if !b.slot.like(*s.project, s.sum, s.root, s.retired) && (c.on(s) || s.root != b.root) {
			d.changed(s.project.ID, b.root, s.root)
		}
	}
	var tombs []tomb
	keep := func(t tomb) {
		if now[t.id] == nil {
			tombs = append(tombs, t)
		} else if t.root != nil && !owned[t.root] {
			d.done = append(d.done, t.root)
		}
	}
	for _, t := range c.tombs {
		keep(t)
	}
	for _, s := range c.slots {
		switch id := s.project.ID; {
		case s.root != nil:
			keep(tomb{id, s.root.Path(), s.root})
		case s.retired:
			keep(tomb{id: id})
		} // else it never meant anything
		if now[s.project.ID] == nil {
			d.changed(s.project.ID, s.root)
		}
	}
	d.done = append(d.done, p.unused()...)
	held := 0
	for i := len(tombs) - 1; i >= 0; i-- {
		if tombs[i].root == nil {
			continue
		}
		if held++; held > maxTombs {
			d.done = append(d.done, tombs[i].root)
			tombs[i].root = nil
		}
	}
	d.none = slices.Equal(c.slots, p.slots)
	c.slots, c.tombs = p.slots, tombs
	return d
}

// Change is what a change comes to, for those who have to find out whether it concerns them.
type Change struct {
	IDs   map[rootbound.RootID]bool // the projects that are other ones now
	Paths []string                  // where they lie, canonical

	done []*beneath.Root // references to be given back
	none bool            // nothing changed
}

func (d *Change) changed(id rootbound.RootID, of ...*beneath.Root) {
	if d.IDs == nil {
		d.IDs = map[rootbound.RootID]bool{}
	}
	d.IDs[id] = true
	for _, r := range of {
		if r != nil {
			d.Paths = append(d.Paths, r.Path())
		}
	}
}

// change lets swap change the set and tells every follower in one step: while none of them can act, nobody takes a hold of
// the old state after it or of the new one before it. swap runs with mu held; nil: it changed nothing.
func (c *Set) change(swap func() *Change) {
	c.swapping.Lock()
	defer c.swapping.Unlock()
	for {
		c.mu.Lock()
		all := make([]Follower, 0, len(c.followers))
		for a := range c.followers {
			all = append(all, a)
		}
		joined := c.joined
		c.mu.Unlock()
		for _, a := range all { // nobody else locks two of them
			a.Lock()
		}
		c.mu.Lock()
		late := c.joined != joined
		var ends []func()
		var d *Change
		if !late {
			if d = swap(); d != nil && !d.none {
				c.settle()
				for _, a := range all {
					ends = append(ends, a.Follow(d))
				}
			}
		}
		c.mu.Unlock()
		for _, a := range all {
			a.Unlock()
		}
		for _, end := range ends {
			end()
		}
		if !late {
			if d != nil {
				for _, r := range d.done {
					r.Release()
				}
			}
			return
		}
	}
}
