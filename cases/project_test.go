//go:build linux

package cases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// inProject gives a call's arguments the project form.
func inProject(id string, args rawmcp.Args) rawmcp.Args {
	out := rawmcp.Args{"project_id": id}
	for k, v := range args {
		switch k {
		case "path", "source":
			k = "relative_path"
		case "destination":
			k = "relative_destination"
		case "root":
			k = "project_id"
		case "mode": // no such argument, and arguments are closed
			continue
		}
		out[k] = v
	}
	return out
}

// plain reports whether the project form takes a path at all: every segment a name or ".", and not absolute.
func plain(path string) bool {
	if path == "" || strings.HasPrefix(path, "/") {
		return false
	}
	for s := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if s == "" || s == ".." {
			return false
		}
	}
	return true
}

// acrossRoots are the cases whose link leads into another approved root: the classic form reads there, the project form
// does not leave the named project.
var acrossRoots = []string{"abslink-other-root"}

// inProject is the case as the project form has to judge it: what is no plain path is refused, and so is what leaves the
// project.
func (a attack) inProject() attack {
	paths := []string{a.Path}
	if to, ok := a.Args["to"].(string); ok {
		paths = append(paths, to)
	}
	notPlain := slices.ContainsFunc(paths, func(p string) bool {
		return !plain(strings.NewReplacer("$ROOT", "/", "$W", "/", "$OUT", "/").Replace(p))
	})
	if a.Want != "deny" && (notPlain || slices.Contains(acrossRoots, a.ID)) {
		a.Want, a.After = "deny", nil
		a.Why = fmt.Sprintf("the project form takes no such path: %q", paths)
	}
	return a
}
