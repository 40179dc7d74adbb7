package authority

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/pins"
	"github.com/rootbound/rootbound/authority/roots"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileuri"
)

// target is what roots are intersected with: a pinned project, or a grant of the snapshot to be narrowed.
type target struct {
	Grant
	off rootbound.Reason // why it is not granted; empty: it is
}

// draft judges an answer and opens what it approves. It asks nobody and changes nothing but the registry of root ids.
func (a *Authority) draft(ctx context.Context, in situation) draft {
	d, terms := draft{}, a.terms.Load()
	d.source, d.err = a.judge(terms.Terms, in)
	d.good = in.ans != nil && in.err == nil && (d.err == nil || d.err.Reason == rootbound.RootsEmpty)
	if d.err != nil {
		return d
	}
	h := a.ceiling.pins.Hold()
	s := &Snapshot{Authority: a.id, Mode: terms.Mode, Source: d.source, Capability: in.cap, away: h.Away, known: &a.known}
	gone := a.gone()
	targets := make([]target, 0, len(h.Pins))
	for _, p := range h.Pins {
		m := Mark{Project: p.Project, Root: p.Root, Revoked: gone(p.Project.ID), sum: p.Sum}
		t := target{Grant: Grant{ID: p.Project.ID, Project: p.Project, Root: p.Root, Shown: p.Project.Dir, sum: p.Sum, project: p.Root}}
		switch {
		case m.Revoked:
			t.off = rootbound.RevokedByUser
		case !p.On:
			t.off = a.retired(p.Project.ID)
		}
		if t.off != "" {
			none := *p.Project
			none.Rights = 0
			m.Project = &none
		}
		s.Marks, targets = append(s.Marks, m), append(targets, t)
	}
	if in.base != nil {
		targets = targets[:0]
		for _, g := range in.base.Grants {
			targets = append(targets, target{Grant: g})
		}
	}
	sc := scope{a: a, gone: gone, h: h, targets: targets, client: terms.Mode == Client && in.base == nil, wide: terms.AllowWide}
	if d.source == fromRoots {
		d.entries = len(in.ans.Roots)
		sc.roots(ctx, in.ans.Roots)
	} else {
		sc.whole()
	}
	s.Grants, s.Verdicts, d.verdicts, s.reached = sc.grants, sc.verdicts, sc.verdicts, sc.reached
	s.life = &life{version: h.Version} // until it is published
	s.seal(terms.policy)
	if len(s.Grants) == 0 {
		s.drop()
		d.err = sc.nothing(d.source)
		return d
	}
	d.s = s
	return d
}

// scope collects the grants of one answer.
type scope struct {
	a        *Authority
	gone     func(rootbound.RootID) bool
	h        pins.Held
	targets  []target
	reached  []string
	client   bool
	wide     bool // --allow-wide-roots
	grants   []Grant
	verdicts []Verdict
	revoked  bool // something was left out because a person took it back
	overlap  bool // a root was usable, whether or not it met a project
}

// whole grants every target.
func (sc *scope) whole() {
	for _, t := range sc.targets {
		if t.off != "" {
			sc.revoked = sc.revoked || t.off == rootbound.RevokedByUser
			continue
		}
		sc.grant(t.Grant, "", nil)
	}
}

// roots judges the entries one by one: a bad one is dropped with its reason and spoils nothing else.
func (sc *scope) roots(ctx context.Context, entries []RootEntry) {
	sc.verdicts = make([]Verdict, len(entries))
	var paths []string
	var at []int
	for i, e := range entries {
		v := &sc.verdicts[i]
		p, warn, err := fileuri.Parse(e.URI)
		if err != nil {
			v.URI = bounded(e.URI, rootbound.MaxEcho)
			v.drop(err)
			continue
		}
		v.URI, v.Warn = bounded(fileuri.Format(p), roots.MaxURI), warn
		paths, at = append(paths, p), append(at, i)
	}
	for j, got := range sc.a.open.All(ctx, paths) {
		v := &sc.verdicts[at[j]]
		if got.Err != nil {
			v.drop(got.Err)
			continue
		}
		sc.overlap = true
		sc.reached = append(sc.reached, got.Root.Path())
		sc.root(got.Root, bounded(entries[at[j]].Name, roots.MaxName), paths[j], v)
		got.Root.Release() // grants hold their own
	}
}

// root intersects one approved directory with the targets, by identity: inside one it narrows it, around one it gives
// exactly that one. Of nested projects the innermost that holds it counts, since its rights and rules are in force there.
func (sc *scope) root(r *beneath.Root, name, shown string, v *Verdict) {
	if sc.client && !sc.wide && sc.a.ceiling.wide.Has(r, &sc.a.open) {
		v.fail(rootbound.RootTooWide, "")
		return
	}
	var inner *target
	var at string
	for i := range sc.targets {
		t := &sc.targets[i]
		if p, ok := t.Root.Holds(r); ok && (inner == nil || len(p) < len(at)) {
			inner, at = t, p
		}
	}
	met := false
	if inner != nil {
		met = true
		sc.inside(inner, at, r, name, shown, v)
	} else if sc.client {
		met = true
		sc.alone(r, name, shown, v)
	}
	for i := range sc.targets {
		t := &sc.targets[i]
		p, ok := r.Holds(t.Root)
		if !ok || p == "" {
			continue
		}
		met = true
		if sc.off(t, v) {
			continue
		}
		v.pass(sc.grant(t.Grant, "", beneathOf(r, p)))
	}
	if !met {
		v.fail(sc.left(r), "")
	}
}

// off passes the reason of a target that is not granted on to a root that met it.
func (sc *scope) off(t *target, v *Verdict) bool {
	if t.off == "" {
		return false
	}
	sc.revoked = sc.revoked || t.off == rootbound.RevokedByUser
	v.fail(t.off, "")
	return true
}

// left is the reason of a root that met nothing: it may have met something before.
func (sc *scope) left(r *beneath.Root) rootbound.Reason {
	for id, path := range sc.h.Removed {
		if path != "" && roots.Nested(path, r.Path()) && sc.a.known.has(id) {
			return rootbound.ProjectRetired
		}
	}
	return rootbound.NoOverlap
}

// retired is the reason for a project that is not in force: only who held it may know of it.
func (a *Authority) retired(id rootbound.RootID) rootbound.Reason {
	if a.known.has(id) {
		return rootbound.ProjectRetired
	}
	return rootbound.NoOverlap
}

// inside grants the part of a target that r is.
func (sc *scope) inside(t *target, at string, r *beneath.Root, name, shown string, v *Verdict) {
	if sc.off(t, v) {
		return
	}
	if at == "" {
		v.pass(sc.grant(t.Grant, name, beneathOf(r, "")))
		return
	}
	id, err := sc.id(r)
	if err != nil {
		v.drop(err)
		return
	}
	g := Grant{ID: id, Project: t.Project, Prefix: path.Join(t.Prefix, at), Root: r, Shown: shown, sum: t.sum, project: t.project}
	more := append(beneathOf(t.Root, at), beneathOf(r, "")...)
	for _, s := range t.spelled {
		more = append(more, join(s, at))
	}
	v.pass(sc.grant(g, name, more))
}

// alone grants a root of its own, with what a directory argument would have (mode client).
func (sc *scope) alone(r *beneath.Root, name, shown string, v *Verdict) {
	id, err := sc.id(r)
	if err != nil {
		v.drop(err)
		return
	}
	p := sc.a.opt.ClientProject
	p.ID, p.Dir = id, shown
	v.pass(sc.grant(Grant{ID: id, Project: &p, Root: r, Shown: shown, sum: sc.a.client}, name, beneathOf(r, "")))
}

func (sc *scope) id(r *beneath.Root) (rootbound.RootID, error) {
	id, err := sc.a.ids.Of(r, sc.a.ceiling.pins.Has)
	if err == nil && sc.gone(id) {
		sc.revoked = true
		return "", &rootbound.Error{Reason: rootbound.RevokedByUser}
	}
	return id, err
}

// grant adds g, or only its name and spellings if that object is granted already.
func (sc *scope) grant(g Grant, name string, spelled []string) rootbound.RootID {
	i := slices.IndexFunc(sc.grants, func(h Grant) bool { return h.Root.ID() == g.Root.ID() })
	if i < 0 {
		g.Root.Retain()
		g.spelled = slices.Clone(g.spelled)
		i, sc.grants = len(sc.grants), append(sc.grants, g)
	}
	h := &sc.grants[i]
	if h.Name == "" {
		h.Name = name
	}
	for _, s := range spelled {
		if s != h.Root.Spelled() && s != h.Root.Path() && !slices.Contains(h.spelled, s) {
			h.spelled = append(h.spelled, s)
		}
	}
	return h.ID
}

// nothing says why no grant is left.
func (sc *scope) nothing(source string) *rootbound.Error {
	e, configured := &rootbound.Error{Reason: rootbound.NoOverlap}, sc.h.InForce
	retired := func(v Verdict) bool { return v.Reason == rootbound.ProjectRetired }
	switch {
	case sc.revoked:
		return &rootbound.Error{Reason: rootbound.RevokedByUser}
	case source != fromRoots && sc.a.known.any(sc.h.Away), slices.ContainsFunc(sc.verdicts, retired):
		return &rootbound.Error{Reason: rootbound.ProjectRetired,
			Next: "Ask the operator to bring a project back, with the configuration or with rootbound use: there is no other one to use."}
	case source != fromRoots && sc.h.Idle:
		return &rootbound.Error{Reason: rootbound.NoScope, Detail: "no project is active",
			Next: "Ask the operator to choose projects with rootbound use, or rootbound use --all."}
	case source != fromRoots && configured > 0:
		return &rootbound.Error{Reason: rootbound.NoScope, Detail: "no configured folder exists",
			Next: "Ask the operator to make the folders of the configuration, or to name others."}
	case source != fromRoots:
		return &rootbound.Error{Reason: rootbound.NoScope}
	case sc.client:
		e.Reason = rootbound.NoScope
	}
	if sc.overlap && !sc.client {
		e.Detail = fmt.Sprintf("configured %d folders, client %d, no overlap", configured, len(sc.verdicts))
		return e
	}
	for _, v := range sc.verdicts { // the first dropped entry's reason, and its way out
		if v.Reason != "" {
			e.Detail, e.Next = string(v.Reason), v.Next()
			break
		}
	}
	return e
}

func (v *Verdict) pass(id rootbound.RootID) {
	if v.Root == "" {
		v.Root, v.Reason, v.Detail = id, "", ""
	}
}

func (v *Verdict) drop(err error) {
	if e := new(rootbound.Error); errors.As(err, &e) {
		v.fail(e.Reason, e.Detail)
		v.next = e.Next
	} else {
		v.fail(rootbound.InternalError, "")
	}
}

func (v *Verdict) fail(r rootbound.Reason, detail string) {
	if v.Root == "" {
		v.Reason, v.Detail = r, detail
	}
}

// beneathOf are the spellings of what lies at rel inside r.
func beneathOf(r *beneath.Root, rel string) []string {
	return []string{join(r.Spelled(), rel), join(r.Path(), rel)}
}

func join(dir, rel string) string {
	if rel == "" {
		return dir
	}
	sep := string(filepath.Separator)
	return strings.TrimSuffix(dir, sep) + sep + filepath.FromSlash(rel)
}

// bounded makes text fit for a record: valid UTF-8, at most n bytes.
func bounded(s string, n int) string {
	if len(s) > n {
		s = s[:n]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
