package undo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/state"
	"github.com/rootbound/rootbound/patch"
)

const (
	maxRecord = 8 << 20
	refused   = ".refused" // ends the name of a record that is not ours
)

// Recover rolls back every change that a process which is no longer there had begun and not ended. It only ever rolls
// back, and only what is still the very file the change wrote, by identity, size, time and content; whatever else it
// finds stays as it is and is told. It acts on no record without the store's MAC, writes only beneath the directories of
// projects, follows no link, and takes the entries' locks. To be called at start, before the process confines itself and
// before the temporary files of dead processes are removed. notes are for the operator; none of them keeps a server from
// starting.
func (s *Store) Recover(ctx context.Context, projects []rootbound.Project, locks guard.Locks) (notes []string) {
	names, err := os.ReadDir(s.path("begun", ""))
	if err != nil {
		return []string{"the journal of changes cannot be read: " + err.Error()}
	}
	for _, n := range names {
		if ctx.Err() != nil {
			return notes
		}
		if filepath.Ext(n.Name()) == refused {
			continue
		}
		notes = append(notes, s.recoverOne(ctx, n.Name(), projects, locks)...)
	}
	if len(names) > 0 {
		s.sweep()
	}
	return notes
}

// sweep removes what no record names: copies that were cut short. A copy that is being made has no name in a record yet,
// so what is young stays.
func (s *Store) sweep() {
	named := map[string]bool{}
	for _, sub := range []string{"begun", "done"} {
		names, err := os.ReadDir(s.path(sub, ""))
		if err != nil {
			return
		}
		for _, n := range names {
			r, err := s.load(s.path(sub, n.Name()))
			if err != nil && !errors.Is(err, fs.ErrNotExist) && filepath.Ext(n.Name()) != refused {
				return // it may name anything
			}
			if r != nil {
				for _, e := range r.Entries {
					named[e.Kept] = true
				}
			}
		}
	}
	names, _ := os.ReadDir(s.path("data", ""))
	for _, n := range names {
		if named[n.Name()] {
			continue
		}
		at, err := s.data.Entry(n.Name())
		if err != nil {
			continue
		}
		if now, err := at.Lstat(); err == nil && s.opt.Now().Sub(now.CTime) > time.Hour {
			s.removeKept(n.Name())
		}
		at.Close()
	}
}

func (s *Store) recoverOne(ctx context.Context, name string, projects []rootbound.Project, locks guard.Locks) []string {
	at := s.path("begun", name)
	f, err := os.OpenFile(at, os.O_RDWR, 0)
	if err != nil {
		return nil // ended meanwhile
	}
	defer f.Close()
	if ok, err := state.Claim(f, at); err != nil || !ok {
		return nil // its process lives
	}
	sealed, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return []string{"a change that was cut short cannot be read: " + err.Error()}
	}
	r, err := open(s.key, sealed)
	switch {
	case err == errTorn: // written before anything was changed, and not to its end
		_ = os.Remove(at)
		return nil
	case err != nil:
		_ = os.Rename(at, at+refused)
		return []string{"a record of a change that was cut short was not used: " + err.Error()}
	}
	b := rollback{s: s, r: r, sameBoot: r.Boot != "-" && r.Boot == s.boot, projects: projects, locks: locks}
	defer b.close()
	for i := range slices.Backward(r.Entries) {
		b.entry(ctx, &r.Entries[i])
	}
	if b.wait && b.s.opt.Now().Sub(timeOf(r.ID)) < b.s.bound.Load().Keep {
		return b.notes // what is not there now may be at the next start
	}
	if len(b.notes) == 0 {
		s.empty(r)
		_ = os.Remove(at)
		return []string{fmt.Sprintf("a change of %s that was cut short was rolled back (%s)", patch.Counted(len(r.Entries)), r.ID)}
	}
	// What was kept stays in the store for as long as that holds.
	_ = os.Rename(at, s.path("done", r.ID+"."+strconv.FormatInt(r.size(), 10)))
	return b.notes
}
