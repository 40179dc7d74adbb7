package authority

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/roots"
	"github.com/rootbound/rootbound/beneath"
)

// Ceiling is what the operator granted, opened and pinned once and shared by all authorities of the process.
// Safe for concurrent use.
type Ceiling struct {
	opt     CeilingOptions
	digest  string
	open    roots.Opener
	wide    roots.Wide
	version atomic.Uint64 // rises when a project is pinned
	watch   atomic.Bool   // something is missing, or may be pinned anew by itself

	mu     sync.Mutex
	slots  []*slot // how many there are and their projects never change after Open
	closed bool
}

type slot struct {
	project *rootbound.Project
	root    *beneath.Root // nil while missing; read and written with mu held
}

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
	c := &Ceiling{opt: o}
	c.wide.Homes = o.Homes
	seen := map[rootbound.RootID]bool{}
	for _, p := range projects {
		detail := ""
		switch {
		case p.ID == "":
			detail = "a project without id"
		case seen[p.ID]:
			detail = "two projects with the id " + string(p.ID)
		case p.Rights == 0:
			detail = "project " + string(p.ID) + " has no rights"
		case !filepath.IsAbs(p.Dir):
			detail = "the directory of project " + string(p.ID) + " is not absolute"
		}
		if detail != "" {
			c.Close()
			return nil, &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: detail, Root: p.ID, Path: p.Dir}
		}
		seen[p.ID] = true
		if err := c.add(p); err != nil {
			c.Close()
			return nil, err
		}
	}
	c.digest = digest(c.Projects())
	c.version.Store(1)
	c.see()
	return c, nil
}

func (c *Ceiling) add(p rootbound.Project) error {
	root, err := beneath.OpenRoot(p.Dir)
	if err != nil && detailOf(err) != "missing" {
		return &rootbound.Error{Reason: rootbound.RootUnusable, Detail: detailOf(err), Root: p.ID, Path: p.Dir, Err: err}
	}
	if root != nil {
		if twin := c.twin(root, p.ID); twin != nil {
			root.Release()
			if projectDigest(*twin.project) == projectDigest(p) {
				return nil
			}
			return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Root: p.ID, Path: p.Dir,
				Detail: "projects " + string(twin.project.ID) + " and " + string(p.ID) + " are one directory with different rights"}
		}
	}
	c.slots = append(c.slots, &slot{&p, root})
	return nil
}

// twin is another project pinned to the same object.
func (c *Ceiling) twin(root *beneath.Root, but rootbound.RootID) *slot {
	for _, s := range c.slots {
		if s.root != nil && s.project.ID != but && s.root.ID().Same(root.ID()) {
			return s
		}
	}
	return nil
}

// Projects are all projects in the operator's order.
func (c *Ceiling) Projects() []rootbound.Project {
	out := make([]rootbound.Project, len(c.slots))
	for i := range c.slots {
		out[i] = *c.slots[i].project
	}
	return out
}

// Missing are the projects whose directory is not there yet.
func (c *Ceiling) Missing() []rootbound.RootID {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []rootbound.RootID
	for _, s := range c.slots {
		if s.root == nil {
			out = append(out, s.project.ID)
		}
	}
	return out
}

// Root is a project's directory, nil while it is missing. Borrowed: good until Close or Retarget.
func (c *Ceiling) Root(id rootbound.RootID) *beneath.Root {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slots {
		if s.project.ID == id {
			return s.root
		}
	}
	return nil
}

func (c *Ceiling) has(id rootbound.RootID) bool {
	return slices.ContainsFunc(c.slots, func(s *slot) bool { return s.project.ID == id })
}

// Digest is the policy digest: ids, directories, rights and rules of all projects.
func (c *Ceiling) Digest() string { return c.digest }

// Covers tells without disk access whether an absolute path is below a spelling of some project: the path as granted or
// the canonical one. A client's root may have other spellings, so a no is final only where roots are not asked.
func (c *Ceiling) Covers(abs string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slots {
		if roots.Within(s.project.Dir, abs) || s.root != nil && roots.Within(s.root.Path(), abs) {
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
	return nil
}

// Retarget pins projects anew whose path reaches another object: all, or those named. Authorities publish a new
// generation with their next call. root_unusable if a directory is not there: it stays pinned as it was.
func (c *Ceiling) Retarget(ids ...rootbound.RootID) error {
	for _, s := range c.slots {
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
	for _, s := range c.slots {
		_ = c.pin(ctx, s, true) // what cannot be pinned stays as it is: missing or replaced
	}
}

// pin opens a project if it is missing or moved. unasked: only what look may do.
func (c *Ceiling) pin(ctx context.Context, s *slot, unasked bool) error {
	c.mu.Lock()
	p, old := s.project, s.root
	if old != nil {
		old = old.Retain()
	}
	c.mu.Unlock()
	if old != nil {
		defer old.Release()
		if unasked && !c.opt.AcceptRetarget || old.Unmoved() == nil {
			return nil
		}
	}
	got := c.open.All(ctx, []string{p.Dir})[0]
	if got.Err != nil {
		return &rootbound.Error{Reason: rootbound.RootUnusable, Detail: detailOf(got.Err), Root: p.ID, Path: p.Dir, Err: got.Err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || s.root != old {
		got.Root.Release() // somebody else was first
		return nil
	}
	if twin := c.twin(got.Root, p.ID); twin != nil { // which rights hold would be a guess
		got.Root.Release()
		return &rootbound.Error{Reason: rootbound.RootUnusable, Detail: "the directory of project " + string(twin.project.ID), Root: p.ID, Path: p.Dir}
	}
	if old != nil {
		old.Release() // the ceiling's own reference
	}
	s.root = got.Root
	c.version.Add(1)
	c.seeLocked()
	return nil
}

func (c *Ceiling) see() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seeLocked()
}

func (c *Ceiling) seeLocked() {
	missing := slices.ContainsFunc(c.slots, func(s *slot) bool { return s.root == nil })
	c.watch.Store(len(c.slots) > 0 && (missing || c.opt.AcceptRetarget))
}

// pinned is one project's directory, held for the caller.
type pinned struct {
	project *rootbound.Project
	root    *beneath.Root
}

// hold gives what is pinned now and the version it belongs to.
func (c *Ceiling) hold() (version uint64, out []pinned) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slots {
		if s.root != nil {
			out = append(out, pinned{s.project, s.root.Retain()})
		}
	}
	return c.version.Load(), out
}
