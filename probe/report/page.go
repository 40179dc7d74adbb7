package report

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/rootbound/rootbound/probe"
)

//go:embed page.html
var pageHTML string

// page writes one self-contained page: the grid, a filter, and behind each cell the transcript and why it matters. It
// works without scripts, by keyboard and with a screen reader; the script only filters and opens.
func page(w io.Writer, reports []*probe.Report) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"verdict": verdict, "reason": reason, "sentence": sentence, "printable": Plain,
	}).Parse(pageHTML)
	if err != nil {
		return err
	}
	type family struct {
		Name string
		Rows []*row
	}
	var families []*family
	for _, r := range rows(reports) {
		if len(families) == 0 || families[len(families)-1].Name != r.Family {
			families = append(families, &family{Name: r.Family})
		}
		f := families[len(families)-1]
		f.Rows = append(f.Rows, r)
	}
	return t.Execute(w, map[string]any{"Reports": reports, "Families": families, "Columns": len(reports) + 2})
}
