package undo

import (
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/state"
)

// kept is a change that is happening. Not safe for concurrent use.
type kept struct {
	s       *Store
	r       *record
	file    *os.File // locked
	durable bool
	places  []*beneath.Entry
	ended   bool
}

// Keep writes the change down, and copies what the change will remove if it cannot be moved here as it is: because it
// lies on another file system, or because the file has more names, by which it could be written to. limit_reached: it is
// more than the store holds. io_error: it cannot be written down.
func (s *Store) Keep(ctx context.Context, c guard.Change) (guard.Kept, error) {
	r := &record{Time: s.opt.Now(), Boot: s.boot, Operation: c.Operation, Decision: c.Decision}
	if c.Origin != nil {
		r.Client, r.Principal = c.Origin.ClientName, c.Origin.Principal
	}
	for _, l := range c.Losses {
		r.Entries = append(r.Entries, s.entryOf(l))
	}
	if err := s.room(r.size()); err != nil {
		return nil, err
	}
	k := &kept{s: s, r: r, durable: c.Durable}
	if err := k.begin(); err != nil {
		return nil, unwritable(err)
	}
	for i, l := range c.Losses {
		if err := k.prepare(ctx, l, &r.Entries[i]); err != nil {
			k.Drop()
			if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				return nil, &rootbound.Error{Reason: rootbound.Cancelled, Err: err}
			}
			if rootbound.ReasonOf(err) == rootbound.VersionConflict {
				return nil, err
			}
			return nil, unwritable(err)
		}
	}
	if c.Durable {
		if err := errors.Join(k.file.Sync(), state.SyncDir(s.path("begun", ""))); err != nil {
			k.Drop()
			return nil, unwritable(err)
		}
	}
	return k, nil
}

func (s *Store) entryOf(l guard.Loss) entry {
	e := entry{
		Project: l.Project, Path: []byte(l.Path), Root: []byte(l.Root), At: []byte(l.At.At().Path),
		Old: thingOf(l.Old, nil), New: thingOf(l.New, l.Digest), Temp: l.Temp,
	}
	if l.From != nil {
		e.From, e.FromDir = []byte(l.From.At().Path), []byte(l.FromDir)
		e.FromIn, e.FromAt = l.FromIn, []byte(l.FromAt)
	}
	if l.Old == nil {
		return e
	}
	if !l.Old.Mode.IsRegular() {
		e.Old.Size = l.Size
	}
	e.Kept = keptName()
	e.Copied = !s.takes(l)
	return e
}

// takes reports whether what is lost can be renamed into the store: it lies on the store's file system, on the same mount,
// and has no other name.
func (s *Store) takes(l guard.Loss) bool {
	return moves && s.beside(l.At) && (l.Old.Mode.IsDir() || l.Old.Links < 2)
}

// beside reports whether an entry is reached through the store's own mount, so that a rename can lead from one to the other.
func (s *Store) beside(at *beneath.Entry) bool {
	dir, ours := at.Key().Dir, s.data.Info().ID
	return dir.Dev == ours.Dev && dir.Mount == ours.Mount
}

// begin makes the record.
func (k *kept) begin() error {
	for {
		k.r.ID = k.s.newID()
		path := k.s.path("begun", k.r.ID)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		ok, err := state.Claim(f, path)
		if err == nil && !ok { // somebody who recovers took it for a dead one's
			f.Close()
			continue
		}
		if err == nil {
			var sealed []byte
			if sealed, err = k.r.seal(k.s.key); err == nil {
				_, err = f.Write(sealed)
			}
		}
		if err != nil {
			os.Remove(path)
			f.Close()
			return err
		}
		k.file = f
		return nil
	}
}

// prepare makes the place for a loss, or the copy of it.
func (k *kept) prepare(ctx context.Context, l guard.Loss, e *entry) error {
	var place *beneath.Entry
	if e.Old != nil {
		at, err := k.s.data.Entry(e.Kept)
		if err != nil {
			return err
		}
		if !e.Copied {
			place = at
		} else {
			defer at.Close()
			if err := copyInto(ctx, l, at, k.durable); err != nil {
				return err
			}
		}
	}
	k.places = append(k.places, place)
	return nil
}

// ID is what the change is taken back by.
func (k *kept) ID() string { return k.r.ID }

// Place is where loss i is to be renamed to, nil if there is a copy or nothing is lost.
func (k *kept) Place(i int) *beneath.Entry { return k.places[i] }

// Done makes the change one that is done and can be taken back. An error means that it still counts as begun: a crash, or
// the end of this process, would let it be rolled back. Drop may still follow.
func (k *kept) Done() error {
	if k.ended {
		return nil
	}
	s, size := k.s, k.r.size()
	name := k.r.ID + "." + strconv.FormatInt(size, 10)
	if k.durable {
		if err := state.SyncDir(s.path("data", "")); err != nil {
			return err
		}
	}
	if err := os.Rename(s.path("begun", k.r.ID), s.path("done", name)); err != nil {
		return err
	}
	if k.durable {
		if err := errors.Join(state.SyncDir(s.path("done", "")), state.SyncDir(s.path("begun", ""))); err != nil {
			return errors.Join(err, os.Rename(s.path("done", name), s.path("begun", k.r.ID))) // the disk may still say begun
		}
	}
	k.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, item{k.r.ID, name, size})
	s.total += size
	s.touched()
	return nil
}

// Drop forgets the change: it did not happen, or it cannot be kept.
func (k *kept) Drop() {
	if k.ended {
		return
	}
	if k.filled() {
		if k.Done() == nil { // the only place where that is now: it must not go
			return
		}
	} else {
		k.s.empty(k.r)
	}
	_ = k.file.Truncate(0) // should the name stay, it says nothing
	_ = os.Remove(k.s.path("begun", k.r.ID))
	k.close()
}

// filled reports whether a place holds what was lost.
func (k *kept) filled() bool {
	for _, p := range k.places {
		if p != nil {
			if _, err := p.Lstat(); err == nil {
				return true
			}
		}
	}
	return false
}

func (k *kept) close() {
	k.ended = true
	for _, p := range k.places {
		if p != nil {
			p.Close()
		}
	}
	k.file.Close()
}
