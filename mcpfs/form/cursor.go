package form

import (
	"maps"
	"slices"

	"github.com/rootbound/rootbound/mcpfs/wire"
)

// bounding are the arguments that say how much one answer shows, and not what all answers show together: they may differ
// from page to page.
var bounding = []string{cursorField.Name, nodesField.Name, "max_results", "context"}

// Cursors are those of a call with these arguments; other are arguments that go on with other values.
func (t *Tool) Cursors(a *wire.Arguments, other map[string]any) wire.Cursors {
	shaping := map[string]any{}
	for _, f := range t.In {
		if slices.Contains(bounding, f.Name) {
			continue
		}
		if v := a.Sent(f.Field); v != nil {
			shaping[f.Name] = v
		}
	}
	maps.Copy(shaping, other)
	maps.DeleteFunc(shaping, func(_ string, v any) bool { return v == nil })
	return wire.CursorsOf(t.Name, shaping)
}

// ListOn are the arguments of list_directory that go on with a directory of a project behind a name.
func (t Tools) ListOn(project, path, after string) (tool string, arguments map[string]any) {
	row := t.Row("list_directory")
	arguments = map[string]any{row.Named(Root): project, row.Named(Object): path}
	arguments[cursorField.Name] = wire.CursorsOf(row.Name, arguments).At(after)
	return row.Name, arguments
}
