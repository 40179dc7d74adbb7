package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config/source"
)

// decoder fills a loader from a parsed file.
type decoder struct {
	*source.Problems
	*loader
	dir    string          // of the file
	inside string          // the environment that is read; empty: the file itself
	before map[string]bool // projects of the file itself, by id, that the environment has not changed yet
}

func (d *decoder) document(root *source.Node) {
	if root.Kind == source.Empty {
		return
	}
	if !d.Expect(root, source.Mapping, "the configuration") {
		return
	}
	settings := make(map[string]Setting)
	var words []string
	for _, s := range Settings() {
		settings[s.Key] = s
		if top, _, _ := strings.Cut(s.Key, "."); len(words) == 0 || words[len(words)-1] != top {
			words = append(words, top)
		}
	}
	words = append(words, "projects")
	if d.inside == "" {
		words = append(words, "environments")
	} else {
		words = append(words, "only", "widens")
	}
	for _, f := range root.Keys {
		switch f.Name {
		case "projects":
			d.projects(f.Value)
		case "environments": // read last: see environments
		case "roots":
			if f.Value.Kind == source.Scalar { // short form: roots: narrow
				d.setting(settings["roots.mode"], f.Value)
				continue
			}
			d.section(f, settings)
		default:
			if slices.ContainsFunc(Settings(), func(s Setting) bool { return strings.HasPrefix(s.Key, f.Name+".") }) {
				d.section(f, settings)
				continue
			}
			s, ok := settings[f.Name]
			if !ok {
				d.At(f.At, "unknown key %s%s", source.Word(f.Name), source.Nearest(f.Name, words))
				continue
			}
			d.setting(s, f.Value)
		}
	}
}

// section reads a mapping whose keys are settings: roots, audit, limits.
func (d *decoder) section(f source.Field, settings map[string]Setting) {
	if f.Value.Kind == source.Empty {
		return
	}
	if !d.Expect(f.Value, source.Mapping, f.Name) {
		return
	}
	for _, k := range f.Value.Keys {
		s, ok := settings[f.Name+"."+k.Name]
		if !ok {
			var words []string
			for _, s := range Settings() {
				if w, ok := strings.CutPrefix(s.Key, f.Name+"."); ok {
					words = append(words, w)
				}
			}
			d.At(k.At, "unknown key %s in %s%s", source.Word(k.Name), f.Name, source.Nearest(k.Name, words))
			continue
		}
		d.setting(s, k.Value)
	}
}

func (d *decoder) setting(s Setting, n *source.Node) {
	if !d.Expect(n, source.Scalar, s.Key) {
		return
	}
	if err := s.set(d.Config, n.Text); err != nil {
		d.At(n.At, "%s: %v", s.Key, err)
		return
	}
	d.origins[s.Key] = Origin{"file", d.where(n.At)}
}

func (d *decoder) where(at source.Position) string {
	return fmt.Sprintf("%s:%d:%d%s", d.Problems.File, at.Line, at.Column, d.inEnvironment())
}

var projectKeys = []string{
	"id", "dir", "rights", "deny", "allow_extensions", "max_read", "max_write", "presets", "mounts", "hardlinks", "moves", "copy_across", "writes", "description",
}

func (d *decoder) projects(n *source.Node) {
	if n.Kind == source.Empty {
		return
	}
	if !d.Expect(n, source.List, "projects") {
		return
	}
	d.before = map[string]bool{}
	for i := range d.Projects {
		d.before[string(d.Projects[i].ID)] = d.inside != ""
	}
	for _, item := range n.Items {
		if d.Expect(item, source.Mapping, "each entry of projects") && !d.overlay(item) {
			d.project(item)
		}
	}
}

func (d *decoder) project(n *source.Node) {
	before := len(d.Found)
	p := rootbound.Project{Rights: rootbound.ReadOnly}
	places := map[string]source.Position{"": n.At}
	for _, f := range n.Keys {
		places[f.Name] = f.Value.At
		if f.Value.Kind == source.Empty {
			d.At(f.At, "%s has no value", source.Word(f.Name))
			continue
		}
		d.projectKey(&p, f)
	}
	dirAt, given := places["dir"]
	switch {
	case !given:
		d.At(n.At, "a project needs dir, the directory it grants")
	case p.Dir != "":
		d.checkDir(p.Dir, dirAt)
	}
	if p.ID == "" && p.Dir != "" {
		p.ID = d.freeID(p.Dir)
	}
	if len(d.Found) > before {
		return
	}
	here := d.stat(p.Dir)
	for i := range d.Projects {
		other := &d.Projects[i]
		if other.ID == p.ID {
			d.At(place(places, "id"), "project id %s is used twice, first at %s", source.Word(string(p.ID)), d.origins["projects."+string(p.ID)].Where)
			return
		}
		if other.Dir == p.Dir || here != nil && sameFile(here, d.stat(other.Dir)) {
			d.At(dirAt, "this directory is granted twice: as project %s at %s with rights %s, and here with rights %s",
				source.Word(string(other.ID)), d.origins["projects."+string(other.ID)].Where, other.Rights, p.Rights)
			return
		}
	}
	d.origins["projects."+string(p.ID)] = Origin{"file", d.where(n.At)}
	d.Projects = append(d.Projects, p)
}

func place(places map[string]source.Position, name string) source.Position {
	if at, ok := places[name]; ok {
		return at
	}
	return places[""]
}

func (d *decoder) projectKey(p *rootbound.Project, f source.Field) {
	v := f.Value
	switch f.Name {
	case "id":
		if d.Expect(v, source.Scalar, "id") {
			if err := checkID(v.Text); err != nil {
				d.At(v.At, "%v", err)
			} else {
				p.ID = rootbound.RootID(v.Text)
			}
		}
	case "dir":
		switch {
		case !d.Expect(v, source.Scalar, "dir"):
		case v.Text == "": // joined to the file's directory it would grant that
			d.At(v.At, "dir is empty and names no directory")
		default:
			p.Dir = d.absolute(v.Text, d.dir)
		}
	case "rights":
		d.rights(p, v)
	case "deny":
		for _, n := range d.Texts(v, "deny") {
			if err := checkGlob(n.Text); err != nil {
				d.At(n.At, "%v", err)
				continue
			}
			p.Deny = append(p.Deny, n.Text)
		}
	case "allow_extensions":
		for _, n := range d.Texts(v, "allow_extensions") {
			if len(n.Text) < 2 || n.Text[0] != '.' || strings.ContainsAny(n.Text, "/*?") {
				d.At(n.At, "%s is not an extension: write it with its dot, such as .go", source.Word(n.Text))
				continue
			}
			p.AllowExtensions = append(p.AllowExtensions, n.Text)
		}
	case "max_read":
		p.MaxRead = d.size(v, f.Name)
	case "max_write":
		p.MaxWrite = d.size(v, f.Name)
	case "presets":
		d.presets(p, v)
	case "mounts":
		p.DenyMounts = d.choice(v, f.Name, "allow", "deny") == "deny"
	case "hardlinks":
		p.DenyHardlinks = d.choice(v, f.Name, "allow", "deny") == "deny"
	case "moves":
		p.MovesAcross = d.choice(v, f.Name, "within", "across") == "across"
	case "writes":
		p.ProposeWrites = d.choice(v, f.Name, "direct", "propose") == "propose"
	case "description":
		if d.Expect(v, source.Scalar, "description") {
			if len(v.Text) > LongestDescription {
				d.At(v.At, "description is longer than %d bytes", LongestDescription)
			}
			p.Description = v.Text
		}
	case "copy_across":
		p.CopyAcross = d.truth(v, f.Name)
	default:
		for _, s := range Settings() {
			if top, _, _ := strings.Cut(s.Key, "."); top == f.Name {
				d.At(f.At, "%s stands beside projects, not inside one", f.Name)
				return
			}
		}
		d.At(f.At, "unknown key %s in a project%s", source.Word(f.Name), source.Nearest(f.Name, projectKeys))
	}
}

func (d *decoder) rights(p *rootbound.Project, v *source.Node) {
	words := d.Texts(v, "rights")
	if len(words) == 0 {
		if v.Kind == source.List {
			d.At(v.At, "no rights given: use ro, propose, rw, full, or a list of rights")
		}
		return
	}
	if len(words) == 1 && v.Kind == source.Scalar {
		r, err := rootbound.ParseRights(words[0].Text)
		if err != nil {
			d.At(v.At, "%v", err)
		}
		p.Rights = r
		return
	}
	p.Rights = 0
	for _, w := range words {
		// With a second word "propose" is the single right, as the list says.
		r, err := rootbound.ParseRights(w.Text + " " + w.Text)
		if err != nil {
			d.At(w.At, "%v", err)
			continue
		}
		p.Rights |= r
	}
}

// presets takes {credentials: off} or a list of the presets that are on.
func (d *decoder) presets(p *rootbound.Project, v *source.Node) {
	lift := map[string]*bool{"credentials": &p.LiftCredentials, "execution": &p.LiftExecution}
	known := []string{"credentials", "execution"}
	if v.Kind == source.Mapping {
		for _, k := range v.Keys {
			flag, ok := lift[k.Name]
			if !ok {
				d.At(k.At, "unknown preset %s%s", source.Word(k.Name), source.Nearest(k.Name, known))
				continue
			}
			*flag = !d.truth(k.Value, "preset "+k.Name)
		}
		return
	}
	p.LiftCredentials, p.LiftExecution = true, true
	for _, n := range d.Texts(v, "presets") {
		flag, ok := lift[n.Text]
		if !ok {
			d.At(n.At, "unknown preset %s%s", source.Word(n.Text), source.Nearest(n.Text, known))
			continue
		}
		*flag = false
	}
}

func (d *decoder) size(v *source.Node, name string) int64 {
	if !d.Expect(v, source.Scalar, name) {
		return 0
	}
	n, err := source.ParseSize(v.Text)
	if err != nil {
		d.At(v.At, "%s: %v", name, err)
	}
	return n
}

func (d *decoder) choice(v *source.Node, name string, words ...string) string {
	if !d.Expect(v, source.Scalar, name) {
		return ""
	}
	w, err := source.OneOf(v.Text, words...)
	if err != nil {
		d.At(v.At, "%s: %v", name, err)
	}
	return w
}

func (d *decoder) truth(v *source.Node, name string) bool {
	if !d.Expect(v, source.Scalar, name) {
		return false
	}
	b, err := source.ParseSwitch(v.Text)
	if err != nil {
		d.At(v.At, "%s: %v", name, err)
	}
	return b
}
