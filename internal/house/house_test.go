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

func TestHouse(t *testing.T) {
	all, rooms := map[string]pkg{}, []pkg{} // with all they depend on; ours
	for _, p := range list(t, "-deps", "./...") {
		if all[p.ImportPath] = p; p.Module != nil && p.Module.Path == module {
			rooms = append(rooms, p)
		}
	}
	t.Run("Imports", func(t *testing.T) { imports(t, rooms) })
	t.Run("Product", func(t *testing.T) { product(t, all) })
	t.Run("Public", func(t *testing.T) { public(t, all) })
	t.Run("NoReplace", noReplace)
	t.Run("Files", func(t *testing.T) { files(t, rooms) })
	t.Run("Sizes", func(t *testing.T) { sizes(t, rooms) })
	t.Run("State", func(t *testing.T) { state(t, rooms) })
}

// product: nothing that only proves is linked into the binary.
func product(t *testing.T, all map[string]pkg) {
	deps := all[module+"/cmd/rootbound"].Deps
	if len(deps) == 0 {
		t.Fatal("the binary imports nothing")
	}
	for _, dep := range deps {
		room := all[dep].room()
		if _, ok := proves(room); ok {
			t.Errorf("the binary holds %s", room)
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
	"beneath":   {"golang.org/x/sys"},
	"authority": {"golang.org/x/sys"},
	"search":    {"golang.org/x/sys"},
	"watch":     {"golang.org/x/sys"},
	"fileop":    {"golang.org/x/sys", "github.com/aymanbagabas/go-udiff"},
	"guard":     {"golang.org/x/sys", "golang.org/x/text", "github.com/bmatcuk/doublestar/v4"},
	"patch":     {"golang.org/x/sys", "golang.org/x/text", "github.com/bmatcuk/doublestar/v4", "github.com/aymanbagabas/go-udiff", "github.com/bluekeyes/go-gitdiff"},
}

func public(t *testing.T, all map[string]pkg) {
	for room, may := range foreign {
		own, ok := all[path.Join(module, room)]
		if !ok {
			t.Errorf("there is no room %q", room)
		}
		got := map[string]bool{}
		for _, dep := range own.Deps {
			p := all[dep]
			if p.Standard || p.Module == nil || p.Module.Path == module {
				continue
			}
			got[p.Module.Path] = true
			if p.Module.Path == "golang.org/x/text" && !slices.Contains([]string{"transform", "unicode/norm"}, strings.TrimPrefix(p.ImportPath, "golang.org/x/text/")) {
				t.Errorf("an importer of %s gets %s of x/text", room, p.ImportPath)
			}
		}
		if is := slices.Sorted(maps.Keys(got)); !slices.Equal(is, slices.Sorted(slices.Values(may))) {
			t.Errorf("an importer of %s gets %v, and should get %v", room, is, may)
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
