package glob

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

func numbered(n int, pattern string) []string {
	var all []string
	for i := range n {
		all = append(all, strings.ReplaceAll(pattern, "N", fmt.Sprint(i)))
	}
	return all
}

var compilers = map[string]func([]string) (Excludes, error){
	"search": CompileExcludes, "tree": CompileTreeExcludes,
	"globs": func(p []string) (Excludes, error) { return CompileGlobs("include", p) },
}

// TestListsAreBounded: what a list of patterns takes is bounded as a whole, however it is made up.
func TestListsAreBounded(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		refused  bool // else it may be either, unless it is taken
		taken    bool
	}{
		{numbered(250, "{1..999}"+strings.Repeat("a*", 100)+"N"), true, false},
		{numbered(250, "{1..999}N"), true, false},
		{numbered(256, strings.Repeat("a", 4000)+"*N"), true, false},
		{numbered(256, "*"+strings.Repeat("a*", 40)+"N"), false, false},
		{numbered(256, "x/"+strings.Repeat("a/", 100)+"N"), true, false},
		{numbered(60, strings.Repeat("[", 4000)+"*N"), true, false},
		{numbered(60, strings.Repeat("[[:", 1300)+`\]*N`), true, false},
		{numbered(60, "{"+strings.Repeat("{1..999},", 400)+"N}"), true, false},
		{numbered(60, strings.Repeat("{", 4000)+"N"), false, false},
		{numbered(60, strings.Repeat("{a}", 1200)+",N}"), false, false},
		{numbered(60, "{"+strings.Repeat("{", 3900)+",N}"), false, false},
		{numbered(257, "*.N"), true, false},
		{numbered(257, "N"), true, false},
		{numbered(400_000, "N"), true, false},
		{[]string{strings.Repeat("a", 4<<20)}, true, false},
		{numbered(256, "a*N"), false, true},
		{numbered(256, "dir-N/**/*.[ch]"), false, true},
		{numbered(256, "N"), false, true},
		{[]string{"{1..900}-*.{go}"}, false, true},
	} {
		for name, compile := range compilers {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			x, err := compile(c.patterns)
			runtime.ReadMemStats(&after)
			shown := fmt.Sprintf("%s: %d × %.30q", name, len(c.patterns), c.patterns[0])
			if c.refused && rootbound.ReasonOf(err) != rootbound.ArgumentInvalid || c.taken && err != nil {
				t.Errorf("%s: %v", shown, err)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
				t.Errorf("%s: %d MiB", shown, made>>20)
			}
			if err == nil {
				x.Match("dir-7/x/y.c")
			}
		}
	}
}

func TestTooManySaysWhich(t *testing.T) {
	for _, kind := range []string{"include", "exclude"} {
		if _, err := CompileGlobs(kind, slices.Repeat([]string{"a*"}, MaxPatterns)); err != nil {
			t.Error(err)
		}
		_, err := CompileGlobs(kind, slices.Repeat([]string{"a*"}, MaxPatterns+1))
		if e, ok := err.(*rootbound.Error); !ok || e.Detail != "more than 256 "+kind+" patterns" {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
