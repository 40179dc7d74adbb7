package mcpfs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each tool that is shown does something, and nothing else does.
func TestEveryToolHasItsHandler(t *testing.T) {
	want := Classic.Names()
	slices.Sort(want)
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(handlers()))); d != "" {
		t.Error(d)
	}
}

// Nothing here opens anything: files are reached through the guard's handles only.
func TestNoFileAccessOfItsOwn(t *testing.T) {
	var sources []string
	for _, room := range []string{".", "form", "show", "wire"} {
		in, err := filepath.Glob(room + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, in...)
	}
	forbidden := regexp.MustCompile(`"(os|io/ioutil|syscall|path/filepath|os/exec|golang\.org/x/sys/.*|net|net/http|github\.com/rootbound/rootbound/(beneath|authority|decision))"`)
	n := 0
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		n++
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if m := forbidden.Find(src); m != nil {
			t.Errorf("%s imports %s", name, m)
		}
	}
	if n == 0 {
		t.Fatal("no sources found")
	}
}
