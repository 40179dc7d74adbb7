package match_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/search/match"
)

// listed is a line of testdata/regexps.txt.
type listed struct {
	class, flags, pattern string
}

func (l listed) String() string { return l.class + "/" + l.flags + "/" + l.pattern }

func (l listed) options() match.Options {
	return match.Options{Literal: strings.Contains(l.flags, "F"), IgnoreCase: strings.Contains(l.flags, "i"), Word: strings.Contains(l.flags, "w")}
}

func readListed(t testing.TB) []listed {
	t.Helper()
	text, err := os.ReadFile("testdata/regexps.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []listed
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.SplitN(line, " ", 3)
		if len(f) != 3 {
			t.Fatalf("%q is no line of the list", line)
		}
		out = append(out, listed{f[0], f[1], f[2]})
	}
	return out
}

func TestListedPatterns(t *testing.T) {
	all := readListed(t)
	classes := map[string]int{}
	for _, l := range all {
		classes[l.class]++
		if m := compile(t, l.pattern, l.options()); m.Class() != l.class {
			t.Errorf("%s is of class %q", l, m.Class())
		}
	}
	for _, c := range []string{"literal", "required", "none"} {
		if classes[c] < 15 {
			t.Errorf("%d patterns of class %s", classes[c], c)
		}
	}
	if len(all) < 60 {
		t.Errorf("%d patterns, want 60", len(all))
	}
}
