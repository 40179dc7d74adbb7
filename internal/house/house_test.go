package house

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rootbound/rootbound"

// pkg is what go list tells of one package.
type pkg struct {
	ImportPath     string
	Dir            string
	Standard       bool
	Imports        []string
	Deps           []string
	GoFiles        []string
	IgnoredGoFiles []string
	CgoFiles       []string
	TestGoFiles    []string
	XTestGoFiles   []string
	Module         *struct{ Path string }
}

// room is the import path below the module; "" is the vocabulary.
func (p pkg) room() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	c := exec.Command("go", append([]string{"list", "-e", "-json"}, args...)...)
	c.Dir = "../.."
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// imports is what each room may import of ours beside the vocabulary; docs/architecture.md says what it does. A pattern that
// ends with "/..." stands for every room below; "*" for any. A room that is missing here may not exist.
var imports = map[string][]string{
	"":                      {},
	"beneath":               {},
	"decision":              {},
	"fileuri":               {},
	"authority":             {"authority/pins", "authority/roots", "beneath", "fileuri"},
	"authority/pins":        {"authority/roots", "beneath"},
	"authority/roots":       {"beneath"},
	"authority/token":       {},
	"fileop":                {"beneath", "fileop/text", "fileop/effect", "fileop/crossing"},
	"fileop/crossing":       {"beneath", "fileop/effect"},
	"fileop/effect":         {"beneath"},
	"fileop/text":           {},
	"search":                {"beneath", "search/ignore", "search/match"},
	"search/ignore":         {},
	"search/match":          {"search/match/automaton"},
	"watch":                 {"beneath"},
	"guard":                 {"authority", "beneath", "decision", "guard/entrylock", "guard/facts", "guard/hang", "guard/judge", "guard/keep", "guard/own", "guard/pace", "guard/rules", "guard/spelling"},
	"guard/entrylock":       {"beneath"},
	"guard/facts":           {"beneath", "decision"},
	"guard/hang":            {},
	"guard/keep":            {"beneath"},
	"guard/judge":           {"authority", "beneath", "guard/own", "guard/rules", "guard/spelling"},
	"guard/own":             {"beneath", "guard/rules"},
	"guard/pace":            {},
	"guard/rules":           {},
	"guard/spelling":        {"authority", "guard/rules"},
	"mcpscope":              {"authority", "authority/token", "decision", "mcpscope/pipe"},
	"mcpscope/pipe":         {},
	"patch":                 {"guard", "fileop", "fileop/text", "authority", "authority/token", "patch/diff"},
	"patch/diff":            {},
	"mcpfs":                 {"guard", "mcpscope", "fileop", "fileop/text", "search", "watch", "patch", "mcpfs/form", "mcpfs/show", "mcpfs/wire", "search/match", "mcpfs/resource", "mcpfs/cache"},
	"mcpfs/form":            {"guard", "mcpscope", "mcpfs/wire"},
	"mcpfs/show":            {"fileop", "search", "search/match", "mcpfs/wire"},
	"mcpfs/resource":        {"guard", "mcpscope", "fileop", "fileop/text", "mcpfs/wire"},
	"mcpfs/subscribe":       {"guard", "mcpscope", "authority", "beneath", "watch", "mcpfs/resource"},
	"mcpfs/cache":           {"guard", "fileop"},
	"mcpfs/wire":            {"mcpscope"},
	"internal/config":       {"internal/config/held", "internal/config/source"},
	"internal/config/held":  {},
	"internal/state":        {"authority/token", "beneath"}, // spent nonces; keys of entry locks and identities of temporary files
	"internal/undo":         {"guard", "beneath", "patch", "internal/state"},
	"internal/sandbox":      {"authority"},
	"internal/shadow":       {"guard"},
	"internal/serve":        {"mcpscope/pipe", "patch", "mcpfs", "mcpfs/cache", "mcpfs/resource", "mcpfs/subscribe", "watch", "mcpscope", "guard", "authority", "decision", "internal/..."},
	"internal/launch":       {"internal/sandbox", "authority"},
	"internal/migrate":      {"internal/shadow", "decision"},
	"internal/console":      {"decision", "authority", "guard"},
	"cmd/rootbound":         {"*"},
	"cmd/rootbound/person":  {"cmd/rootbound/setting", "authority", "guard", "patch", "internal/..."},
	"cmd/rootbound/setting": {"authority", "beneath", "decision", "guard", "mcpfs", "internal/..."},
	"examples/...":          {"*"},
	"probe":                 {"probe/profile", "probe/script", "probe/truth", "probe/wire"},
	"probe/profile":         {"probe/script", "probe/truth", "probe/wire"},
	"probe/script":          {"probe/truth", "probe/wire"},
	"probe/report":          {"probe"},
	"probe/truth":           {},
	"probe/wire":            {},
	"decision/decisiontest": {"decision"},

	"search/match/automaton": {},

	"internal/config/source": {},
	"internal/config/follow": {"internal/config", "internal/config/held"},
	"internal/config/schema": {"internal/config", "internal/config/source"},

	// What proves the rest. None of it is part of the binary.
	"internal/storm":  {"beneath", "fileop", "guard", "authority", "decision"},
	"internal/rawmcp": {},
	"internal/rig":    {},
	"internal/house":  {},
	"cases":           {"internal/rawmcp", "internal/rig", "internal/storm"},
	"e2e":             {},
	"tools/...":       {"internal/rawmcp", "internal/rig"},
}

// floors keep the arrows pointing down: a room imports only rooms of a lower floor, or of its own if the table says so.
func matches(pattern, room string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(room, below+"/")
	}
	return pattern == "*" || pattern == room
}

func allowed(room string) ([]string, bool) {
	if l, ok := imports[room]; ok {
		return l, true
	}
	for pattern, l := range imports {
		if strings.HasSuffix(pattern, "/...") && matches(pattern, room) {
			return l, true
		}
	}
	return nil, false
}

func TestHouse(t *testing.T) {
	all, rooms := map[string]pkg{}, []pkg{} // with all they depend on; ours
	for _, p := range list(t, "-deps", "./...") {
		if all[p.ImportPath] = p; p.Module != nil && p.Module.Path == module {
			rooms = append(rooms, p)
		}
	}
	t.Run("Imports", func(t *testing.T) { importTable(t, rooms) })
	t.Run("Page", func(t *testing.T) { documented(t, rooms) })
	t.Run("Product", func(t *testing.T) { product(t, all) })
	t.Run("Public", func(t *testing.T) { public(t, all) })
	t.Run("NoReplace", noReplace)
	t.Run("Files", func(t *testing.T) { files(t, rooms) })
	t.Run("Sizes", func(t *testing.T) { sizes(t, rooms) })
	t.Run("State", func(t *testing.T) { state(t, rooms) })
}

func importTable(t *testing.T, rooms []pkg) {
	for _, p := range rooms {
		may, ok := allowed(p.room())
		if !ok {
			t.Errorf("the room %q stands in no table", p.room())
			continue
		}
		for _, i := range p.Imports {
			ours, ok := strings.CutPrefix(i, module)
			if !ok || ours == "" && p.room() != "probe" {
				continue
			}
			ours = strings.TrimPrefix(ours, "/")
			if !slices.ContainsFunc(may, func(pattern string) bool { return matches(pattern, ours) }) {
				t.Errorf("%s imports %s; the table allows %v", p.room(), ours, may)
			}
		}
	}
	// The toolchain refuses circles between packages; a circle in the table would invite one.
	var visit func(room string, path []string)
	visit = func(room string, path []string) {
		if slices.Contains(path, room) {
			t.Fatalf("the table has a circle: %v", append(path, room))
		}
		for _, next := range imports[room] {
			if _, ok := imports[next]; ok {
				visit(next, append(slices.Clone(path), room))
			}
		}
	}
	for _, room := range slices.Sorted(maps.Keys(imports)) {
		visit(room, nil)
	}
}

// product: nothing that only proves is linked into the binary.
func product(t *testing.T, all map[string]pkg) {
	deps := all[module+"/cmd/rootbound"].Deps
	if len(deps) == 0 {
		t.Fatal("the binary imports nothing")
	}
	for _, dep := range deps {
		if p := all[dep]; proves(p.room()) {
			t.Errorf("the binary holds %s", p.room())
		}
		if dep == "testing" {
			t.Errorf("the binary holds the package testing")
		}
	}
}

// foreign is what an importer of each public room gets beside the standard library, by module; docs/dependencies.md says why.
var foreign = map[string][]string{
	".":         {},
	"fileuri":   {},
	"decision":  {},
	"beneath":   {"golang.org/x/sys", "golang.org/x/sync"},
	"authority": {"golang.org/x/sys", "golang.org/x/sync"},
	"fileop":    {"golang.org/x/sys", "golang.org/x/sync", "golang.org/x/text", "github.com/aymanbagabas/go-udiff"},
	"search":    {"golang.org/x/sys", "golang.org/x/sync", "golang.org/x/text", "github.com/bmatcuk/doublestar/v4"},
	"watch":     {"golang.org/x/sys", "golang.org/x/sync"},
	"guard":     {"golang.org/x/sys", "golang.org/x/sync", "golang.org/x/mod", "golang.org/x/text", "github.com/bmatcuk/doublestar/v4"},
}

func public(t *testing.T, all map[string]pkg) {
	for room, may := range foreign {
		own, ok := all[path.Join(module, room)]
		if !ok {
			t.Errorf("there is no room %q", room)
		}
		for _, dep := range own.Deps {
			p := all[dep]
			if p.Standard || p.Module == nil || p.Module.Path == module {
				continue
			}
			if !slices.Contains(may, p.Module.Path) {
				t.Errorf("an importer of %s gets %s", room, p.ImportPath)
			}
			if p.Module.Path == "golang.org/x/text" && !slices.Contains([]string{"transform", "unicode/norm"}, strings.TrimPrefix(p.ImportPath, "golang.org/x/text/")) {
				t.Errorf("an importer of %s gets %s of x/text", room, p.ImportPath)
			}
		}
	}
}

func noReplace(t *testing.T) {
	c := exec.Command("go", "mod", "edit", "-json")
	c.Dir = "../.."
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Replace []any
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace) > 0 {
		t.Errorf("go.mod replaces modules: %v", mod.Replace)
	}
}

// sources are the package's own files for every platform, tests left out.
func (p pkg) sources() []string {
	var out []string
	for _, f := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.CgoFiles) {
		if !strings.HasSuffix(f, "_test.go") {
			out = append(out, filepath.Join(p.Dir, f))
		}
	}
	return out
}

func (p pkg) tests() []string {
	var out []string
	for _, f := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		out = append(out, filepath.Join(p.Dir, f))
	}
	return out
}

// short is a path as a reader of the repository writes it.
func (p pkg) short(file string) string { return path.Join(p.room(), filepath.Base(file)) }
