package authority

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/roots"
	"github.com/rootbound/rootbound/beneath"
)

// Ceiling is what the operator granted, opened and pinned once and shared by all authorities of the process. What it holds
// changes by Replace and Activate, and where a directory that was missing appears. Safe for concurrent use.
type Ceiling struct {
	opt     CeilingOptions
	bare    bool // opened without any project: then the mode is client where none is set
	open    roots.Opener
	wide    roots.Wide
	version atomic.Uint64 // rises with every change
	watch   atomic.Bool   // something is missing, or may be pinned anew by itself

	changing sync.Mutex // one Replace or Activate at a time; before every other lock
	swapping sync.Mutex // held while every authority is; no I/O under it

	mu     sync.Mutex
	slots  []*slot                   // replaced as a whole, in the operator's order
	active map[rootbound.RootID]bool // nil: all
	tombs  []tomb
	away   map[rootbound.RootID]string // what is not in force now, and why; replaced as a whole
	digest string
	closed bool

	authorities map[*Authority]bool
	joined      uint64 // rises when one joins
}

// slot is a project of the configuration. Its project never changes; the rest is read and written with Ceiling.mu held.
type slot struct {
	project *rootbound.Project
	sum     string        // projectDigest
	root    *beneath.Root // nil while missing
	retired bool          // the path reaches another object than root, which is what the id meant
}

// Why an id is not in force: the details of project_retired.
const (
	removed   = "removed"  // from the configuration
	elsewhere = "replaced" // its path reaches another object
	inactive  = "not active"
)

// CeilingOptions: AcceptRetarget lets a project whose path reaches another object be pinned anew (--accept-retarget).
// Homes are the directories a client cannot be granted whole (root_too_wide, mode client); nil: those of this machine.
type CeilingOptions struct {
	AcceptRetarget bool
	Homes          []string
}

// Open pins each project's directory. Missing directories are kept and pinned when they appear. A directory that is
// granted twice with the same rights and rules is one project, the first. Errors are *rootbound.Error: argument_invalid
// for a duplicate or empty id, no rights, a path that is not absolute, or one directory granted twice with different
// rights; root_unusable for a path that exists but cannot be a project.
func Open(projects []rootbound.Project, o CeilingOptions) (*Ceiling, error) {
	c := &Ceiling{opt: o, bare: len(projects) == 0, authorities: map[*Authority]bool{}}
	c.wide.Homes = o.Homes
	p := plan{c: c, opened: func(_ context.Context, dirs []string) []roots.Opened { // a dead mount holds up the start
		out := make([]roots.Opened, len(dirs))
		for i, d := range dirs {
			if out[i].Root, out[i].Err = beneath.OpenRoot(d); out[i].Err != nil && detailOf(out[i].Err) != missing {
				return out[:i+1]
			}
		}
		return out
	}}
	if err := p.make(projects); err != nil {
		return nil, err
	}
	for _, r := range p.unused() {
		r.Release()
	}
	c.slots = p.slots
	c.settle()
	return c, nil
}

func (c *Ceiling) join(a *Authority) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.authorities[a] = true
	c.joined++
}

func (c *Ceiling) leave(a *Authority) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.authorities, a)
}

// settle follows a change of slots, active or tombs. Called with mu held, or before anybody else knows c.
func (c *Ceiling) settle() {
	c.away = map[rootbound.RootID]string{}
	for _, t := range c.tombs {
		c.away[t.id] = removed
	}
	watch := false
	for _, s := range c.slots {
		watch = watch || s.root == nil && !s.retired || c.opt.AcceptRetarget
		switch {
		case !c.on(s):
			c.away[s.project.ID] = inactive
		case s.retired:
			c.away[s.project.ID] = elsewhere
		}
	}
	c.watch.Store(watch)
	projects := make([]rootbound.Project, len(c.slots))
	for i, s := range c.slots {
		projects[i] = *s.project
	}
	c.digest = digest(projects, c.active)
	c.version.Add(1)
}

// on reports whether the operator's choice leaves s active. Called with mu held.
func (c *Ceiling) on(s *slot) bool { return c.active == nil || c.active[s.project.ID] }

// inForce reports whether s can be granted, once its directory is there. Called with mu held.
func (c *Ceiling) inForce(s *slot) bool { return c.on(s) && !s.retired }

// all are the slots now.
func (c *Ceiling) all() []*slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slots
}

// Projects are all projects of the configuration in the operator's order, in force or not.
func (c *Ceiling) Projects() []rootbound.Project {
	all := c.all()
	out := make([]rootbound.Project, len(all))
	for i := range all {
		out[i] = *all[i].project
	}
	return out
}

// Active are the ids that can be granted, in the operator's order: neither inactive nor retired. Their directory may be
// missing.
func (c *Ceiling) Active() []rootbound.RootID {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []rootbound.RootID{}
	for _, s := range c.slots {
		if c.inForce(s) {
			out = append(out, s.project.ID)
		}
	}
	return out
}

// Missing are the projects whose directory is not there yet.
func (c *Ceiling) Missing() []rootbound.RootID {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []rootbound.RootID
	for _, s := range c.slots {
		if s.root == nil && !s.retired {
			out = append(out, s.project.ID)
		}
	}
	return out
}

// Root is a project's directory, nil while it is missing or retired. Borrowed: good until Close, Replace or Retarget.
func (c *Ceiling) Root(id rootbound.RootID) *beneath.Root {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slots {
		if s.project.ID == id && !s.retired {
			return s.root
		}
	}
	return nil
}

// has reports whether id is or was a project's, so that it can be nothing else.
func (c *Ceiling) has(id rootbound.RootID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, away := c.away[id]
	return away || slices.ContainsFunc(c.slots, func(s *slot) bool { return s.project.ID == id })
}

// Digest covers ids, directories, rights and rules of all projects, and which are active.
func (c *Ceiling) Digest() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.digest
}

// Covers tells without disk access whether an absolute path is below a spelling of some project in force: the path as
// granted or the canonical one. A client's root may have other spellings, so a no is final only where roots are not asked.
func (c *Ceiling) Covers(abs string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slots {
		if c.inForce(s) && (roots.Within(s.project.Dir, abs) || s.root != nil && roots.Within(s.root.Path(), abs)) {
			return true
		}
	}
	return false
}

// Close releases the directories; snapshots keep theirs until their last use.
func (c *Ceiling) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, s := range c.slots {
		if s.root != nil {
			s.root.Release()
			s.root = nil
		}
	}
	for i := range c.tombs {
		c.tombs[i].forget()
	}
	return nil
}

// Retarget pins projects anew whose path reaches another object, retired ones too: all, or those named. It is what a person
// accepts (config apply), so an id means another directory from then on: generations that granted it end.
// root_unusable if a directory is not there: it stays pinned as it was.
func (c *Ceiling) Retarget(ids ...rootbound.RootID) error {
	for _, s := range c.all() {
		if len(ids) > 0 && !slices.Contains(ids, s.project.ID) {
			continue
		}
		if err := c.pin(context.Background(), s, false); err != nil {
			return err
		}
	}
	return nil
}

// look pins what has appeared, and with AcceptRetarget what was replaced. It costs one system call for each project that
// is missing, and nothing if none is.
func (c *Ceiling) look(ctx context.Context) {
	if !c.watch.Load() {
		return
	}
	for _, s := range c.all() {
		_ = c.pin(ctx, s, true) // what cannot be pinned stays as it is: missing or replaced
	}
}

// pin opens a project if it is missing or moved. unasked: only what look may do.
func (c *Ceiling) pin(ctx context.Context, s *slot, unasked bool) error {
	c.mu.Lock()
	p, old, retired := s.project, s.root, s.retired
	if old != nil {
		old = old.Retain()
	}
	c.mu.Unlock()
	if old != nil {
		defer old.Release()
	}
	if unasked && !c.opt.AcceptRetarget && (old != nil || retired) || old != nil && !retired && old.Unmoved() == nil {
		return nil
	}
	got := c.open.All(ctx, []string{p.Dir})[0]
	if got.Err != nil {
		return &rootbound.Error{Reason: rootbound.RootUnusable, Detail: detailOf(got.Err), Root: p.ID, Path: p.Dir, Err: got.Err}
	}
	var err error
	c.change(func() *diff {
		if c.closed || s.root != old || !slices.Contains(c.slots, s) { // somebody else was first
			got.Root.Release()
			return nil
		}
		for _, twin := range c.slots { // which rights hold would be a guess
			if twin != s && twin.root != nil && !twin.retired && twin.root.ID().Same(got.Root.ID()) {
				got.Root.Release()
				err = &rootbound.Error{Reason: rootbound.RootUnusable, Detail: "the directory of project " + string(twin.project.ID), Root: p.ID, Path: p.Dir}
				return nil
			}
		}
		d := &diff{}
		d.changed(p.ID, old, got.Root)
		if old != nil {
			d.done = append(d.done, old) // the ceiling's own reference
		}
		s.root, s.retired = got.Root, false
		return d
	})
	return err
}

// pinned is one project's directory, held for the caller.
type pinned struct {
	project *rootbound.Project
	sum     string
	root    *beneath.Root
	on      bool // in force
}

// holding is what a draft is made of.
type holding struct {
	version  uint64
	pinned   []pinned
	away     map[rootbound.RootID]string // shared: not to be changed
	removed  map[rootbound.RootID]string // where they were
	projects int                         // in force, there or not
	idle     bool                        // projects are configured, and none of them is active
}

// hold gives what is pinned now and the version it belongs to.
func (c *Ceiling) hold() holding {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := holding{version: c.version.Load(), pinned: make([]pinned, 0, len(c.slots)), away: c.away, idle: len(c.slots) > 0}
	for _, t := range c.tombs {
		if h.removed == nil {
			h.removed = make(map[rootbound.RootID]string, len(c.tombs))
		}
		h.removed[t.id] = t.path
	}
	for _, s := range c.slots {
		on := c.inForce(s)
		if on {
			h.projects++
		}
		h.idle = h.idle && !c.on(s)
		if s.root != nil {
			h.pinned = append(h.pinned, pinned{s.project, s.sum, s.root.Retain(), on})
		}
	}
	return h
}
