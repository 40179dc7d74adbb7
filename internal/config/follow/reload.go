// Package follow keeps a running server at its configuration file: it notices that the file changed, or what was accepted
// of it, and reads both again so that nothing widens by itself.
package follow

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/config/held"
)

// Reloader reads the configuration again for a server that runs. What it returns never lets more be touched than what is
// in force already, until the accepted scope is another one. Not safe for concurrent use.
type Reloader struct {
	in       config.Input
	started  *config.Config
	taken    *config.Config // in force
	confined bool
	accepted []byte        // what was accepted when the last configuration was taken
	floor    held.Scope    // in force
	fixed    []config.Base // what the process can never get over
	said     map[string]bool
	behind   bool
	later    []string // keys of settings that wait for a restart
	waiting  []config.Waiting
}

// NewReloader begins with what a server was started with. confined: the system holds the process inside the directories
// and rights it had then, so that more of them takes a restart whatever was accepted.
func NewReloader(in config.Input, started *config.Config, confined bool) (*Reloader, error) {
	r := &Reloader{in: in, started: started, taken: started, confined: confined, floor: started.InForce(), said: map[string]bool{}}
	if r.in.Env == "" {
		r.in.Env = started.Environment
	}
	if confined {
		r.fixed = []config.Base{{Scope: reach(started.InForce()), Why: config.WaitsForRestart}}
	}
	for _, w := range started.Waiting {
		r.said[w.String()] = true
	}
	r.waiting = started.Waiting
	raw, err := r.read(config.Name(started.File))
	if err != nil {
		return nil, err
	}
	if r.accepted = started.HeldTo(); r.accepted == nil {
		r.accepted = raw
	}
	r.behind = !bytes.Equal(raw, r.accepted)
	return r, nil
}

// Behind reports whether more was accepted between the reading of the start and NewReloader: Next is due at once.
func (r *Reloader) Behind() bool { return r.behind }

// reach is a scope that binds directories and rights only: what the system enforces on a process.
func reach(s held.Scope) held.Scope {
	out := held.Scope{Settings: s.Settings}
	for _, g := range s.Grants {
		wide := rootbound.Project{ID: g.ID, Dir: g.Dir, Rights: rootbound.ReadOnly, LiftCredentials: true, LiftExecution: true, MovesAcross: true, CopyAcross: true}
		if g.Rights&^rootbound.ReadOnly != 0 {
			wide.Rights = rootbound.Full
		}
		out.Grants = append(out.Grants, held.Grant{Project: wide, Real: g.Real})
	}
	return out
}

// Next reads everything anew. The lines are for stderr and none comes twice in a row; an error means that what is in force
// stays so. A setting that this process cannot change has the value that is in force. The configuration counts when
// Took was told.
func (r *Reloader) Next() (c *config.Config, lines []string, err error) {
	raw, err := r.read(config.Name(r.started.File))
	if err != nil {
		return nil, nil, err
	}
	in := r.in
	in.Accepted = func(string) ([]byte, error) { return raw, nil }
	in.Within = slices.Clone(r.fixed)
	if bytes.Equal(raw, r.accepted) {
		in.Within = append(in.Within, config.Base{Scope: r.floor, Why: config.WaitsForApply})
	}
	c, warnings, err := config.Load(in)
	if errors.Is(err, fs.ErrPermission) && !bytes.Equal(raw, r.accepted) {
		// An editor replaced the file, and the system lets this process open the old one only. What a person just accepted
		// of it is here.
		was, derr := held.Decode(raw)
		if derr != nil {
			return nil, nil, derr
		}
		said := was.Of(r.in.Env)
		in.Instead = &said
		if c, warnings, err = config.Load(in); err != nil {
			return nil, nil, err
		}
		for _, s := range config.Settings() { // what nobody has to accept is not in there
			if s.Free {
				if c, err = s.Keep(c, r.taken); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	// What an empty file takes out of force would not come back by itself. Who accepted it has seen that.
	if c.Empty() && !r.taken.Empty() && bytes.Equal(raw, r.accepted) {
		return nil, nil, &config.Problem{File: c.File, Text: "holds nothing, as a file that is being written; projects: [] takes every project out of force"}
	}
	now := map[string]bool{}
	say := func(line string) {
		if !now[line] && !r.said[line] {
			lines = append(lines, line)
		}
		now[line] = true
	}
	for _, w := range warnings {
		say(w)
	}
	for _, w := range c.Waiting {
		say("Notice: the configuration " + w.String())
	}
	var later []string
	for _, s := range config.Settings() {
		v, at := s.Show(c), s.Show(r.taken)
		if v == at || s.Live != nil && s.Live(at, v, r.confined) {
			continue
		}
		say("Notice: the configuration sets " + s.Key + " to " + rootbound.Clean(v) + " — counts from the next start of the server")
		later = append(later, s.Key)
		if c, err = s.Keep(c, r.taken); err != nil {
			return nil, nil, err
		}
	}
	r.said, r.later, r.waiting = now, later, c.Waiting
	return c, lines, nil
}

// Waits says in words, without a path, what the file says and what is not in force: of the start, or of the last Next.
func (r *Reloader) Waits() (lines []string) {
	for _, w := range []struct{ why, until string }{
		{config.WaitsForApply, "until the operator runs rootbound config apply"}, {config.WaitsForRestart, untilRestart},
	} {
		n := 0
		for _, c := range r.waiting {
			if c.Why == w.why {
				n++
			}
		}
		switch {
		case n == 1:
			lines = append(lines, "1 change of the configuration, "+w.until)
		case n > 1:
			lines = append(lines, fmt.Sprintf("%d changes of the configuration, %s", n, w.until))
		}
	}
	if len(r.later) > 0 {
		lines = append(lines, "the settings "+strings.Join(r.later, ", ")+", "+untilRestart)
	}
	return lines
}

const untilRestart = "until the server is started anew"

// Widens reports whether a setting of c lets more be touched than what is in force: that of projects is another matter.
func (r *Reloader) Widens(c *config.Config) bool {
	for _, change := range config.Table().Compare(r.floor, c.InForce()) {
		if change.Project == "" && change.Wider() {
			return true
		}
	}
	return false
}

// Applied reports whether a person accepted another scope between what is in force and c.
func (r *Reloader) Applied(c *config.Config) bool { return !bytes.Equal(c.HeldTo(), r.accepted) }

// Took says that a configuration of Next is in force. The lines tell what it changed.
func (r *Reloader) Took(c *config.Config) (lines []string) {
	for _, change := range config.Table().Compare(r.floor, c.InForce()) {
		if change.Project != "" {
			lines = append(lines, "Notice: the configuration was read again: "+change.String())
		}
	}
	for _, s := range config.Settings() { // by what counts, after flags and variables
		if is, was := s.Show(c), s.Show(r.taken); is != was {
			lines = append(lines, "Notice: the configuration was read again: "+s.Key+" is "+rootbound.Clean(is)+", was "+rootbound.Clean(was))
		}
	}
	r.floor, r.accepted, r.taken = c.InForce(), c.HeldTo(), c
	return lines
}

// read gives what was accepted. Where nothing is kept, what the start said was.
func (r *Reloader) read(name string) ([]byte, error) {
	err := error(fs.ErrNotExist)
	if r.in.Accepted != nil {
		var raw []byte
		if raw, err = r.in.Accepted(name); err == nil {
			return raw, nil
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, &config.Problem{File: r.started.File, Text: "what was accepted of this file cannot be relied on: " + err.Error()}
	}
	if r.accepted != nil {
		return r.accepted, nil
	}
	return r.started.Accept(time.Time{})
}
