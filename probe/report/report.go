// Package report writes the results of a probe: as a table for people, and as JSON, JUnit, SARIF, Markdown and one
// self-contained HTML page for what reads them next.
package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/rootbound/rootbound/probe"
)

// Formats are the names Write knows.
func Formats() []string { return []string{"table", "json", "junit", "sarif", "markdown", "html"} }

// Write writes reports in a format. One report is a result; several stand beside each other, in table, markdown and html.
func Write(w io.Writer, format string, reports ...*probe.Report) error {
	if len(reports) == 0 {
		return errors.New("no report")
	}
	if len(reports) > 1 && slices.Contains([]string{"json", "junit", "sarif"}, format) {
		return fmt.Errorf("%s holds one report; compare as table, markdown or html", format)
	}
	switch format {
	case "table":
		return table(w, reports)
	case "json":
		return printed(w, reports[0])
	case "junit":
		return junit(w, reports[0])
	case "sarif":
		return sarif(w, reports[0])
	case "markdown":
		return markdown(w, reports)
	case "html":
		return page(w, reports)
	}
	return fmt.Errorf("no format %q; there are %s", format, strings.Join(Formats(), ", "))
}

const longest = 256 << 20 // bytes of a report that Read takes

// Read reads a report that was written as JSON, up to 256 MiB. Its summary is counted anew: the cases are what is shown.
func Read(r io.Reader) (*probe.Report, error) {
	in := &io.LimitedReader{R: r, N: longest}
	out := &probe.Report{}
	switch err := json.NewDecoder(in).Decode(out); {
	case err != nil && in.N == 0:
		return nil, fmt.Errorf("it is larger than %d bytes", longest)
	case err != nil:
		return nil, fmt.Errorf("this is no report of a probe: %w", err)
	case out.Schema != probe.SchemaName:
		return nil, fmt.Errorf("this is no report of a probe: schema %q, not %s", out.Schema, probe.SchemaName)
	}
	for _, c := range out.Cases {
		if !slices.Contains([]string{probe.Held, probe.Fell, probe.Skipped, probe.Failed}, c.Verdict) {
			return nil, fmt.Errorf("this is no report of a probe: verdict %q", c.Verdict)
		}
	}
	out.Sum()
	return out, nil
}

// row is one case in one era, for each report in order.
type row struct {
	probe.Outcome                  // of the first report that has it
	Key           string           // id, and the era where a case was asked in both
	Cells         []*probe.Outcome // nil where a report does not have it
}

// rows lines reports up.
func rows(reports []*probe.Report) []*row {
	var out []*row
	at := map[string]*row{}
	eras := map[string]map[string]bool{}
	for i, r := range reports {
		for j := range r.Cases {
			o := &r.Cases[j]
			key := o.ID + "/" + o.Era
			if at[key] == nil {
				at[key] = &row{Outcome: *o, Key: o.ID, Cells: make([]*probe.Outcome, len(reports))}
				out = append(out, at[key])
			}
			at[key].Cells[i] = o
			if eras[o.ID] == nil {
				eras[o.ID] = map[string]bool{}
			}
			eras[o.ID][o.Era] = true
		}
	}
	for _, r := range out {
		if len(eras[r.ID]) > 1 {
			r.Key += " " + r.Era
		}
	}
	return out
}

// verdict of one cell.
func verdict(o *probe.Outcome) string {
	if o == nil {
		return "not asked"
	}
	return o.Verdict
}

// reason is what a person should know of a cell in one line.
func reason(o *probe.Outcome) string {
	switch {
	case o == nil:
		return ""
	case o.Verdict == probe.Held:
		return ""
	case len(o.Evidence) > 0:
		return o.Evidence[0]
	}
	return o.Got
}

// Sentence is a run in one line, as it may be written to a terminal.
func Sentence(r *probe.Report) string { return Plain(sentence(r)) }

func sentence(r *probe.Report) string {
	s := r.Summary
	return fmt.Sprintf("%s: %d held, %d fell, %d skipped, %d could not be put, in %.1f s",
		cmp.Or(r.Server.Title(), "the server"), s.Held, s.Fell, s.Skipped, s.Error, float64(r.ElapsedMS)/1000)
}

// Plain keeps a server's text from steering a terminal, or from being shown as another.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return '·'
		}
		return r
	}, s)
}

// steers reports whether a terminal obeys a character, or shows others differently for it.
func steers(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// printed writes JSON in which what steers a terminal is escaped: it stands in strings only.
func printed(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return err
	}
	var out strings.Builder
	for _, r := range b.String() {
		switch {
		case r == '\n' || !steers(r):
			out.WriteRune(r)
		default:
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, "\\u%04x", u)
			}
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Symbol is a verdict where a line must be short.
func Symbol(v string) string {
	switch v {
	case probe.Held:
		return "held"
	case probe.Fell:
		return "FELL"
	case probe.Skipped:
		return "skip"
	case probe.Failed:
		return "ERR "
	}
	return "–"
}

// Line is one outcome as one line of a live table.
func Line(o probe.Outcome) string {
	s := fmt.Sprintf("%s  %-5s %-6s  %s", Symbol(o.Verdict), Plain(o.ID), o.Era, Plain(o.What))
	if why := reason(&o); why != "" && o.Verdict != probe.Skipped {
		s += "\n      → " + Plain(why)
	}
	return s
}

func table(w io.Writer, reports []*probe.Report) error {
	var b strings.Builder
	family := ""
	all := rows(reports)
	width := 0
	for _, r := range all {
		width = max(width, len(r.Key))
	}
	for _, r := range all {
		if r.Family != family {
			family = r.Family
			fmt.Fprintf(&b, "\n%s\n", family)
		}
		fmt.Fprintf(&b, "  %-*s", width, r.Key)
		for _, c := range r.Cells {
			fmt.Fprintf(&b, "  %s", Symbol(verdict(c)))
		}
		fmt.Fprintf(&b, "  %s\n", Plain(r.What))
		for i, c := range r.Cells {
			if c == nil || c.Verdict == probe.Held || c.Verdict == probe.Skipped && len(reports) > 1 {
				continue
			}
			who := ""
			if len(reports) > 1 {
				who = fmt.Sprintf("%d: ", i+1)
			}
			fmt.Fprintf(&b, "  %*s  → %s%s\n", width, "", who, Plain(reason(c)))
		}
	}
	b.WriteString("\n")
	for i, r := range reports {
		if len(reports) > 1 {
			fmt.Fprintf(&b, "%d: ", i+1)
		}
		fmt.Fprintln(&b, Sentence(r))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
