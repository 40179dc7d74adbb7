package schema

import (
	"fmt"
	"strings"

	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/config/source"
)

// Template is a configuration file to begin with: the directories of the input as projects with the rights ro, and every
// setting as a comment. It is valid as it is.
func Template(in config.Input) (text []byte, warnings []string, err error) {
	c, warnings, err := config.Load(in)
	if err != nil {
		return nil, warnings, err
	}
	var b strings.Builder
	b.WriteString("# yaml-language-server: $schema=" + URL + `
#
# Configuration of rootbound. "rootbound config check --config FILE" names every mistake with its line, and "rootbound
# config show --origin" says where each value comes from. A flag goes before the environment, the environment before this
# file. What a change of this file would add, or allow beyond what it was, waits for "rootbound config apply".

# The directories that are granted. rights: ro, propose, rw (write, create, move), full (delete too), or a list of rights.
`)
	if len(c.Projects) == 0 {
		b.WriteString(`projects: []
# Without a project nothing is served, whatever a client declares. "roots: {mode: client}" would grant what clients declare.
roots: {mode: narrow}
#  - id: app
#    dir: ~/src/app
#    rights: ro
#    deny: ["**/fixtures/private/**"]
`)
	} else {
		b.WriteString("projects:\n")
		for _, p := range c.Projects {
			fmt.Fprintf(&b, "  - id: %s\n    dir: %s\n    rights: ro\n", source.Plain(string(p.ID)), source.Plain(p.Dir))
		}
	}
	b.WriteString(`# More for each project: deny, allow_extensions, max_read, max_write, presets, mounts, hardlinks, moves, copy_across, writes, description.

# Named environments, chosen with --env or ROOTBOUND_ENV and laid over the rest.
# environments:
#   ci:
#     only: [app]
#     projects: [{id: app, rights: ro}]

# Every setting with its default.
`)
	section := ""
	for _, s := range config.Settings() {
		top, key, nested := strings.Cut(s.Key, ".")
		if !nested {
			key = top
		} else if top != section {
			b.WriteString("# " + top + ":\n")
		}
		section = ""
		indent := "# "
		if nested {
			section, indent = top, "#   "
		}
		value := s.Default
		if value == "" {
			value = "…"
		}
		fmt.Fprintf(&b, "%-32s # %s\n", indent+key+": "+value, s.Help)
	}
	return []byte(b.String()), warnings, nil
}
