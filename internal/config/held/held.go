// Package held keeps a configuration inside the scope that a person accepted: it compares two scopes, takes what both
// allow, and says what has to wait (contract §5, own files: reloading never adds directories or rights). It does no I/O.
//
// What both allow is computed so that no rule has to be translated from one directory to another. A project counts as
// the same only if its id, its path and the directory it leads to are the same; then rights are cut, rules are joined and
// limits are the smaller ones. Every other project waits, or is gone. If it lies inside one that is in force, its
// directory is shut until somebody decides: left out it would get the rights of the project around it.
package held

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rootbound/rootbound"
)

// Grant is one project of a scope.
type Grant struct {
	rootbound.Project
	Real  string // canonical path of the directory, or what it would be if it is missing
	Inode uint64 `json:",omitempty"` // of the directory, to tell a person that it was replaced; 0: not known
	Shut  bool   `json:",omitempty"` // nothing below the directory may be touched
}

// Scope is what a configuration lets be touched: its projects, and the settings that could let more be touched. A value;
// Hold and Compare change nothing.
type Scope struct {
	Grants   []Grant
	Settings map[string]string // by key
}

// Table says for each setting of a scope which of two values lets more be touched. A key that is missing here waits with
// every change.
type Table map[string]Order

// Order ranks the values of one setting. The zero Order makes every change wait.
type Order struct {
	rank    func(string) (int64, bool)
	Default string // of a scope that does not name the setting
}

// Words ranks words from the narrowest to the widest.
func Words(words ...string) Order {
	return Order{rank: func(s string) (int64, bool) {
		n := slices.Index(words, s)
		return int64(n), n >= 0
	}}
}

// Amount ranks by a number: the larger is the wider. ok is false for text that is none.
func Amount(read func(string) (n int64, ok bool)) Order { return Order{rank: read} }

// Ranks reports whether values can be compared at all.
func (o Order) Ranks() bool { return o.rank != nil }

// Wider reports whether to lets more be touched than from, or cannot be told.
func (o Order) Wider(from, to string) bool {
	if from == to {
		return false
	}
	if o.rank == nil {
		return true
	}
	f, ok := o.rank(from)
	t, known := o.rank(to)
	return !ok || !known || t > f
}

// Hold is what both want and base allow, in the order of want. It is want itself where base allows as much. others are
// directories that are granted beside the scope: what lies in one of them must not fall to it either.
func (t Table) Hold(want, base Scope, others ...string) Scope {
	out := Scope{Settings: maps.Clone(want.Settings)}
	if out.Settings == nil {
		out.Settings = map[string]string{}
	}
	for _, key := range t.keys(want, base) {
		from, to := t.value(base, key), t.value(want, key)
		if t[key].Wider(from, to) {
			out.Settings[key] = from
		}
	}
	granted := byID(base)
	kept := map[rootbound.RootID]bool{}
	var apart []Grant // in one of them only
	for _, w := range want.Grants {
		b, ok := granted[w.ID]
		if !ok || !same(b, w) {
			apart = append(apart, w)
			continue
		}
		kept[w.ID] = true
		if m := meet(b, w); m.Shut {
			apart = append(apart, m)
		} else {
			out.Grants = append(out.Grants, m)
		}
	}
	for _, b := range base.Grants {
		if !kept[b.ID] {
			apart = append(apart, b)
		}
	}
	out.shut(apart, others)
	return out
}

// shut adds those that lie inside a project in force, with nothing allowed.
func (s *Scope) shut(apart []Grant, others []string) {
	at := map[string]int{} // projects in force by directory
	for _, dir := range others {
		at[dir] = other
	}
	taken := map[rootbound.RootID]bool{}
	for i := range s.Grants {
		at[s.Grants[i].Dir], at[s.Grants[i].Real] = i, i
		taken[s.Grants[i].ID] = true
	}
	done := map[string]bool{}
	for _, g := range apart {
		i, here := nowhere, false
		for _, dir := range []string{g.Dir, g.Real} {
			if n, exact, ok := around(at, dir); ok && !here {
				i, here = n, exact
			}
		}
		switch {
		case i == nowhere: // what nothing in force contains is out of reach anyway
		case here && i != other: // two spellings of one directory: which rights hold would be a guess
			s.Grants[i].Shut = true
		case !done[g.Dir]:
			done[g.Dir] = true
			s.Grants = append(s.Grants, Grant{Shut: true, Real: g.Real,
				Project: rootbound.Project{ID: free(g.ID, taken), Dir: g.Dir, DenyMounts: g.DenyMounts}})
		}
	}
}

// around finds the project in force that holds a directory, by walking up its path.
func around(at map[string]int, dir string) (i int, exact, ok bool) {
	for d := dir; ; d = filepath.Dir(d) {
		if i, ok := at[d]; ok {
			return i, d == dir, true
		}
		if d == filepath.Dir(d) {
			return nowhere, false, false
		}
	}
}

const (
	nowhere = -1
	other   = -2 // granted beside the scope
)

// free keeps the id of what is shut apart from every project's, so that none is ever taken for another.
func free(id rootbound.RootID, taken map[rootbound.RootID]bool) rootbound.RootID {
	name := id
	for n := 2; taken[name]; n++ {
		name = id + rootbound.RootID("-"+strconv.Itoa(n))
	}
	taken[name] = true
	return name
}

func byID(s Scope) map[rootbound.RootID]Grant {
	m := make(map[rootbound.RootID]Grant, len(s.Grants))
	for _, g := range s.Grants {
		m[g.ID] = g
	}
	return m
}

// same: a path that leads elsewhere now is another project.
func same(a, b Grant) bool {
	return a.Dir == b.Dir && (a.Real == b.Real || a.Real == "" || b.Real == "")
}

// meet is what both allow. Whatever is not known here stays as it was accepted.
func meet(b, w Grant) Grant {
	m := b
	m.Real, m.Inode, m.Description = w.Real, w.Inode, w.Description
	m.Shut = b.Shut || w.Shut
	m.Rights = b.Rights & w.Rights
	m.Deny = union(b.Deny, w.Deny)
	m.AllowExtensions = w.AllowExtensions
	switch {
	case len(w.AllowExtensions) == 0:
		m.AllowExtensions = b.AllowExtensions
	case len(b.AllowExtensions) > 0:
		m.AllowExtensions = common(w.AllowExtensions, b.AllowExtensions)
		m.Shut = m.Shut || len(m.AllowExtensions) == 0 // an empty list would allow all
	}
	m.MaxRead, m.MaxWrite = smaller(b.MaxRead, w.MaxRead), smaller(b.MaxWrite, w.MaxWrite)
	m.LiftCredentials = b.LiftCredentials && w.LiftCredentials
	m.LiftExecution = b.LiftExecution && w.LiftExecution
	m.DenyMounts = b.DenyMounts || w.DenyMounts
	m.DenyHardlinks = b.DenyHardlinks || w.DenyHardlinks
	m.MovesAcross = b.MovesAcross && w.MovesAcross
	m.CopyAcross = b.CopyAcross && w.CopyAcross
	m.ProposeWrites = b.ProposeWrites || w.ProposeWrites
	m.Shut = m.Shut || m.Rights == 0
	return m
}

// union is want's list if it has everything, so that a scope that narrows nothing is taken as it is.
func union(base, want []string) []string {
	out := want
	for _, b := range base {
		if !slices.Contains(want, b) {
			out = append(slices.Clip(out), b)
		}
	}
	return out
}

func common(want, base []string) []string {
	var out []string
	for _, w := range want {
		if slices.Contains(base, w) {
			out = append(out, w)
		}
	}
	return out
}

// smaller of two limits, of which 0 is none.
func smaller(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (t Table) keys(scopes ...Scope) []string {
	all := map[string]bool{}
	for key := range t {
		all[key] = true
	}
	for _, s := range scopes {
		for key := range s.Settings {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (t Table) value(s Scope, key string) string {
	if v, ok := s.Settings[key]; ok {
		return v
	}
	return t[key].Default
}

// Projects are those in force. One that is shut may be listed and holds nothing: its rule denies every name in it.
func (s Scope) Projects() []rootbound.Project {
	out := make([]rootbound.Project, len(s.Grants))
	for i, g := range s.Grants {
		out[i] = g.Project
		if g.Shut {
			out[i] = rootbound.Project{ID: g.ID, Dir: g.Dir, Rights: rootbound.List, Deny: []string{"**"}, DenyMounts: true}
		}
	}
	return out
}

// Inside names the innermost project whose directory holds that of another, for those that have one. By path.
func (s Scope) Inside() map[rootbound.RootID]rootbound.RootID {
	at := map[string]int{}
	for i, g := range s.Grants {
		at[g.Dir], at[g.Real] = i, i
	}
	out := map[rootbound.RootID]rootbound.RootID{}
	for _, g := range s.Grants {
		for _, dir := range []string{g.Dir, g.Real} {
			if i, _, ok := around(at, filepath.Dir(dir)); ok && s.Grants[i].ID != g.ID && strings.TrimRight(dir, "/") != "" {
				out[g.ID] = s.Grants[i].ID
			}
		}
	}
	return out
}
