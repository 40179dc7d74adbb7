package fileop

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"slices"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
)

// Batch changes several files together: all of them or none. Its verbs come in this order, and Close at last:
//
//	Add each change · Stage · (write down what will change) · Publish · Settle
//
// Until Publish nothing is visible. Publish shows everything inside one call of its commit, and takes everything back if
// one of them cannot be shown; what another program changed meanwhile it leaves as it is and names. Not safe for
// concurrent use.
type Batch struct {
	steps []*Step
	shown bool
}

// Step is one file of a batch.
type Step struct {
	// What is asked for, set by the caller.
	Path    string // as the caller names the file, in errors
	Content []byte // the whole new content
	Delete  bool
	Exec    *bool        // set or clear the executable bits; nil: as they are, or as of a new file
	Perm    *fs.FileMode // permission bits; nil: as they are, or as of a new file
	Expect  Expected

	t      Target
	old    *beneath.Info
	new    *beneath.Info // as staged
	digest []byte
	staged *beneath.Staged
	aside  *beneath.Entry // where a deleted file lies until Settle
	gone   *beneath.Entry // where it lies after Settle
	now    beneath.Info   // as published
	done   bool
}

// Old is what the entry held, nil for nothing. Until Publish.
func (s *Step) Old() *beneath.Info { return s.old }

// New is what it will hold, nil for nothing. From Stage on.
func (s *Step) New() *beneath.Info { return s.new }

// Digest is the SHA-256 of what it will hold. From Stage on.
func (s *Step) Digest() []byte { return s.digest }

// Temporary is the temporary name beside the entry: of what will be there before Publish, of what was there after it.
func (s *Step) Temporary() string {
	switch {
	case s.staged != nil:
		return s.staged.Name()
	case s.aside != nil:
		return s.aside.Key().Name
	}
	return ""
}

// Now describes the published file. After Publish.
func (s *Step) Now() beneath.Info { return s.now }

// Steps are the changes in the order they were added.
func (b *Batch) Steps() []*Step { return b.steps }

// Add adds a change of t and checks what it expects: the errors of Expected.Check; not_found for a deletion of nothing.
func (b *Batch) Add(t Target, s Step) error {
	s.t = t
	if err := s.look(); err != nil {
		return s.fail(err)
	}
	if err := s.Expect.Check(s.old, !s.Delete); err != nil {
		return s.fail(err)
	}
	b.steps = append(b.steps, &s)
	return nil
}

// look finds what the entry holds: a batch replaces and deletes regular files only.
func (s *Step) look() error {
	if o := s.t.Object(); o != nil {
		now, err := o.Stat()
		s.old = &now
		return err
	}
	if !s.Delete {
		return nil
	}
	now, err := s.t.Entry().Lstat()
	switch {
	case err != nil:
		return err
	case now.Mode.IsDir():
		return &rootbound.Error{Reason: rootbound.IsADirectory}
	case !now.Mode.IsRegular():
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "a link, not a file"}
	}
	s.old = &now
	return nil
}

// Stage writes and syncs every new content under a temporary name.
func (b *Batch) Stage(ctx context.Context) error {
	for _, s := range b.steps {
		if err := s.stage(ctx); err != nil {
			return s.fail(err)
		}
	}
	return nil
}

func (s *Step) stage(ctx context.Context) (err error) {
	if s.Delete {
		s.aside, err = s.t.Entry().Beside()
		return err
	}
	if s.staged, err = s.t.Stage(); err != nil {
		return err
	}
	if s.Exec != nil {
		s.staged.Exec(*s.Exec)
	}
	if s.Perm != nil {
		s.staged.Perm(*s.Perm)
	}
	if err := fill(ctx, s.staged, s.Content); err != nil {
		return err
	}
	now, err := s.staged.Stat()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(s.Content)
	s.new, s.digest = &now, sum[:]
	return nil
}

// Publish shows all changes inside one call of commit. inside is asked before commit ends whether every parent is still
// beneath its root. Without an error the effect is in force, whatever the warnings say. changed names those files which
// another program changed before they could be taken back: they hold what it left.
func (b *Batch) Publish(ctx context.Context, commit func(func() error) error, inside func() error) (changed []string, err error) {
	if err := effect.Cancelled(ctx); err != nil {
		return nil, err
	}
	err = commit(func() error {
		for _, s := range b.steps {
			if err := s.publish(); err != nil {
				changed = b.withdraw()
				return s.fail(err)
			}
		}
		if err := inside(); err != nil {
			changed = b.withdraw()
			return err
		}
		b.shown = true
		return nil
	})
	if b.shown {
		return nil, nil // what follows the effect does not undo it
	}
	return changed, effect.Failed(err)
}

func (s *Step) publish() error {
	if !s.Delete {
		now, err := s.staged.Hold(s.old)
		s.now, s.done = now, err == nil
		return err
	}
	e := s.t.Entry()
	if err := effect.Still(e, *s.old); err != nil {
		return err
	}
	if err := e.Rename(s.aside, s.old.ID, false); err != nil {
		return err
	}
	s.done = true
	now, err := s.aside.Lstat() // the rename itself changed ctime
	if err == nil && (now.Size != s.old.Size || !now.MTime.Equal(s.old.MTime)) {
		err = &rootbound.Error{Reason: rootbound.VersionConflict}
	}
	return err
}

// Withdraw takes a published batch back, inside commit, and names what another program changed meanwhile: it stays.
func (b *Batch) Withdraw(commit func(func() error) error) (changed []string, err error) {
	err = commit(func() error {
		changed = b.withdraw()
		return nil
	})
	return changed, err
}

func (b *Batch) withdraw() (changed []string) {
	for _, s := range slices.Backward(b.steps) {
		if !s.done {
			continue
		}
		var err error
		if s.Delete {
			from := s.aside
			if s.gone != nil {
				from = s.gone
			}
			err = from.Rename(s.t.Entry(), s.old.ID, false)
		} else {
			err = s.staged.Withdraw()
		}
		if err != nil {
			changed = append(changed, s.Path)
			continue
		}
		s.done = false
	}
	b.shown = false
	return changed
}

// Sync makes the change durable: one sync for each directory. A warning if one fails.
func (b *Batch) Sync() (warnings []string) {
	seen := map[beneath.ObjectID]bool{}
	for _, s := range b.steps {
		e := s.t.Entry()
		if dir := e.Key().Dir; seen[dir] {
			continue
		} else {
			seen[dir] = true
		}
		if e.SyncDir() != nil && warnings == nil {
			warnings = []string{effect.NotDurable}
		}
	}
	return warnings
}

// Settle moves what was replaced or deleted to place(i), or removes it where place is or gives nil.
func (b *Batch) Settle(place func(i int) *beneath.Entry) error {
	var first error
	for i, s := range b.steps {
		if !s.done || s.old == nil {
			continue
		}
		var to *beneath.Entry
		if place != nil {
			to = place(i)
		}
		var err error
		switch {
		case !s.Delete:
			err = s.staged.Settle(to)
		case to != nil:
			if err = s.aside.Rename(to, s.old.ID, false); err == nil {
				s.gone = to
			}
		default:
			err = s.aside.Remove(s.old.ID)
		}
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Close gives up what the batch holds open; what was staged is removed with its target.
func (b *Batch) Close() {
	for _, s := range b.steps {
		if s.aside != nil {
			s.aside.Close()
		}
	}
}

// fail makes an error name the file.
func (s *Step) fail(err error) error {
	err = effect.Failed(err)
	if e, ok := err.(*rootbound.Error); ok && e.Path == "" {
		out := *e
		out.Path = s.Path
		return &out
	}
	return err
}
