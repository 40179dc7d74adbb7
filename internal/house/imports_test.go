package house

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// entry is what the page says of a room.
type entry struct {
	floor   int
	imports []string // patterns, "*" for any
	used    map[string]bool
}

var (
	row    = regexp.MustCompile("(?m)^\\|([ 0-9]*)\\| `([^`]+)` \\|.*\\|([^|]*)\\|$")
	quoted = regexp.MustCompile("`([^`]+)`")
)

// table is that of docs/architecture.md, by room; a row without a floor is on that of the row before.
func table(t *testing.T) map[string]*entry {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rooms, floor := map[string]*entry{}, 0
	for _, r := range row.FindAllStringSubmatch(string(text), -1) {
		if n, err := strconv.Atoi(strings.TrimSpace(r[1])); err == nil {
			floor = n
		}
		if _, twice := rooms[r[2]]; twice {
			t.Errorf("the page has two rows for %s", r[2])
		}
		e := &entry{floor: floor, used: map[string]bool{}}
		for _, m := range quoted.FindAllStringSubmatch(r[3], -1) {
			e.imports = append(e.imports, m[1])
		}
		if strings.TrimSpace(r[3]) == "any" {
			e.imports = []string{"*"}
		}
		rooms[r[2]] = e
	}
	return rooms
}

// proving are the rooms that are not part of the product, what tests, measures and shows the rest, with what they may
// import outside of tests. A pattern that ends with "/..." stands for every room below.
var proving = map[string][]string{
	"cases":                 {},
	"decision/decisiontest": {"decision"},
	"e2e":                   {},
	"examples/...":          {"*"},
	"internal/house":        {},
	"internal/rawmcp":       {},
	"internal/rig":          {},
	"internal/rig/early":    {"beneath"},
	"internal/rig/joined":   {"mcpscope/pipe"},
	"internal/storm":        {},
	"tools/...":             {"internal/rig"},
}

func matches(pattern, room string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(room, below+"/")
	}
	is, err := path.Match(pattern, room)
	return err == nil && is || pattern == "*"
}

// proves tells a room that proves the rest from one of the product.
func proves(room string) (may []string, ok bool) {
	for pattern, may := range proving {
		if matches(pattern, room) {
			return may, true
		}
	}
	return nil, false
}

// imports compares the table of docs/architecture.md with what is imported, both ways, and holds it to its floors: what a
// room imports is on the same floor or a lower one.
func imports(t *testing.T, rooms []pkg) {
	said, there := table(t), map[string]bool{}
	for _, p := range rooms {
		room := p.room()
		if room == "" {
			room = "rootbound" // the vocabulary
		}
		there[room] = true
		e, ok := said[room]
		if !ok {
			may, ok := proves(room)
			if !ok {
				t.Errorf("the page has no row for %s", room)
				continue
			}
			e = &entry{imports: may, used: map[string]bool{}}
		}
		for _, i := range p.Imports {
			i, ours := strings.CutPrefix(i, module)
			if i = strings.TrimPrefix(i, "/"); !ours || i == "" && !strings.HasPrefix(room+"/", "probe/") { // probe takes nothing of ours, not even the words
				continue
			}
			at := slices.IndexFunc(e.imports, func(pattern string) bool { return matches(pattern, i) })
			if at < 0 {
				t.Errorf("%s imports %q; it may import %v", room, i, e.imports)
				continue
			}
			e.used[e.imports[at]] = true
			if below := said[i]; ok && (below == nil || below.floor > e.floor) {
				t.Errorf("%s imports %s, which is not on its floor or a lower one", room, i)
			}
		}
		for _, pattern := range e.imports {
			if ok && !e.used[pattern] && pattern != "*" {
				t.Errorf("the page says that %s imports %s; it does not", room, pattern)
			}
		}
	}
	for room := range said {
		if !there[room] {
			t.Errorf("the page has a row for %s, which is not there", room)
		}
	}
}
