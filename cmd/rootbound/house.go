package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/sandbox"
	"github.com/rootbound/rootbound/internal/state"
	"github.com/rootbound/rootbound/internal/undo"
)

// house is what a running server keeps outside the projects: locks and journal shared with this user's other servers,
// the audit log, and the list of files that are ours.
type house struct {
	own     *state.Own
	locks   *state.Locks
	journal *state.Journal
	undo    *undo.Store
}

// furnish opens it and puts it into the options. A server without a state directory still serves: its changes are then
// serialized in this process only, which it says.
func (s *settings) furnish(ctx context.Context, w world) (*house, error) {
	h := &house{own: &state.Own{}}
	o := &s.opt
	o.Warn = func(line string) { w.say(line) }
	o.Server = decision.Server{UID: os.Getuid(), GID: os.Getgid(), PID: os.Getpid(), Version: o.Version, Tier: beneath.Tier()}
	dir, err := s.open(ctx, h)
	if err != nil {
		w.say("Warning: " + rootbound.Clean(err.Error()) + "; changes are serialized within this process only")
	}
	if s.Audit.Path != "" {
		if err := s.audit(w, h, dir); err != nil {
			h.close()
			return nil, err
		}
	}
	self, _ := os.Executable() // without it one file less is protected
	h.own.Add(self, s.File)
	o.Own = func() []guard.Own {
		files := h.own.Files()
		out := make([]guard.Own, len(files))
		for i, f := range files {
			out[i] = guard.Own{Path: f.Path, ID: f.ID, Beside: f.Beside}
		}
		return out
	}
	o.Confine = func(c *authority.Ceiling) (string, error) { return s.confine(w, dir, c) }
	return h, nil
}

// confine shuts this process into the ceiling, its state directory and its log, as far as was asked for and can be done.
func (s *settings) confine(w world, dir *state.Dir, c *authority.Ceiling) (string, error) {
	n := sandbox.Needs{Audit: s.Audit.Path, Rotates: s.Audit.MaxSize > 0}
	if dir != nil {
		n.State = []string{dir.Path()}
	}
	if s.File != "" { // it is read again when it changes: itself, or beside it where nothing else lies
		n.Read = []string{s.File}
		if own := filepath.Dir(s.File); filepath.Base(own) == "rootbound" {
			n.Read = append(n.Read, own)
		}
	}
	n.Ceiling(c)
	st, err := sandbox.Confine(sandbox.Mode(s.Config.Confine), n)
	if err == nil && !st.Confined && s.Config.Confine == "auto" && len(n.Missing) > 0 {
		w.say("Warning: " + rootbound.Clean(st.Text))
	}
	s.confined = st.Confined
	return st.Text, err
}

// audit opens the log of decision records. Without it nothing is served: it was asked for.
func (s *settings) audit(w world, h *house, dir *state.Dir) error {
	log, err := decision.OpenJSONL(s.Audit.Path, decision.JSONLOptions{
		Sync: decision.Durability(s.Audit.Fsync), MaxSize: s.Audit.MaxSize, Keep: s.Audit.Keep,
		Rotated: h.own.Refresh,
		Trouble: func(err error) {
			if err != nil {
				w.say("Warning: the audit log cannot be written, so changes are refused until it can: " + rootbound.Clean(err.Error()))
			}
		},
	})
	if err != nil {
		return failed("the audit log cannot be opened: %s", rootbound.Clean(err.Error()))
	}
	s.opt.Sink = log
	h.own.AddLog(s.Audit.Path)
	if s.Audit.Paths != "hash" {
		return nil
	}
	err = errors.New("there is no state directory")
	if dir != nil {
		var key []byte
		if key, err = dir.Key("audit"); err == nil {
			s.opt.Sink = decision.Hashed(log, key)
			return nil
		}
	}
	_ = log.Close() // nothing was written
	return failed("audit.paths: hash needs a key: %s", rootbound.Clean(err.Error()))
}

func (s *settings) open(ctx context.Context, h *house) (*state.Dir, error) {
	o := &s.opt
	dir, err := s.state()
	if err != nil {
		return nil, err
	}
	h.own = dir.Own()
	locks, lerr := dir.Locks()
	if lerr == nil {
		h.locks, o.Locks = locks, locks
	}
	kerr := h.keep(ctx, s, dir)
	// Leftovers of a crash are removed if they can be; those that cannot wait for the next start. What a change displaced
	// was put back before.
	_, _ = dir.Recover(ctx, state.RemoveLeftover)
	journal, jerr := dir.Journal()
	if jerr == nil {
		h.journal, o.Journal = journal, journal
	}
	return dir, errors.Join(lerr, kerr, jerr, s.wait(dir))
}

// keep opens the store of what changes replace, and rolls back what a crash cut short. Also where nothing is to be kept:
// it may have been kept before.
func (h *house) keep(ctx context.Context, s *settings, dir *state.Dir) error {
	store, err := undo.Open(dir, s.undoOptions())
	if err != nil {
		return err
	}
	h.undo = store
	if h.locks != nil {
		for _, note := range store.Recover(ctx, s.Projects, h.locks) {
			s.opt.Warn("Warning: " + rootbound.Clean(note))
		}
	}
	s.opt.Patches.Journal = store // patches are written down in any case: a crash must not leave half of one
	if s.Undo.MaxSize > 0 {
		s.opt.Keep = store
	}
	return nil
}

// wait opens what plans need that wait for a person: where they lie, and what was used up. One without the other would let
// a plan be applied twice.
func (s *settings) wait(dir *state.Dir) error {
	plans, err := dir.Plans()
	if err != nil {
		return err
	}
	spent, err := dir.Spent()
	if err != nil {
		return err
	}
	s.opt.Patches.Pending, s.opt.Patches.Spender = plans, spent
	return nil
}

func (h *house) close() {
	if h.undo != nil {
		_ = h.undo.Close()
	}
	if h.journal != nil {
		_ = h.journal.Close() // what is still staged is recovered at the next start
	}
	if h.locks != nil {
		_ = h.locks.Close()
	}
}
