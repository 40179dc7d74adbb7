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
	dear := Parse([]byte("*.x\n" + strings.Repeat("*a*a*a*a*a*a*a*a*b\n", 2000)))
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
	s = s.Push("", Parse([]byte("*x*a")), nil).Push("d", nil, Parse([]byte(strings.Repeat("*a???????????????c\n", 3000))))
	if !s.MatchName(p, "d", strings.Repeat("a", 200)+"xa", false) {
		t.Error("the file above did not count")
	}
	if len(told) != 1 || told[0] != "d:"+Own {
		t.Errorf("told %q", told)
	}
}

// TestPurseOfManyFiles: files that take little each, but are many, take from the purse too: what is not counted is bounded for
// each entry, not only for each file.
func TestPurseOfManyFiles(t *testing.T) {
	told := 0
	p := NewPurse(func(string, string) { told++ })
	var s *Stack
	in := ""
	for range 2000 { // as many as a path has room for
		in += "d/"
		s = s.Push(strings.TrimSuffix(in, "/"), Parse([]byte("*a???????????c\n")), nil)
	}
	in = strings.TrimSuffix(in, "/")
	for n := range 1000 {
		if s.MatchName(p, in, fmt.Sprint(strings.Repeat("a", 200), n), false) {
			t.Fatal("an entry is left out by nothing")
		}
	}
	if told == 0 {
		t.Error("none of the files was too much")
	}
	if s.Push(in, nil, Parse([]byte("*.x"))).MatchName(p, in, "a.x", false) == false {
		t.Error("another file does not count any more")
	}
}

// TestPathsAreSteps: a path that is put together for one file after the other is not free.
func TestPathsAreSteps(t *testing.T) {
	var s *Stack
	in := ""
	for range 2000 {
		in += "d/"
		s = s.Push(strings.TrimSuffix(in, "/"), Parse([]byte("*/x\n")), nil)
	}
	in = strings.Repeat(in, 10) + "d"
	told := 0
	p := NewPurse(func(string, string) { told++ })
	for n := range 1000 {
		s.MatchName(p, in, fmt.Sprint("y", n), false)
	}
	if told == 0 {
		t.Error("none of the files was too much")
	}
}
