package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config/held"
	"github.com/rootbound/rootbound/internal/config/source"
)

// Show is the configuration in force as a file that Load reads back; with origins each value is followed by a comment
// that says where it came from.
func (c *Config) Show(origins bool) []byte {
	w := shower{origins: origins}
	for _, line := range c.Waiting {
		w.line(0, "# not in force: "+rootbound.Clean(line.String()), Origin{})
	}
	section := ""
	for _, s := range Settings() {
		top, key, nested := strings.Cut(s.Key, ".")
		if nested && top != section {
			w.line(0, top+":", Origin{})
		}
		section = ""
		indent := 0
		if nested {
			section, indent = top, 1
		} else {
			key = top
		}
		if v := s.get(c); v != "" {
			w.line(indent, key+": "+source.Plain(v), c.origins[s.Key])
		}
	}
	if len(c.Projects) > 0 {
		w.line(0, "projects:", Origin{})
	}
	for i := range c.Projects {
		p := &c.Projects[i]
		w.line(0, "  - id: "+source.Plain(string(p.ID)), c.origins["projects."+string(p.ID)])
		for _, l := range projectLines(p) {
			w.line(2, l, Origin{})
		}
	}
	return w.Bytes()
}

type shower struct {
	bytes.Buffer
	origins bool
}

func (w *shower) line(indent int, text string, o Origin) {
	text = strings.Repeat("  ", indent) + text
	if w.origins && o.Source != "" {
		fmt.Fprintf(w, "%-36s # %s\n", text, rootbound.Clean(o.String()))
		return
	}
	w.WriteString(text + "\n")
}

func projectLines(p *rootbound.Project) []string {
	out := []string{"dir: " + source.Plain(p.Dir)}
	if r := p.Rights.String(); !strings.Contains(r, " ") {
		out = append(out, "rights: "+r)
	} else {
		out = append(out, "rights: ["+strings.Join(p.Rights.Names(), ", ")+"]")
	}
	add := func(given bool, line string) {
		if given {
			out = append(out, line)
		}
	}
	add(p.Description != "", "description: "+source.Plain(p.Description))
	add(len(p.Deny) > 0, "deny: "+source.PlainList(p.Deny))
	add(len(p.AllowExtensions) > 0, "allow_extensions: "+source.PlainList(p.AllowExtensions))
	add(p.MaxRead > 0, "max_read: "+source.FormatSize(p.MaxRead))
	add(p.MaxWrite > 0, "max_write: "+source.FormatSize(p.MaxWrite))
	if p.LiftCredentials || p.LiftExecution {
		var off []string
		if p.LiftCredentials {
			off = append(off, "credentials: off")
		}
		if p.LiftExecution {
			off = append(off, "execution: off")
		}
		add(true, "presets: {"+strings.Join(off, ", ")+"}")
	}
	add(p.DenyMounts, "mounts: deny")
	add(p.DenyHardlinks, "hardlinks: deny")
	add(p.MovesAcross, "moves: across")
	add(p.CopyAcross, "copy_across: true")
	add(p.ProposeWrites, "writes: propose")
	return out
}

// Summary is one line for each project, for status pages and config check.
func (c *Config) Summary() []string {
	number := strconv.Itoa(len(c.Projects)) + " projects"
	if len(c.Projects) == 1 {
		number = "1 project"
	}
	out := []string{"roots " + c.Roots.Mode + ", " + number}
	for i := range c.Projects {
		p := &c.Projects[i]
		out = append(out, fmt.Sprintf("%s: %s (%s)", p.ID, rootbound.Quote(p.Dir), Granted(*p)))
	}
	return out
}

// Granted is what a project lets be done, for people: its rights, and whether a person has to agree to changes.
func Granted(p rootbound.Project) string { return held.Granted(p) }

// Notes say what a reader of the file may not see at once.
func (c *Config) Notes() []string {
	var out []string
	s := held.Scope{}
	where := &whereabouts{}
	for _, p := range c.Projects {
		s.Grants = append(s.Grants, held.Grant{Project: p, Real: where.canonical(p.Dir)})
	}
	inside := s.Inside()
	for i := range c.Projects {
		id := c.Projects[i].ID
		if outer, ok := inside[id]; ok {
			out = append(out, fmt.Sprintf("%s lies inside %s: there the rights and rules of %s hold, and no others", id, outer, id))
		}
	}
	if c.Environment != "" {
		out = append(out, "environment "+c.Environment)
	} else if names := c.Environments(); len(names) > 0 {
		out = append(out, "environments "+strings.Join(names, ", ")+", none chosen")
	}
	if c.First {
		out = append(out, "nothing was accepted of this file yet: the next start of a server takes it as it is")
	}
	return out
}
