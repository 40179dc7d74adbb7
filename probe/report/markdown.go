package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/rootbound/rootbound/probe"
)

// markdown writes the grid, and for one report what fell.
func markdown(w io.Writer, reports []*probe.Report) error {
	var b strings.Builder
	b.WriteString("| case | what |")
	for _, r := range reports {
		fmt.Fprintf(&b, " %s |", escaped(cmp.Or(r.Server.Title(), "server")))
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(reports)) + "\n")
	for _, r := range rows(reports) {
		fmt.Fprintf(&b, "| %s | %s |", escaped(r.Key), escaped(r.What))
		for _, c := range r.Cells {
			v := verdict(c)
			if v == probe.Fell {
				v = "**fell**"
			}
			fmt.Fprintf(&b, " %s |", v)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for _, r := range reports {
		fmt.Fprintf(&b, "%s.\n", escaped(sentence(r)))
	}
	if len(reports) == 1 {
		for _, o := range reports[0].Cases {
			if o.Verdict == probe.Fell || o.Verdict == probe.Failed {
				fmt.Fprintf(&b, "\n**%s** (%s) %s: %s. Why it matters: %s.", escaped(o.ID), escaped(o.Era), escaped(o.What), escaped(reason(&o)), escaped(o.Why))
				if o.Mend != "" {
					fmt.Fprintf(&b, " To mend: %s.", escaped(o.Mend))
				}
				b.WriteString("\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escaped keeps a text one cell of a table, and plain.
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "[", `\[`, "_", `\_`).Replace(Plain(s))
}
