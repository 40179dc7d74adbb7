package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config/held"
	"github.com/rootbound/rootbound/internal/config/source"
)

// environments reads every environment of the file, so that a mistake in one that is not chosen is told too, and lays
// the chosen one over what the file says outside of them.
func (d *decoder) environments(root *source.Node) {
	t, where := Table(), &whereabouts{}
	d.scopes = held.Accepted{"": d.scope(t, where)}
	chosen := d.in.Env
	if chosen == "" {
		chosen = d.in.Getenv("ROOTBOUND_ENV")
	}
	var names []string
	var over *Config
	if n := key(root, "environments"); n != nil && n.Kind != source.Empty && d.Expect(n, source.Mapping, "environments") {
		for _, f := range n.Keys {
			if err := checkID(f.Name); err != nil {
				d.At(f.At, "environment %s: only letters, digits, dot, dash and underscore, and no dash at its ends", source.Word(f.Name))
				continue
			}
			names = append(names, f.Name)
			e := decoder{Problems: d.Problems, loader: &loader{Config: d.Config.clone(), in: d.in, looked: d.looked}, dir: d.dir, inside: f.Name}
			before := len(d.Found)
			widens := e.environment(f)
			s := e.scope(t, where)
			d.scopes[f.Name] = s
			if !widens && len(d.Found) == before {
				d.mayNotWiden(f, t.Compare(d.scopes[""], s))
			}
			if f.Name == chosen {
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
		d.At(source.Position{}, "there is no environment %s: the file has none", source.Word(chosen))
	default:
		d.At(source.Position{}, "there is no environment %s%s", source.Word(chosen), source.Nearest(chosen, names))
	}
}

// key finds a key of a mapping.
func key(n *source.Node, name string) *source.Node {
	for _, f := range n.Keys {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// environment lays one over the configuration: settings replace settings, a project with a known id is changed by the keys
// it has, one with a new id is added, and only names those that are served.
func (d *decoder) environment(f source.Field) (widens bool) {
	if f.Value.Kind == source.Empty || !d.Expect(f.Value, source.Mapping, "environment "+f.Name) {
		return false
	}
	var only []*source.Node
	rest := *f.Value
	rest.Keys = nil
	for _, k := range f.Value.Keys {
		switch k.Name {
		case "widens":
			widens = d.truth(k.Value, "widens")
		case "only":
			only = d.Texts(k.Value, "only")
			if len(only) == 0 {
				d.At(k.At, "only names no project")
			}
		case "environments":
			d.At(k.At, "an environment holds no environments")
		default:
			rest.Keys = append(rest.Keys, k)
		}
	}
	d.document(&rest)
	if len(only) > 0 {
		d.only(only)
	}
	return widens
}

func (d *decoder) only(names []*source.Node) {
	keep := map[rootbound.RootID]bool{}
	var ids []string
	for i := range d.Projects {
		ids = append(ids, string(d.Projects[i].ID))
	}
	for _, n := range names {
		if !slices.Contains(ids, n.Text) {
			d.At(n.At, "only: there is no project %s%s", source.Word(n.Text), source.Nearest(n.Text, ids))
		}
		keep[rootbound.RootID(n.Text)] = true
	}
	d.Projects = slices.DeleteFunc(d.Projects, func(p rootbound.Project) bool { return !keep[p.ID] })
}

func (d *decoder) mayNotWiden(f source.Field, changes []held.Change) {
	var more []string
	for _, c := range changes {
		if c.Wider() && c.Kind != held.Changed {
			more = append(more, c.String())
		}
	}
	if len(more) > 0 {
		d.At(f.At, "environment %s lets more be touched than the file does without it: %s. If that is meant, say widens: true in it", source.Word(f.Name), strings.Join(more, "; "))
	}
}

// overlay changes a project that the file has outside of the environment. It reports whether there is one.
func (d *decoder) overlay(n *source.Node) bool {
	id := key(n, "id")
	if d.inside == "" || id == nil || id.Kind != source.Scalar {
		return false
	}
	i := slices.IndexFunc(d.Projects, func(p rootbound.Project) bool { return string(p.ID) == id.Text })
	if i < 0 || !d.before[id.Text] {
		return false
	}
	p := d.Projects[i]
	for _, f := range n.Keys {
		switch {
		case f.Value.Kind == source.Empty:
			d.At(f.At, "%s has no value", source.Word(f.Name))
		case f.Name == "id":
		case f.Name == "dir":
			if f.Value.Kind != source.Scalar || d.absolute(f.Value.Text, d.dir) != p.Dir {
				d.At(f.Value.At, "project %s has another directory outside of the environment: give this one an id of its own", source.Word(id.Text))
			}
		default:
			d.clear(&p, f.Name)
			d.projectKey(&p, f)
		}
	}
	d.before[id.Text] = false // a second entry for it is a mistake
	d.Projects[i] = p
	d.origins["projects."+id.Text] = Origin{"file", d.where(n.At)}
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
