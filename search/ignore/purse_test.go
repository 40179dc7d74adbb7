package ignore

import (
	"fmt"
	"strings"
	"testing"
)

// TestPurse: a file of patterns that take long counts until the purse is empty, and is told once; others go on counting.
func TestPurse(t *testing.T) {
	var told []string
	p := NewPurse(func(dir, file string) { told = append(told, dir+":"+file) })
	dear := Parse([]byte("*.x\n" + strings.Repeat("*a*a*a*a*a*a*a*a*b\n", 9999)))
	// in Steps for a short name, not for a long one
	var s *Stack
	s = s.Push("", Parse([]byte("*.y\n*z*[0-9]")), nil).Push("d", dear, nil)
	n := 0
	for ; n < 1e6 && len(told) == 0; n++ {
		name := strings.Repeat("a", 9) + fmt.Sprint(n) + ".x"
		if !s.MatchName(p, "d", name, false) && len(told) == 0 {
			t.Fatalf("%s shows while its file counts", name)
		}
	}
	if len(told) != 1 || told[0] != "d:"+Git || n < 10 {
		t.Fatalf("%d entries, told %q", n, told)
	}
	if s.MatchName(p, "d", "a.x", false) {
		t.Error("the file still counts")
	}
	if !s.MatchName(p, "d", "a.y", false) || !s.MatchName(p, "d", "xzx7", false) {
		t.Error("another file does not count any more")
	}
	// a file that is met with an empty purse
	s = s.Push("d/e", Parse([]byte(strings.Repeat("*a*a*a*a*a*a*a*a*b\n", 999))), Parse([]byte("*.w")))
	s.MatchName(p, "d/e", strings.Repeat("a", 200), false)
	if len(told) != 2 || told[1] != "d/e:"+Git || !s.MatchName(p, "d/e", "a.w", false) {
		t.Errorf("told %q", told)
	}
}

// TestPurseOfSteps: a file that takes all of Steps for one entry is told, and takes no other with it.
func TestPurseOfSteps(t *testing.T) {
	var told []string
	p := NewPurse(func(dir, file string) { told = append(told, dir+":"+file) })
	var s *Stack
	s = s.Push("", Parse([]byte("*x*a")), nil).Push("d", nil, Parse([]byte(strings.Repeat("*a???????????????c\n", 9999))))
	if !s.MatchName(p, "d", strings.Repeat("a", 200)+"xa", false) {
		t.Error("the file above did not count")
	}
	if len(told) != 1 || told[0] != "d:"+Own {
		t.Errorf("told %q", told)
	}
}
