package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/internal/state"
)

// house is what a running server keeps outside the projects: locks and journal shared with this user's other servers,
// the audit log, and the list of files that are ours.
type house struct {
	own     *state.Own
	locks   *state.Locks
	journal *state.Journal
}

// furnish opens it and puts it into the options. A server without a state directory still serves: its edits are then
// serialized in this process only, which it says.
func (s *settings) furnish(ctx context.Context, w world, f *flags) (*house, error) {
	warn := func(line string) { fmt.Fprintln(w.err, line) }
	h := &house{}
	o := &s.opt
	o.Warn = warn
	o.Server = decision.Server{UID: os.Getuid(), GID: os.Getgid(), PID: os.Getpid(), Version: o.Version, Tier: beneath.Tier()}
	if err := h.open(ctx, w, o); err != nil {
		warn("Warning: " + rootbound.Clean(err.Error()) + "; changes are serialized within this process only")
	}
	if f.audit != "" {
		sink, err := decision.OpenJSONL(f.audit, decision.JSONLOptions{
			Rotated: func() { h.own.Refresh() },
			Trouble: func(err error) {
				if err != nil {
					warn("Warning: the audit log cannot be written; changes are refused until it can: " + rootbound.Clean(err.Error()))
				}
			},
		})
		if err != nil {
			return nil, failed("--audit: %s", rootbound.Clean(err.Error()))
		}
		o.Sink = sink
		h.own.AddLog(f.audit)
	}
	self, _ := os.Executable() // without it one file less is protected
	h.own.Add(self, f.config)
	o.Own = func() []guard.Own {
		files := h.own.Files()
		out := make([]guard.Own, len(files))
		for i, f := range files {
			out[i] = guard.Own{Path: f.Path, ID: f.ID}
		}
		return out
	}
	return h, nil
}

func (h *house) open(ctx context.Context, w world, o *serve.Options) error {
	h.own = &state.Own{}
	dir, err := state.Open(w.getenv)
	if err != nil {
		return err
	}
	h.own = dir.Own()
	// Leftovers of a crash are removed if they can be; those that cannot wait for the next start.
	_, _ = dir.Recover(ctx, state.RemoveLeftover)
	locks, lerr := dir.Locks()
	if lerr == nil {
		h.locks, o.Locks = locks, locks
	}
	journal, jerr := dir.Journal()
	if jerr == nil {
		h.journal, o.Journal = journal, journal
	}
	return errors.Join(lerr, jerr)
}

func (h *house) close() {
	if h.journal != nil {
		_ = h.journal.Close() // what is still staged is recovered at the next start
	}
	if h.locks != nil {
		_ = h.locks.Close()
	}
}
