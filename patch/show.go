package patch

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
)

// Show writes a plan for a person at a terminal: what happens to which file, and all of the diff, so that nothing of it can
// look like something it is not. What out fails to take is out's to remember, as a bufio.Writer does.
func (p *Plan) Show(out io.Writer) {
	fmt.Fprintf(out, "patch %s for project %s%s\nproposed %s, expires %s\n", p.ID, rootbound.Clean(string(p.Project)), p.By(),
		p.Made.Local().Format(time.DateTime), p.Expires.Local().Format(time.DateTime))
	for _, f := range p.Files {
		fmt.Fprintf(out, "  %-6s %s\n", f.Action, Visible(f.Path))
	}
	fmt.Fprintln(out)
	for l := range strings.Lines(p.Diff) {
		parts := strings.Split(strings.TrimSuffix(l, "\n"), "\t")
		for i := range parts {
			parts[i] = Visible(parts[i])
		}
		fmt.Fprintln(out, strings.Join(parts, "\t"))
	}
}

// By names the client that proposed it, which says of itself what it likes; empty if it said nothing.
func (p *Plan) By() string {
	if p.Client == "" {
		return ""
	}
	return "  from " + rootbound.Quote(p.Client)
}

// Summary counts what a plan does.
func (p *Plan) Summary() string {
	n := map[Action]int{}
	for _, f := range p.Files {
		n[f.Action]++
	}
	var parts []string
	for _, a := range []Action{Creates, Writes, Modes, Deletes} {
		if n[a] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", a, n[a]))
		}
	}
	return strings.Join(parts, ", ")
}
