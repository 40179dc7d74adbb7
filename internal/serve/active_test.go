package serve

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs"
)

// What was chosen holds over reloads, for projects that come later too; a project that leads elsewhere comes back only when
// a person accepted it.
func TestUseAndReload(t *testing.T) {
	top := t.TempDir()
	project := func(id, dir string) rootbound.Project {
		path := filepath.Join(top, dir)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return rootbound.Project{ID: rootbound.RootID(id), Dir: path, Rights: rootbound.ReadWrite}
	}
	a, b, c := project("a", "a"), project("b", "b"), project("c", "c")
	s, err := New(Options{Version: "test", Projects: []rootbound.Project{a, b}, Tools: mcpfs.Project})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	listed := 0
	s.relist = func() { listed++ }
	is := func(what string, want ...rootbound.RootID) {
		t.Helper()
		if got := s.projects(t.Context(), nil); !slices.Equal(got, want) {
			t.Errorf("%s: in force %v, want %v", what, got, want)
		}
	}
	announced := func(want int) {
		t.Helper()
		if listed != want {
			t.Errorf("announced %d times, want %d", listed, want)
		}
	}
	reload := func(projects ...rootbound.Project) {
		t.Helper()
		if err := s.Reload(projects); err != nil {
			t.Fatal(err)
		}
	}
	unknown, err := s.Use([]rootbound.RootID{"a", "c"})
	if err != nil || !slices.Equal(unknown, []rootbound.RootID{"c"}) {
		t.Errorf("%v, %v", unknown, err)
	}
	is("chosen", "a")
	announced(1)
	reload(a, b, c)
	is("what was chosen came", "a", "c")
	announced(2)
	reload(a, b, c)
	announced(2)
	reload(b)
	is("both are gone")
	announced(3)
	reload(project("a", "elsewhere"), b)
	is("another directory")
	announced(3)
	if moved := s.Retarget(); !slices.Equal(moved, []rootbound.RootID{"a"}) {
		t.Errorf("moved %v", moved)
	}
	is("accepted", "a")
	announced(4)
	if err := s.Reload([]rootbound.Project{{ID: "x"}}); err == nil {
		t.Error("a project without anything")
	}
	is("refused", "a")
	if _, err := s.Use(nil); err != nil {
		t.Fatal(err)
	}
	is("all", "a", "b")
	announced(5)
}
