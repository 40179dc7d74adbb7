package house

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	row    = regexp.MustCompile("(?m)^\\|[ 0-9]*\\| `([^`]+)` \\|.*\\|([^|]*)\\|$")
	quoted = regexp.MustCompile("`([^`]+)`")
)

// documented compares the table of docs/architecture.md with what is imported, both ways.
func documented(t *testing.T, rooms []pkg) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string][]string{}
	for _, r := range row.FindAllStringSubmatch(string(text), -1) {
		if _, twice := said[r[1]]; twice {
			t.Errorf("the page has two rows for %s", r[1])
		}
		said[r[1]] = nil
		for _, m := range quoted.FindAllStringSubmatch(r[2], -1) {
			said[r[1]] = append(said[r[1]], m[1])
		}
		if strings.TrimSpace(r[2]) == "any" {
			said[r[1]] = []string{"any"}
		}
	}
	for _, p := range rooms {
		room := p.room()
		if room == "" {
			room = "rootbound"
		}
		list, ok := said[room]
		delete(said, room)
		if !ok && !proves(room) {
			t.Errorf("the page has no row for %s", room)
		}
		if !ok || slices.Equal(list, []string{"any"}) {
			continue
		}
		used := map[string]bool{}
		for _, i := range p.Imports {
			ours, ok := strings.CutPrefix(i, module+"/")
			if !ok {
				continue
			}
			at := slices.IndexFunc(list, func(pattern string) bool { is, err := path.Match(pattern, ours); return err == nil && is })
			if at < 0 {
				t.Errorf("the page does not say that %s imports %s", room, ours)
				continue
			}
			used[list[at]] = true
		}
		for _, pattern := range list {
			if !used[pattern] {
				t.Errorf("the page says that %s imports %s; it does not", room, pattern)
			}
		}
	}
	for _, room := range slices.Sorted(maps.Keys(said)) {
		t.Errorf("the page has a row for %s, which is not there", room)
	}
}

// proves reports a room that is not part of the product: what tests, measures and shows the rest.
func proves(room string) bool {
	top, _, _ := strings.Cut(room, "/")
	return slices.Contains([]string{"cases", "e2e", "internal/storm", "internal/rawmcp", "internal/rig", "internal/house", "decision/decisiontest"}, room) ||
		slices.Contains([]string{"examples", "tools"}, top)
}
