package held

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rootbound/rootbound"
)

// Kind says what a change does to what may be touched.
type Kind string

// The kinds, in the order in which they are shown. What both widens and narrows has one change of each kind.
const (
	Added    Kind = "added"
	Widened  Kind = "widened"
	Removed  Kind = "removed"
	Narrowed Kind = "narrowed"
	Changed  Kind = "changed"  // a setting of which neither value is the narrower one
	Replaced Kind = "replaced" // another directory at the same path
)

// Change is one difference between two scopes.
type Change struct {
	Kind    Kind
	Project rootbound.RootID // empty: a setting
	Text    string           // one line: what it is now and what it was
}

// Wider reports whether more may be touched with the change than without it, or whether that cannot be told.
func (c Change) Wider() bool { return c.Kind == Added || c.Kind == Widened || c.Kind == Changed }

// String is the change for people, without a line break.
func (c Change) String() string {
	if c.Project == "" {
		return string(c.Kind) + " " + c.Text
	}
	return fmt.Sprintf("%s project %s: %s", c.Kind, c.Project, c.Text)
}

// Replacements lists the projects at whose path another directory lies than when they were accepted. It is told to a person
// who accepts: what a server has open does not change by it.
func Replacements(from, to Scope) []Change {
	var out []Change
	was := byID(from)
	for _, g := range to.Grants {
		if b, ok := was[g.ID]; ok && same(b, g) && b.Inode != 0 && g.Inode != 0 && b.Inode != g.Inode {
			out = append(out, Change{Replaced, g.ID, fmt.Sprintf("another directory lies at %s than when it was accepted", rootbound.Quote(g.Dir))})
		}
	}
	return out
}

// Compare lists what changes from one scope to another: projects in the order of to, those that are gone, then settings.
func (t Table) Compare(from, to Scope) []Change {
	var out []Change
	was, is := byID(from), byID(to)
	around := from.Inside()
	for _, g := range to.Grants {
		b, ok := was[g.ID]
		switch {
		case !ok:
			out = append(out, Change{Added, g.ID, describe(g)})
		case b.Dir != g.Dir:
			out = append(out, Change{Added, g.ID, fmt.Sprintf("%s; until now the id meant %s", describe(g), rootbound.Quote(b.Dir))})
		case !same(b, g):
			out = append(out, Change{Added, g.ID, fmt.Sprintf("%s; its path leads to %s now, and led to %s", describe(g), rootbound.Quote(g.Real), rootbound.Quote(b.Real))})
		default:
			wider, narrower := fields(b, g)
			if len(wider) > 0 {
				out = append(out, Change{Widened, g.ID, strings.Join(wider, "; ")})
			}
			if len(narrower) > 0 {
				out = append(out, Change{Narrowed, g.ID, strings.Join(narrower, "; ")})
			}
		}
	}
	for _, b := range from.Grants {
		if g, ok := is[b.ID]; ok && same(b, g) {
			continue
		}
		outer, nested := around[b.ID]
		if _, stays := is[outer]; nested && stays {
			out = append(out, Change{Widened, outer, fmt.Sprintf("project %s inside it is removed, so that %s falls to project %s", b.ID, rootbound.Quote(b.Dir), outer)})
		}
		out = append(out, Change{Removed, b.ID, describe(b)})
	}
	for _, key := range t.keys(from, to) {
		a, b := t.value(from, key), t.value(to, key)
		if a == b {
			continue
		}
		kind := Narrowed
		switch {
		case !t[key].Ranks():
			kind = Changed
		case t[key].Wider(a, b):
			kind = Widened
		}
		out = append(out, Change{kind, "", fmt.Sprintf("%s: %s, was %s", key, shown(b), shown(a))})
	}
	return out
}

func shown(v string) string {
	if v == "" {
		return "not set"
	}
	return rootbound.Clean(v)
}

// Granted is what a project lets be done, for people: its rights, and that changes are made only when a person agrees.
func Granted(p rootbound.Project) string {
	if p.ProposeWrites {
		return p.Rights.String() + ", writes: propose"
	}
	return p.Rights.String()
}

func describe(g Grant) string {
	s := fmt.Sprintf("%s (%s)", rootbound.Quote(g.Dir), Granted(g.Project))
	if g.Shut {
		s = rootbound.Quote(g.Dir) + " (shut)"
	}
	var more []string
	if g.LiftCredentials {
		more = append(more, "without the preset credentials")
	}
	if g.LiftExecution {
		more = append(more, "without the preset execution")
	}
	if n := len(g.Deny); n > 0 {
		more = append(more, "denies "+list(g.Deny))
	}
	if len(g.AllowExtensions) > 0 {
		more = append(more, "only files "+list(g.AllowExtensions))
	}
	if len(more) > 0 {
		s += ", " + strings.Join(more, ", ")
	}
	return s
}

func list(words []string) string {
	const most = 8
	more := ""
	if len(words) > most {
		more = fmt.Sprintf(" and %d more", len(words)-most)
		words = words[:most]
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = rootbound.Quote(w)
	}
	return strings.Join(quoted, " ") + more
}

// fields compares two forms of one project.
func fields(a, b Grant) (wider, narrower []string) {
	say := func(widens bool, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if widens {
			wider = append(wider, text)
		} else {
			narrower = append(narrower, text)
		}
	}
	if a.Shut != b.Shut {
		say(a.Shut, "shut: %t, was %t", b.Shut, a.Shut)
	}
	if more := b.Rights &^ a.Rights; more != 0 {
		say(true, "rights %s, were %s", b.Rights, a.Rights)
	}
	if less := a.Rights &^ b.Rights; less != 0 {
		say(false, "rights %s, were %s", b.Rights, a.Rights)
	}
	if gone := without(a.Deny, b.Deny); len(gone) > 0 {
		say(true, "no longer denies %s", list(gone))
	}
	if more := without(b.Deny, a.Deny); len(more) > 0 {
		say(false, "denies %s", list(more))
	}
	switch {
	case len(a.AllowExtensions) > 0 && len(b.AllowExtensions) == 0:
		say(true, "allows every extension")
	case len(a.AllowExtensions) == 0 && len(b.AllowExtensions) > 0:
		say(false, "allows only %s", list(b.AllowExtensions))
	default:
		if more := without(b.AllowExtensions, a.AllowExtensions); len(more) > 0 {
			say(true, "allows %s", list(more))
		}
		if less := without(a.AllowExtensions, b.AllowExtensions); len(less) > 0 {
			say(false, "no longer allows %s", list(less))
		}
	}
	for _, f := range []struct {
		name string
		a, b int64
	}{{"max_read", a.MaxRead, b.MaxRead}, {"max_write", a.MaxWrite, b.MaxWrite}} {
		if f.a != f.b {
			say(smaller(f.a, f.b) == f.a, "%s %s, was %s", f.name, bytes(f.b), bytes(f.a))
		}
	}
	for _, f := range []struct {
		name   string
		a, b   bool
		widens bool // if it is true
	}{
		{"preset credentials lifted", a.LiftCredentials, b.LiftCredentials, true},
		{"preset execution lifted", a.LiftExecution, b.LiftExecution, true},
		{"mounts denied", a.DenyMounts, b.DenyMounts, false},
		{"hardlinks denied", a.DenyHardlinks, b.DenyHardlinks, false},
		{"moves across projects", a.MovesAcross, b.MovesAcross, true},
		{"copies across file systems", a.CopyAcross, b.CopyAcross, true},
		{"changes need a person's agreement", a.ProposeWrites, b.ProposeWrites, false},
	} {
		if f.a != f.b {
			say(f.b == f.widens, "%s: %t, was %t", f.name, f.b, f.a)
		}
	}
	return wider, narrower
}

func bytes(n int64) string {
	if n == 0 {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// without lists what of a is not in b.
func without(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}
