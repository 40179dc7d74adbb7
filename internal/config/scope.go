package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config/held"
)

// Base is a scope that the file is held to beside the accepted one, and why.
type Base struct {
	Scope held.Scope
	Why   string // how the rest comes into force, for a person
}

// How what waits comes into force.
const (
	WaitsForApply   = "waits for: rootbound config apply"
	WaitsForRestart = "waits for a restart of the server"
)

// Table ranks the settings that could let more be touched.
func Table() held.Table {
	t := held.Table{}
	for _, s := range Settings() {
		if s.Free {
			continue
		}
		o := s.Wide
		o.Default = s.Default
		t[s.Key] = o
	}
	return t
}

// scope is what the file lets be touched, before variables, flags and arguments.
func (l *loader) scope(t held.Table, where *whereabouts) held.Scope {
	c := l.Config
	s := held.Scope{Settings: map[string]string{}}
	for _, set := range Settings() {
		if _, ok := t[set.Key]; ok {
			s.Settings[set.Key] = set.get(c)
		}
	}
	s.Settings["roots.mode"] = c.fileMode()
	for _, p := range c.Projects {
		g := held.Grant{Project: p, Real: where.canonical(p.Dir)}
		if st := l.stat(p.Dir); st != nil {
			g.Inode = inode(st)
		}
		s.Grants = append(s.Grants, g)
	}
	return s
}

// fileMode is the roots mode that the file alone comes to: without projects and without a word the client's roots count.
func (c *Config) fileMode() string {
	switch {
	case c.Roots.Mode != "":
		return c.Roots.Mode
	case len(c.Projects) > 0:
		return "narrow"
	}
	return "client"
}

// whereabouts finds canonical paths and asks for each directory once.
type whereabouts struct{ known map[string]string }

// canonical is the path without links; what is missing at its end stays as it is spelled.
func (w *whereabouts) canonical(path string) string {
	if real, ok := w.known[path]; ok {
		return real
	}
	real := path
	if dir := filepath.Dir(path); dir != path {
		real = filepath.Join(w.canonical(dir), filepath.Base(path))
		if st, err := os.Lstat(real); err == nil && st.Mode().Type() == fs.ModeSymlink {
			if to, err := filepath.EvalSymlinks(real); err == nil {
				real = to
			} else if to, err := os.Readlink(real); err == nil { // to nothing yet
				if !filepath.IsAbs(to) {
					to = filepath.Join(filepath.Dir(real), to)
				}
				real = "-> " + filepath.Clean(to) // differs from every path, and from another link
			}
		}
	}
	if w.known == nil {
		w.known = map[string]string{}
	}
	w.known[path] = real
	return real
}

// Name is the name under which the accepted scope of a configuration file is kept: its directory without links and the
// last name as it is given, so that a link in its place is held to what was accepted.
func Name(file string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		return filepath.Join(dir, filepath.Base(file))
	}
	return filepath.Clean(file)
}

// Accept is what a person accepts who accepts the file as it was read, with all its environments. Without a file it is nil.
func (c *Config) Accept(at time.Time) ([]byte, error) {
	if c.File == "" {
		return nil, nil
	}
	return c.scopes.Encode(at)
}

// InForce is what the file lets be touched, as it is held.
func (c *Config) InForce() held.Scope { return c.inForce }

// HeldTo is the record of what was accepted that the file is held to; nil if there is none.
func (c *Config) HeldTo() []byte { return c.accepted }

// Empty reports whether the file held nothing but blanks when it was read, not even a comment.
func (c *Config) Empty() bool { return c.empty }

// Stamp is the file as it was before it was read; nil if it was not looked at.
func (c *Config) Stamp() fs.FileInfo { return c.stamp }

// Against lists what the file would change in an accepted scope, by environment; "" is the file itself. accepted nil:
// everything is new.
func (c *Config) Against(accepted []byte) (map[string][]held.Change, error) {
	was := held.Accepted{}
	if accepted != nil {
		var err error
		if was, err = held.Decode(accepted); err != nil {
			return nil, err
		}
	}
	t, out := Table(), map[string][]held.Change{}
	for name, s := range c.scopes {
		base := was.Of(name)
		if accepted == nil {
			base = held.Scope{Settings: s.Settings}
		}
		if d := append(t.Compare(base, s), held.Replacements(base, s)...); len(d) > 0 {
			out[name] = d
		}
	}
	for name, s := range was {
		if _, ok := c.scopes[name]; !ok && name != "" {
			out[name] = t.Compare(s, held.Scope{Settings: s.Settings})
		}
	}
	return out, nil
}

// hold keeps what the file says inside the accepted scope and the bases of the input.
func (l *loader) hold() error {
	if l.File == "" {
		return nil
	}
	t := Table()
	want := l.scopes[l.Environment]
	bases, err := l.bases()
	if err != nil {
		return err
	}
	l.inForce = want
	if len(bases) == 0 {
		return nil
	}
	others := l.others()
	told := map[string]int{} // one line for each project and way into force: the last base is what is in force now
	for _, b := range bases {
		l.inForce = t.Hold(l.inForce, b.Scope, others...)
		for _, change := range t.Compare(b.Scope, want) {
			if !change.Wider() {
				continue
			}
			what, _, _ := strings.Cut(change.Text, ":")
			if change.Project != "" {
				what = "project " + string(change.Project)
			}
			if n, ok := told[what+b.Why]; ok && l.Waiting[n].Kind == change.Kind {
				l.Waiting[n] = Waiting{change, b.Why}
				continue
			}
			told[what+b.Why] = len(l.Waiting)
			l.Waiting = append(l.Waiting, Waiting{change, b.Why})
		}
	}
	l.Projects = l.inForce.Projects()
	l.shut = map[rootbound.RootID]bool{}
	for _, g := range l.inForce.Grants {
		if l.shut[g.ID] = g.Shut; g.Shut && !slices.ContainsFunc(l.Waiting, func(w Waiting) bool { return w.Project == g.ID }) {
			l.Waiting = append(l.Waiting, Waiting{held.Change{Kind: held.Removed, Project: g.ID,
				Text: fmt.Sprintf("%s is shut, since what is granted around it would hold there", rootbound.Quote(g.Dir))}, WaitsForApply})
		}
	}
	for _, p := range l.Projects {
		if key := "projects." + string(p.ID); l.origins[key].Source == "" {
			l.origins[key] = Origin{"held", "shut until it is accepted"}
		}
	}
	if l.Roots.Mode == "" && len(want.Grants) > 0 {
		l.Roots.Mode = "narrow" // even if all of them wait: the client's roots are not granted in their place
	}
	return l.adopt(l.inForce.Settings, want.Settings)
}

// others are the directories that arguments grant beside the file.
func (l *loader) others() (out []string) {
	where := &whereabouts{}
	for _, a := range l.arguments() {
		if dir := l.absolute(a.dir, l.in.Cwd); a.dir != "" && filepath.IsAbs(dir) {
			out = append(out, dir, where.canonical(dir))
		}
	}
	return out
}

// adopt takes the settings that differ from those the file says.
func (l *loader) adopt(values, but map[string]string) error {
	for _, s := range Settings() {
		v, ok := values[s.Key]
		if !ok || v == but[s.Key] {
			continue
		}
		if err := s.set(l.Config, v); err != nil {
			return &Problem{File: l.File, Text: fmt.Sprintf("the accepted value of %s: %v", s.Key, err)}
		}
		l.origins[s.Key] = Origin{"held", "to the accepted scope"}
	}
	return nil
}

// instead takes a scope for what the file says.
func (l *loader) instead(s held.Scope) error {
	if l.Environment = l.in.Env; l.Environment == "" {
		l.Environment = l.in.Getenv("ROOTBOUND_ENV")
	}
	l.scopes = held.Accepted{l.Environment: s}
	l.Projects = s.Projects()
	for _, p := range l.Projects {
		l.origins["projects."+string(p.ID)] = Origin{"held", "to the accepted scope"}
	}
	if err := l.adopt(s.Settings, nil); err != nil {
		return err
	}
	return l.hold()
}

// bases are the accepted scope, if there is one, and those of the input.
func (l *loader) bases() ([]Base, error) {
	if l.in.Accepted == nil {
		return l.in.Within, nil
	}
	raw, err := l.in.Accepted(Name(l.File))
	if errors.Is(err, fs.ErrNotExist) {
		l.First = true
		return l.in.Within, nil
	}
	var was held.Accepted
	if err == nil {
		was, err = held.Decode(raw)
	}
	if err != nil {
		return nil, &Problem{File: l.File, Text: fmt.Sprintf("what was accepted of this file cannot be relied on: %s. "+
			"Look at the file, then accept it anew with: rootbound config apply", withoutPath(err))}
	}
	l.accepted = raw
	base := was.Of(l.Environment)
	if l.in.AcceptRetarget {
		base.Grants = slices.Clone(base.Grants)
		for i := range base.Grants {
			base.Grants[i].Real = ""
		}
	}
	return append([]Base{{base, WaitsForApply}}, l.in.Within...), nil
}

// Waiting is a part of the file that is not in force.
type Waiting struct {
	held.Change
	Why string // how it comes into force
}

// String is one line for a person.
func (w Waiting) String() string { return w.Change.String() + " — " + w.Why }

// clone is a copy that can be changed without the original.
func (c *Config) clone() *Config {
	d := *c
	d.Projects = slices.Clone(c.Projects)
	d.origins = maps.Clone(c.origins)
	return &d
}
