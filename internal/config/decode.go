package config

import (
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
)

// decoder fills a loader from a parsed file.
type decoder struct {
	*problems
	*loader
	dir    string          // of the file
	inside string          // the environment that is read; empty: the file itself
	before map[string]bool // projects of the file itself, by id, that the environment has not changed yet
}

func (d *decoder) document(root *node) {
	if root.kind == empty {
		return
	}
	if !d.expect(root, mapping, "the configuration") {
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
	for _, f := range root.keys {
		switch f.name {
		case "projects":
			d.projects(f.value)
		case "environments": // read last: see environments
		case "roots":
			if f.value.kind == scalar { // short form: roots: narrow
				d.setting(settings["roots.mode"], f.value)
				continue
			}
			d.section(f, settings)
		case "audit", "limits", "undo":
			d.section(f, settings)
		default:
			s, ok := settings[f.name]
			if !ok {
				d.at(f.at, "unknown key %s%s", word(f.name), nearest(f.name, words))
				continue
			}
			d.setting(s, f.value)
		}
	}
}

// section reads a mapping whose keys are settings: roots, audit, limits.
func (d *decoder) section(f field, settings map[string]Setting) {
	if f.value.kind == empty {
		return
	}
	if !d.expect(f.value, mapping, f.name) {
		return
	}
	for _, k := range f.value.keys {
		s, ok := settings[f.name+"."+k.name]
		if !ok {
			var words []string
			for _, s := range Settings() {
				if w, ok := strings.CutPrefix(s.Key, f.name+"."); ok {
					words = append(words, w)
				}
			}
			d.at(k.at, "unknown key %s in %s%s", word(k.name), f.name, nearest(k.name, words))
			continue
		}
		d.setting(s, k.value)
	}
}

func (d *decoder) setting(s Setting, n *node) {
	if !d.expect(n, scalar, s.Key) {
		return
	}
	if err := s.set(d.Config, n.text); err != nil {
		d.at(n.at, "%s: %v", s.Key, err)
		return
	}
	d.origins[s.Key] = Origin{"file", d.where(n.at)}
}

func (d *decoder) where(at position) string {
	return fmt.Sprintf("%s:%d:%d%s", d.problems.file, at.line, at.column, d.inEnvironment())
}

var projectKeys = []string{
	"id", "dir", "rights", "deny", "allow_extensions", "max_read", "max_write", "presets", "mounts", "hardlinks", "moves", "copy_across", "writes", "description",
}

func (d *decoder) projects(n *node) {
	if n.kind == empty {
		return
	}
	if !d.expect(n, list, "projects") {
		return
	}
	d.before = map[string]bool{}
	for i := range d.Projects {
		d.before[string(d.Projects[i].ID)] = d.inside != ""
	}
	for _, item := range n.items {
		if d.expect(item, mapping, "each entry of projects") && !d.overlay(item) {
			d.project(item)
		}
	}
}

func (d *decoder) project(n *node) {
	before := len(d.found)
	p := rootbound.Project{Rights: rootbound.ReadOnly}
	places := map[string]position{"": n.at}
	for _, f := range n.keys {
		places[f.name] = f.value.at
		if f.value.kind == empty {
			d.at(f.at, "%s has no value", word(f.name))
			continue
		}
		d.projectKey(&p, f)
	}
	dirAt, given := places["dir"]
	switch {
	case !given:
		d.at(n.at, "a project needs dir, the directory it grants")
	case p.Dir != "":
		d.checkDir(p.Dir, dirAt)
	}
	if p.ID == "" && p.Dir != "" {
		p.ID = d.freeID(p.Dir)
	}
	if len(d.found) > before {
		return
	}
	here := d.stat(p.Dir)
	for i := range d.Projects {
		other := &d.Projects[i]
		if other.ID == p.ID {
			d.at(place(places, "id"), "project id %s is used twice, first at %s", word(string(p.ID)), d.origins["projects."+string(p.ID)].Where)
			return
		}
		if other.Dir == p.Dir || here != nil && sameFile(here, d.stat(other.Dir)) {
			d.at(dirAt, "this directory is granted twice: as project %s at %s with rights %s, and here with rights %s",
				word(string(other.ID)), d.origins["projects."+string(other.ID)].Where, other.Rights, p.Rights)
			return
		}
	}
	d.origins["projects."+string(p.ID)] = Origin{"file", d.where(n.at)}
	d.Projects = append(d.Projects, p)
}

func place(places map[string]position, name string) position {
	if at, ok := places[name]; ok {
		return at
	}
	return places[""]
}

func (d *decoder) projectKey(p *rootbound.Project, f field) {
	v := f.value
	switch f.name {
	case "id":
		if d.expect(v, scalar, "id") {
			if err := checkID(v.text); err != nil {
				d.at(v.at, "%v", err)
			} else {
				p.ID = rootbound.RootID(v.text)
			}
		}
	case "dir":
		switch {
		case !d.expect(v, scalar, "dir"):
		case v.text == "": // joined to the file's directory it would grant that
			d.at(v.at, "dir is empty and names no directory")
		default:
			p.Dir = d.absolute(v.text, d.dir)
		}
	case "rights":
		d.rights(p, v)
	case "deny":
		for _, n := range d.texts(v, "deny") {
			if err := checkGlob(n.text); err != nil {
				d.at(n.at, "%v", err)
				continue
			}
			p.Deny = append(p.Deny, n.text)
		}
	case "allow_extensions":
		for _, n := range d.texts(v, "allow_extensions") {
			if len(n.text) < 2 || n.text[0] != '.' || strings.ContainsAny(n.text, "/*?") {
				d.at(n.at, "%s is not an extension: write it with its dot, such as .go", word(n.text))
				continue
			}
			p.AllowExtensions = append(p.AllowExtensions, n.text)
		}
	case "max_read":
		p.MaxRead = d.size(v, f.name)
	case "max_write":
		p.MaxWrite = d.size(v, f.name)
	case "presets":
		d.presets(p, v)
	case "mounts":
		p.DenyMounts = d.choice(v, f.name, "allow", "deny") == "deny"
	case "hardlinks":
		p.DenyHardlinks = d.choice(v, f.name, "allow", "deny") == "deny"
	case "moves":
		p.MovesAcross = d.choice(v, f.name, "within", "across") == "across"
	case "writes":
		p.ProposeWrites = d.choice(v, f.name, "direct", "propose") == "propose"
	case "description":
		if d.expect(v, scalar, "description") {
			if len(v.text) > longestDescription {
				d.at(v.at, "description is longer than %d bytes", longestDescription)
			}
			p.Description = v.text
		}
	case "copy_across":
		p.CopyAcross = d.truth(v, f.name)
	default:
		for _, s := range Settings() {
			if top, _, _ := strings.Cut(s.Key, "."); top == f.name {
				d.at(f.at, "%s stands beside projects, not inside one", f.name)
				return
			}
		}
		d.at(f.at, "unknown key %s in a project%s", word(f.name), nearest(f.name, projectKeys))
	}
}

func (d *decoder) rights(p *rootbound.Project, v *node) {
	words := d.texts(v, "rights")
	if len(words) == 0 {
		if v.kind == list {
			d.at(v.at, "no rights given: use ro, propose, rw, full, or a list of rights")
		}
		return
	}
	if len(words) == 1 && v.kind == scalar {
		r, err := rootbound.ParseRights(words[0].text)
		if err != nil {
			d.at(v.at, "%v", err)
		}
		p.Rights = r
		return
	}
	p.Rights = 0
	for _, w := range words {
		// With a second word "propose" is the single right, as the list says.
		r, err := rootbound.ParseRights(w.text + " " + w.text)
		if err != nil {
			d.at(w.at, "%v", err)
			continue
		}
		p.Rights |= r
	}
}

// presets takes {credentials: off} or a list of the presets that are on.
func (d *decoder) presets(p *rootbound.Project, v *node) {
	lift := map[string]*bool{"credentials": &p.LiftCredentials, "execution": &p.LiftExecution}
	known := []string{"credentials", "execution"}
	if v.kind == mapping {
		for _, k := range v.keys {
			flag, ok := lift[k.name]
			if !ok {
				d.at(k.at, "unknown preset %s%s", word(k.name), nearest(k.name, known))
				continue
			}
			*flag = !d.truth(k.value, "preset "+k.name)
		}
		return
	}
	p.LiftCredentials, p.LiftExecution = true, true
	for _, n := range d.texts(v, "presets") {
		flag, ok := lift[n.text]
		if !ok {
			d.at(n.at, "unknown preset %s%s", word(n.text), nearest(n.text, known))
			continue
		}
		*flag = false
	}
}

func (d *decoder) size(v *node, name string) int64 {
	if !d.expect(v, scalar, name) {
		return 0
	}
	n, err := parseSize(v.text)
	if err != nil {
		d.at(v.at, "%s: %v", name, err)
	}
	return n
}

func (d *decoder) choice(v *node, name string, words ...string) string {
	if !d.expect(v, scalar, name) {
		return ""
	}
	w, err := oneOf(v.text, words...)
	if err != nil {
		d.at(v.at, "%s: %v", name, err)
	}
	return w
}

func (d *decoder) truth(v *node, name string) bool {
	if !d.expect(v, scalar, name) {
		return false
	}
	b, err := parseSwitch(v.text)
	if err != nil {
		d.at(v.at, "%s: %v", name, err)
	}
	return b
}
