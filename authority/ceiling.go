package authority

import (
	"slices"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/pins"
	"github.com/rootbound/rootbound/authority/roots"
	"github.com/rootbound/rootbound/beneath"
)

// Ceiling is what the operator granted, opened and pinned once and shared by all authorities of the process. What it holds
// changes by Replace and Activate, and where a directory that was missing appears. Safe for concurrent use.
type Ceiling struct {
	pins *pins.Set
	wide roots.Wide
	bare bool // opened without any project: then the mode is client where none is set
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
	p, err := pins.Open(projects, o.AcceptRetarget)
	if err != nil {
		return nil, err
	}
	return &Ceiling{pins: p, wide: roots.Wide{Homes: o.Homes}, bare: len(projects) == 0}, nil
}

// Replace puts another list of projects in force: what a configuration was changed to. A directory that stays keeps its
// pin and its handle and costs one system call; new ones are opened and pinned; rights and rules are those of the new
// list. An id that is no longer listed is retired, and so is one whose path reaches another object than the one it meant
// in this process, unless AcceptRetarget or a Retarget says that it may: it is never pinned to the other object by
// itself. A retired id comes back with the object it meant. Missing directories are kept and pinned when they appear; a
// new one that does not open within a second counts as missing.
//
// It takes effect at once: when Replace returns, the current generation of every authority whose scope changed has ended
// as with Invalidate(generation_stale), and the others keep theirs. An authority of 2026-07-28, whose requests bring their
// own roots, cannot tell and ends it with any change. Errors are those of Open, and argument_invalid after Close; then
// nothing has changed.
func (c *Ceiling) Replace(projects []rootbound.Project) error { return c.pins.Replace(projects) }

// Activate chooses which of the projects are in force (contract §2, rootbound use): nil: all; none: nothing. It only ever
// narrows what Open and Replace grant, holds for the projects of a later Replace too, and takes effect like Replace.
// argument_invalid for an id that is no project: then nothing has changed.
func (c *Ceiling) Activate(ids []rootbound.RootID) error { return c.pins.Activate(ids) }

// Retarget pins projects anew whose path reaches another object, retired ones too: all, or those named. It is what a person
// accepts (config apply), so an id means another directory from then on, and takes effect like Replace.
// root_unusable if a directory is not there: it stays pinned as it was.
func (c *Ceiling) Retarget(ids ...rootbound.RootID) error { return c.pins.Retarget(ids...) }

// Projects are all projects of the configuration in the operator's order, in force or not.
func (c *Ceiling) Projects() []rootbound.Project { return c.pins.Projects() }

// Active are the ids that can be granted, in the operator's order: neither inactive nor retired. Their directory may be
// missing.
func (c *Ceiling) Active() []rootbound.RootID { return c.pins.Active() }

// Missing are the projects whose directory is not there yet.
func (c *Ceiling) Missing() []rootbound.RootID { return c.pins.Missing() }

// Root is a project's directory, nil while it is missing or retired. Borrowed: good until Close, Replace or Retarget.
func (c *Ceiling) Root(id rootbound.RootID) *beneath.Root { return c.pins.Root(id) }

// Covers tells without disk access whether an absolute path is below a spelling of some project in force: the path as
// granted or the canonical one. A client's root may have other spellings, so a no is final only where roots are not asked.
func (c *Ceiling) Covers(abs string) bool { return c.pins.Covers(abs) }

// Close releases the directories; snapshots keep theirs until their last use.
func (c *Ceiling) Close() error { return c.pins.Close() }

// Width says in words what makes a directory uncommonly wide for a project: that it is the whole file system, a home
// directory, or holds some. Empty: nothing does. It is for a warning (a client is refused such a root, contract §2) and looks
// at paths only, with links resolved, so that no home directory but this user's is opened for it.
func Width(dir string) string { return roots.Width(dir) }

// follower is an authority as its ceiling sees it.
type follower struct{ a *Authority }

func (f follower) Lock()   { f.a.mu.Lock() }
func (f follower) Unlock() { f.a.mu.Unlock() }

// Follow ends the generation if the change concerns it.
func (f follower) Follow(d *pins.Change) (after func()) {
	a := f.a
	a.epoch++ // an answer on its way was judged by the ceiling before
	if a.life == nil && !a.pledged || a.cur != nil && !a.cur.concerned(d) {
		return func() {}
	}
	return a.overtake(rootbound.GenerationStale, "stale")
}

// concerned reports whether a change may touch what s grants: a project that is granted, one that lies in or around a
// grant, or one that would be granted too. It may say yes too often; the next publication finds out.
func (s *Snapshot) concerned(d *pins.Change) bool {
	if s.Source != fromRoots && len(d.IDs) > 0 {
		return true // the whole ceiling is granted
	}
	for _, g := range s.Grants {
		if d.IDs[g.Project.ID] {
			return true
		}
	}
	for _, p := range d.Paths {
		if slices.ContainsFunc(s.reached, func(r string) bool { return roots.Nested(r, p) }) {
			return true
		}
	}
	return false
}
