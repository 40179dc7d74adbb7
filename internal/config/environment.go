package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config/held"
)

// environments reads every environment of the file, so that a mistake in one that is not chosen is told too, and lays
// the chosen one over what the file says outside of them.
func (d *decoder) environments(root *node) {
	t, where := table(), &whereabouts{}
	d.scopes = held.Accepted{"": d.scope(t, where)}
	chosen := d.in.Env
	if chosen == "" {
		chosen = d.in.Getenv("ROOTBOUND_ENV")
	}
	var names []string
	var over *Config
	if n := key(root, "environments"); n != nil && n.kind != empty && d.expect(n, mapping, "environments") {
		for _, f := range n.keys {
			if err := checkID(f.name); err != nil {
				d.at(f.at, "environment %s: only letters, digits, dot, dash and underscore, and no dash at its ends", word(f.name))
				continue
			}
			names = append(names, f.name)
			e := decoder{problems: d.problems, loader: &loader{Config: d.Config.clone(), in: d.in, looked: d.looked}, dir: d.dir, inside: f.name}
			before := len(d.found)
			widens := e.environment(f)
			s := e.scope(t, where)
			d.scopes[f.name] = s
			if !widens && len(d.found) == before {
				d.mayNotWiden(f, t.Compare(d.scopes[""], s))
			}
			if f.name == chosen {
				over = e.Config
				d.warnings = append(d.warnings, e.warnings...)
			}
		}
	}
	switch {
	case chosen == "":
	case over != nil:
		scopes := d.scopes
		*d.Config = *over
		d.scopes, d.Environment = scopes, chosen
	case len(names) == 0:
		d.at(position{}, "there is no environment %s: the file has none", word(chosen))
	default:
		d.at(position{}, "there is no environment %s%s", word(chosen), nearest(chosen, names))
	}
}

// key finds a key of a mapping.
func key(n *node, name string) *node {
	for _, f := range n.keys {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// environment lays one over the configuration: settings replace settings, a project with a known id is changed by the keys
// it has, one with a new id is added, and only names those that are served.
func (d *decoder) environment(f field) (widens bool) {
	if f.value.kind == empty || !d.expect(f.value, mapping, "environment "+f.name) {
		return false
	}
	var only []*node
	rest := *f.value
	rest.keys = nil
	for _, k := range f.value.keys {
		switch k.name {
		case "widens":
			widens = d.truth(k.value, "widens")
		case "only":
			only = d.texts(k.value, "only")
			if len(only) == 0 {
				d.at(k.at, "only names no project")
			}
		case "environments":
			d.at(k.at, "an environment holds no environments")
		default:
			rest.keys = append(rest.keys, k)
		}
	}
	d.document(&rest)
	if len(only) > 0 {
		d.only(only)
	}
	return widens
}

func (d *decoder) only(names []*node) {
	keep := map[rootbound.RootID]bool{}
	var ids []string
	for i := range d.Projects {
		ids = append(ids, string(d.Projects[i].ID))
	}
	for _, n := range names {
		if !slices.Contains(ids, n.text) {
			d.at(n.at, "only: there is no project %s%s", word(n.text), nearest(n.text, ids))
		}
		keep[rootbound.RootID(n.text)] = true
	}
	d.Projects = slices.DeleteFunc(d.Projects, func(p rootbound.Project) bool { return !keep[p.ID] })
}

func (d *decoder) mayNotWiden(f field, changes []held.Change) {
	var more []string
	for _, c := range changes {
		if c.Wider() && c.Kind != held.Changed {
			more = append(more, c.String())
		}
	}
	if len(more) > 0 {
		d.at(f.at, "environment %s lets more be touched than the file does without it: %s. If that is meant, say widens: true in it", word(f.name), strings.Join(more, "; "))
	}
}

// overlay changes a project that the file has outside of the environment. It reports whether there is one.
func (d *decoder) overlay(n *node) bool {
	id := key(n, "id")
	if d.inside == "" || id == nil || id.kind != scalar {
		return false
	}
	i := slices.IndexFunc(d.Projects, func(p rootbound.Project) bool { return string(p.ID) == id.text })
	if i < 0 || !d.before[id.text] {
		return false
	}
	p := d.Projects[i]
	for _, f := range n.keys {
		switch {
		case f.value.kind == empty:
			d.at(f.at, "%s has no value", word(f.name))
		case f.name == "id":
		case f.name == "dir":
			if f.value.kind != scalar || d.absolute(f.value.text, d.dir) != p.Dir {
				d.at(f.value.at, "project %s has another directory outside of the environment: give this one an id of its own", word(id.text))
			}
		default:
			d.clear(&p, f.name)
			d.projectKey(&p, f)
		}
	}
	d.before[id.text] = false // a second entry for it is a mistake
	d.Projects[i] = p
	d.origins["projects."+id.text] = Origin{"file", d.where(n.at)}
	return true
}

// clear takes away what a list of the environment replaces.
func (d *decoder) clear(p *rootbound.Project, name string) {
	switch name {
	case "deny":
		p.Deny = nil
	case "allow_extensions":
		p.AllowExtensions = nil
	}
}

// Environments lists those of the file, sorted.
func (c *Config) Environments() []string {
	names := slices.Sorted(maps.Keys(c.scopes))
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// inEnvironment is what an origin adds inside an environment.
func (d *decoder) inEnvironment() string {
	if d.inside == "" {
		return ""
	}
	return fmt.Sprintf(" (environment %s)", d.inside)
}
