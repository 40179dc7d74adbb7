// Package pins holds what the operator granted: each project's directory, pinned to the object it was when it first appeared.
//
// A [Set] is the inside of an authority.Ceiling. It changes by Replace and Activate, and where a directory that was missing
// appears; every change is decided in one step for all who follow the set, so that nobody takes effects of an old scope
// into a new one. An id whose path reaches another object than the one it meant is retired, never pinned to it by itself
// (contract §3).
package pins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/roots"
	"github.com/rootbound/rootbound/beneath"
)

// Set is a list of pinned projects. Safe for concurrent use.
type Set struct {
	accept  bool
	open    roots.Opener
	version atomic.Uint64 // rises with every change
	watch   atomic.Bool   // something is missing, or may be pinned anew by itself

	changing sync.Mutex // one Replace or Activate at a time; before every other lock
	swapping sync.Mutex // held while every authority is; no I/O under it

	mu     sync.Mutex
	slots  []*slot                   // replaced as a whole, in the operator's order
	active map[rootbound.RootID]bool // nil: all
	tombs  []tomb
	away   map[rootbound.RootID]string // what is not in force now, and why; replaced as a whole
	closed bool

	followers map[Follower]bool
	joined    uint64 // rises when one joins
}

// slot is a project of the configuration. Its project never changes; the rest is read and written with Set.mu held.
type slot struct {
	project *rootbound.Project
	sum     string        // of project
	root    *beneath.Root // nil while missing
	retired bool          // the path reaches another object than root, which is what the id meant
}

// Why an id is not in force: the details of project_retired.
const (
	removed   = "removed"  // from the configuration
	elsewhere = "replaced" // its path reaches another object
	inactive  = "not active"
)

// Open pins each project's directory. accept: what moved is pinned anew by itself (--accept-retarget). Missing directories are kept and pinned when they appear. A directory that is
// granted twice with the same rights and rules is one project, the first. Errors are *rootbound.Error: argument_invalid
// for a duplicate or empty id, no rights, a path that is not absolute, or one directory granted twice with different
// rights; root_unusable for a path that exists but cannot be a project.
func Open(projects []rootbound.Project, accept bool) (*Set, error) {
	c := &Set{accept: accept, followers: map[Follower]bool{}}
	p := plan{c: c, opened: func(_ context.Context, dirs []string) []roots.Opened { // a dead mount holds up the start
		out := make([]roots.Opened, len(dirs))
		for i, d := range dirs {
			if out[i].Root, out[i].Err = beneath.OpenRoot(d); out[i].Err != nil && roots.Detail(out[i].Err) != missing {
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

// Follower is who has to know of a change at the moment it happens. Comparable.
type Follower interface {
	sync.Locker                    // held by the set while it changes, with those of all followers
	Follow(*Change) (after func()) // called with it held; after is called without
}

// Join adds a follower, until Leave.
func (c *Set) Join(f Follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followers[f] = true
	c.joined++
}

// Leave is called without the follower's lock held, or with it.
func (c *Set) Leave(f Follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.followers, f)
}

// Version rises with every change.
func (c *Set) Version() uint64 { return c.version.Load() }

// settle follows a change of slots, active or tombs. Called with mu held, or before anybody else knows c.
func (c *Set) settle() {
	c.away = map[rootbound.RootID]string{}
	for _, t := range c.tombs {
		c.away[t.id] = removed
	}
	watch := false
	for _, s := range c.slots {
		watch = watch || s.root == nil && !s.retired || c.accept
		switch {
		case !c.on(s):
			c.away[s.project.ID] = inactive
		case s.retired:
			c.away[s.project.ID] = elsewhere
		}
	}
	c.watch.Store(watch)
	c.version.Add(1)
}

// on reports whether the operator's choice leaves s active. Called with mu held.
func (c *Set) on(s *slot) bool { return c.active == nil || c.active[s.project.ID] }

// inForce reports whether s can be granted, once its directory is there. Called with mu held.
func (c *Set) inForce(s *slot) bool { return c.on(s) && !s.retired }

// all are the slots now.
func (c *Set) all() []*slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slots
}

// Projects are all projects of the configuration in the operator's order, in force or not.
func (c *Set) Projects() []rootbound.Project {
	all := c.all()
	out := make([]rootbound.Project, len(all))
	for i := range all {
		out[i] = *all[i].project
	}
	return out
}

// Active are the ids that can be granted, in the operator's order: neither inactive nor retired. Their directory may be
// missing.
func (c *Set) Active() []rootbound.RootID {
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
func (c *Set) Missing() []rootbound.RootID {
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
func (c *Set) Root(id rootbound.RootID) *beneath.Root {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slots {
		if s.project.ID == id && !s.retired {
			return s.root
		}
	}
	return nil
}

// Has reports whether id is or was a project's, so that it can be nothing else.
func (c *Set) Has(id rootbound.RootID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, away := c.away[id]
	return away || slices.ContainsFunc(c.slots, func(s *slot) bool { return s.project.ID == id })
}

// Covers tells without disk access whether an absolute path is below a spelling of some project in force: the path as
// granted or the canonical one. A client's root may have other spellings, so a no is final only where roots are not asked.
func (c *Set) Covers(abs string) bool {
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
func (c *Set) Close() error {
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
func (c *Set) Retarget(ids ...rootbound.RootID) error {
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

// Look pins what has appeared, and with AcceptRetarget what was replaced. It costs one system call for each project that
// is missing, and nothing if none is.
func (c *Set) Look(ctx context.Context) {
	if !c.watch.Load() {
		return
	}
	for _, s := range c.all() {
		_ = c.pin(ctx, s, true) // what cannot be pinned stays as it is: missing or replaced
	}
}

// pin opens a project if it is missing or moved. unasked: only what look may do.
func (c *Set) pin(ctx context.Context, s *slot, unasked bool) error {
	c.mu.Lock()
	p, old, retired := s.project, s.root, s.retired
	if old != nil {
		old = old.Retain()
	}
	c.mu.Unlock()
	if old != nil {
		defer old.Release()
	}
	if unasked && !c.accept && (old != nil || retired) || old != nil && !retired && old.Unmoved() == nil {
		return nil
	}
	got := c.open.All(ctx, []string{p.Dir})[0]
	if got.Err != nil {
		return &rootbound.Error{Reason: rootbound.RootUnusable, Detail: roots.Detail(got.Err), Root: p.ID, Path: p.Dir, Err: got.Err}
	}
	var err error
	c.change(func() *Change {
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
		d := &Change{}
		d.changed(p.ID, old, got.Root)
		if old != nil {
			d.done = append(d.done, old) // the ceiling's own reference
		}
		s.root, s.retired = got.Root, false
		return d
	})
	return err
}

// Pin is one project's directory, held for the caller.
type Pin struct {
	Project *rootbound.Project // never changed
	Sum     string             // of Project
	Root    *beneath.Root
	On      bool // in force
}

// Held is a Set at one moment.
type Held struct {
	Version uint64
	Pins    []Pin                       // of every project that has a directory, in the operator's order; the caller's to release
	Away    map[rootbound.RootID]string // what is not in force and why: "removed", "replaced", "not active". Shared: not to be changed
	Removed map[rootbound.RootID]string // where those were
	InForce int                         // projects in force, there or not
	Idle    bool                        // projects are configured, and none of them is active
}

// Hold gives what is pinned now.
func (c *Set) Hold() Held {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := Held{Version: c.version.Load(), Pins: make([]Pin, 0, len(c.slots)), Away: c.away, Idle: len(c.slots) > 0}
	for _, t := range c.tombs {
		if h.Removed == nil {
			h.Removed = make(map[rootbound.RootID]string, len(c.tombs))
		}
		h.Removed[t.id] = t.path
	}
	for _, s := range c.slots {
		on := c.inForce(s)
		if on {
			h.InForce++
		}
		h.Idle = h.Idle && !c.on(s)
		if s.root != nil {
			h.Pins = append(h.Pins, Pin{s.project, s.sum, s.root.Retain(), on})
		}
	}
	return h
}

// Sum covers rights and rules of a project, not which directory has them or what it is called.
func Sum(p rootbound.Project) string {
	p.ID, p.Dir, p.Description = "", "", ""
	return Digest(p)
}

// Digest is SHA-256 of the JSON of its arguments, in hex.
func Digest(v ...any) string {
	b, err := json.Marshal(v)
	if err != nil { // only plain values come here
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
