package setting

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
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/sandbox"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/internal/state"
	"github.com/rootbound/rootbound/internal/undo"
)

// House is what a running server keeps outside the projects: locks and journal shared with this user's other servers,
// the audit log, and the list of files that are ours.
type House struct {
	Own     *state.Own
	locks   *state.Locks
	journal *state.Journal
	log     *decision.JSONL
	Undo    *undo.Store
}

// Tune puts the settings of a configuration in force that a running server can change.
func (h *House) Tune(c *config.Config, service *serve.Service) error {
	var o serve.Options
	live(c, &o)
	if h.Undo != nil {
		h.Undo.Tune(undo.Options{MaxSize: c.Undo.MaxSize, Keep: c.Undo.Keep, Entries: c.Undo.Entries})
		if c.Undo.MaxSize > 0 {
			o.Keep = h.Undo
		}
	}
	if h.log != nil {
		if err := h.log.Tune(decision.Durability(c.Audit.Fsync), c.Audit.MaxSize, c.Audit.Keep); err != nil {
			return err
		}
	}
	return service.Tune(o)
}

// Furnish opens it and puts it into the options. A server without a state directory still serves: its changes are then
// serialized in this process only, which it says.
func (s *Settings) Furnish(ctx context.Context, w World) (*House, error) {
	h := &House{Own: &state.Own{}}
	o := &s.Options
	o.Warn = func(line string) { w.Say(line) }
	o.Server = decision.Server{UID: os.Getuid(), GID: os.Getgid(), PID: os.Getpid(), Version: o.Version, Tier: beneath.Tier()}
	dir, err := s.open(ctx, h)
	if err != nil {
		w.Say("Warning: " + rootbound.Clean(err.Error()) + "; changes are serialized within this process only")
	}
	if s.Audit.Path != "" {
		if err := s.audit(w, h, dir); err != nil {
			h.Close()
			return nil, err
		}
	}
	self, _ := os.Executable() // without it one file less is protected
	h.Own.Add(self, s.File)
	o.Own = func() []guard.Own {
		h.Own.Refresh() // the guard keeps it for as long as it may be kept
		files := h.Own.Files()
		out := make([]guard.Own, len(files))
		for i, f := range files {
			out[i] = guard.Own{Path: f.Path, ID: f.ID, Beside: f.Beside, Still: f.Still}
		}
		return out
	}
	o.Confine = func(c *authority.Ceiling) (string, error) { return s.Enclose(w, dir, c) }
	return h, nil
}

// Enclose shuts this process into the ceiling, its state directory and its log, as far as was asked for and can be done.
func (s *Settings) Enclose(w World, dir *state.Dir, c *authority.Ceiling) (string, error) {
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
		w.Say("Warning: " + rootbound.Clean(st.Text))
	}
	s.Confined = st.Confined
	return st.Text, err
}

// audit opens the log of decision records. Without it nothing is served: it was asked for.
func (s *Settings) audit(w World, h *House, dir *state.Dir) error {
	log, err := decision.OpenJSONL(s.Audit.Path, decision.JSONLOptions{
		Sync: decision.Durability(s.Audit.Fsync), MaxSize: s.Audit.MaxSize, Keep: s.Audit.Keep,
		Rotated: h.Own.Refresh,
		Trouble: func(err error) {
			if err != nil {
				w.Say("Warning: the audit log cannot be written, so changes are refused until it can: " + rootbound.Clean(err.Error()))
			}
		},
	})
	if err != nil {
		return Failed("the audit log cannot be opened: %s", rootbound.Clean(err.Error()))
	}
	s.Options.Sink, h.log = log, log
	h.Own.AddLog(s.Audit.Path)
	if s.Audit.Paths != "hash" {
		return nil
	}
	err = errors.New("there is no state directory")
	if dir != nil {
		var key []byte
		if key, err = dir.Key("audit"); err == nil {
			s.Options.Sink = decision.Hashed(log, key)
			return nil
		}
	}
	_ = log.Close() // nothing was written
	return Failed("audit.paths: hash needs a key: %s", rootbound.Clean(err.Error()))
}

func (s *Settings) open(ctx context.Context, h *House) (*state.Dir, error) {
	o := &s.Options
	dir, err := s.State()
	if err != nil {
		return nil, err
	}
	h.Own = dir.Own()
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
func (h *House) keep(ctx context.Context, s *Settings, dir *state.Dir) error {
	store, err := undo.Open(dir, s.UndoOptions())
	if err != nil {
		return err
	}
	h.Undo = store
	if h.locks != nil {
		for _, note := range store.Recover(ctx, s.Projects, h.locks) {
			s.Options.Warn("Warning: " + rootbound.Clean(note))
		}
	}
	s.Options.Patches.Journal = store // patches are written down in any case: a crash must not leave half of one
	if s.Undo.MaxSize > 0 {
		s.Options.Keep = store
	}
	return nil
}

// wait opens what plans need that wait for a person: where they lie, and what was used up. One without the other would let
// a plan be applied twice.
func (s *Settings) wait(dir *state.Dir) error {
	plans, err := dir.Plans()
	if err != nil {
		return err
	}
	spent, err := dir.Spent()
	if err != nil {
		return err
	}
	s.Options.Patches.Pending, s.Options.Patches.Spender = plans, spent
	return nil
}

// Close ends what a running server keeps.
func (h *House) Close() {
	if h.Undo != nil {
		_ = h.Undo.Close()
	}
	if h.journal != nil {
		_ = h.journal.Close() // what is still staged is recovered at the next start
	}
	if h.locks != nil {
		_ = h.locks.Close()
	}
}

// UndoOptions are the bounds of the store of what changes replaced.
func (s *Settings) UndoOptions() undo.Options {
	return undo.Options{MaxSize: s.Undo.MaxSize, Keep: s.Undo.Keep, Entries: s.Undo.Entries}
}
