package config

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rootbound/rootbound"
)

// Whatever a directory is called, the id made of its name is one that may be written into a configuration, and new.
func TestFreeIDIsAnID(t *testing.T) {
	check := func(t rapid.TB, name string) {
		c := &Config{}
		for range 3 {
			id := c.freeID("/srv/" + name)
			if err := checkID(string(id)); err != nil {
				t.Errorf("%q: %v", name, err)
			}
			if c.hasID(id) {
				t.Errorf("%q: %s is taken", name, id)
			}
			c.Projects = append(c.Projects, rootbound.Project{ID: id})
		}
	}
	for _, name := range []string{"", "-", ".", "..", "...", "a b", " .", "é", "\xff\xfe", "0 -" + string(make([]byte, 60)) + "0"} {
		check(t, name)
	}
	for n := range LongestID + 8 { // the cut falls on a dash, a dot, inside a rune
		pad := make([]rune, n)
		for i := range pad {
			pad[i] = '0'
		}
		for _, tail := range []string{" 0", "--  0", "é0", "\u2028x", ". x"} {
			check(t, string(pad)+tail)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.StringMatching(`[^/]{0,90}`).Draw(t, "name")) })
}
