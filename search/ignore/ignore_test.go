package ignore

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestVerdicts(t *testing.T) {
	for _, c := range []struct{ text, out, in string }{
		{"*.log\n!keep.log", "a.log d/b.log", "keep.log d/keep.log a.txt"},
		{"build/", "build/ build/x d/build/", "d2/build"},
		{"/top", "top", "d/top"},
		{"a/b", "a/b", "d/a/b"},
		{"a/**/z", "a/z a/1/z a/1/2/z", "a/1 z"},
		{"**/z", "z d/z d/e/z", "zz"},
		{"d/**", "d/a d/a/b", "e"},
		{"d/*\n!d/keep", "d/a", "d/keep"},
		{"d/\n!d/keep", "d/keep d/a", "keep"}, // nothing comes back from below
		{"*\n!*/\n!*.go", "a d/a", "a.go d/b.go"},
		{"\\!a\n\\#b\n#c", "!a #b", "a b c #c"},
		{"a  \nb\t\nc\\ ", "a", "b c"},
		{"\xef\xbb\xbfa\r\nb\r", "a b", "c"},
		{"[ab]x[!c]\n[]]\n[z-a]\n[[:digit:]]", "ax1 bxd ] 7", "cx1 axc y x"},
		{"é?", "é1", "éé"}, // bytes, not characters
		{"a**b\na/b**/c", "a1b a/b/c a/b/d/c", "a/1b"},
	} {
		w := &world{files: map[string]string{Git: c.text}}
		for _, e := range strings.Fields(c.out + " " + c.in) {
			w.add(e)
		}
		w.tidy()
		got := w.judge()
		for _, e := range strings.Fields(c.out) {
			if v, ok := got[strings.TrimSuffix(e, "/")]; !ok || !v.out {
				t.Errorf("%q: %s is not left out", c.text, e)
			}
		}
		for _, e := range strings.Fields(c.in) {
			if v, ok := got[strings.TrimSuffix(e, "/")]; !ok || v.out {
				t.Errorf("%q: %s is left out by line %d", c.text, e, v.line)
			}
		}
	}
}

func TestDirectoryRulesNeedADirectory(t *testing.T) {
	s := (*Stack)(nil).Push("", Parse([]byte("build/\n")), nil)
	if s.Match("build", false) || !s.Match("build", true) {
		t.Error("a file is left out by a rule for directories, or a directory is not")
	}
}

func TestStack(t *testing.T) {
	var none *Stack
	if none.Match("a", false) || none.Push("", nil, nil) != nil || none.Push("", Parse(nil), Parse([]byte("# nothing"))) != nil {
		t.Error("an empty stack says something")
	}
	top := none.Push("", Parse([]byte("*.log\n/only-top\n")), nil)
	deep := top.Push("a/b", Parse([]byte("!keep.log\n/c/x\n")), nil)
	if deep.Push("a/b/c", nil, nil) != deep {
		t.Error("a directory without files has a frame")
	}
	for _, c := range []struct {
		s    *Stack
		path string
		want bool
	}{
		{top, "keep.log", true}, {top, "only-top", true}, {top, "a/only-top", false},
		{deep, "a/b/keep.log", false}, {deep, "a/b/d.log", true}, {deep, "a/b/c/keep.log", false},
		{deep, "a/b/c/x", true}, {deep, "a/b/only-top", false}, {deep, "a/b/d/c/x", false},
		{top, "a/b/keep.log", true}, // the frame above is as it was
	} {
		if got := c.s.Match(c.path, false); got != c.want {
			t.Errorf("%s: %v", c.path, got)
		}
	}
	// .ignore goes before .gitignore, from wherever it stands
	own := none.Push("", Parse([]byte("kept\n")), Parse([]byte("!kept\nleft\n")))
	own = own.Push("d", Parse([]byte("kept\n!left\n")), nil)
	if own.Match("kept", false) || own.Match("d/kept", false) || !own.Match("d/left", false) {
		t.Error("a .gitignore overrules an .ignore")
	}
}

func TestBounds(t *testing.T) {
	l := Parse([]byte(strings.Repeat("x\n", MaxRules)))
	if l.Len() != MaxRules || l.Over() {
		t.Errorf("%d rules, over: %v", l.Len(), l.Over())
	}
	if l := Parse([]byte(strings.Repeat("x\n", MaxRules+1))); l.Len() != 0 || !l.Over() {
		t.Errorf("one rule too many: %d rules count, over: %v", l.Len(), l.Over())
	}
	if l := Parse([]byte(strings.Repeat("#\n", MaxFile/2))); l.Over() {
		t.Error("a long file without rules is over a bound")
	}
	if l := Parse(append(make([]byte, MaxFile), 'x')); !l.Over() {
		t.Error("a file over MaxFile is not over")
	}
	var s *Stack
	for range MaxStack/MaxRules + 1 {
		s = s.Push("", l, nil)
	}
	if s.rules != MaxStack || s.up.up != nil {
		t.Errorf("a stack of %d rules", s.rules)
	}
	if (*List)(nil).Over() || (*List)(nil).Len() != 0 {
		t.Error("no list is over")
	}
}

// TestStepsAreBounded asks what would take years where every star is tried with every other.
func TestStepsAreBounded(t *testing.T) {
	dirs := strings.Repeat("a/", 60)
	name := strings.Repeat("a", 240)
	for _, p := range []string{
		strings.Repeat("a*", 120) + "b",
		strings.Repeat("*a", 120) + "b",
		strings.Repeat("**/a", 60) + "/b",
		strings.Repeat("**/*a*", 60) + "/b",
		strings.Repeat("[a-z]*", 120) + "[0-9]",
		strings.Repeat("?*", 120) + "/*/" + strings.Repeat("*?", 120) + "b",
		"x" + strings.Repeat("**/", 500) + "b",
	} {
		s := (*Stack)(nil).Push("", Parse([]byte(p)), nil)
		begun := time.Now()
		if s.Match(dirs+name, false) {
			t.Errorf("%.20s… matches", p)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%.20s… took %v", p, took)
		}
	}
	// a file full of them: the steps run out, and what is not known to be left out shows
	s := (*Stack)(nil).Push("", Parse([]byte(strings.Repeat("*[a]b\n", MaxRules))), nil)
	e := entry{name: strings.Repeat("a", 250), left: new(int)}
	*e.left = Steps
	if s.git.last(&e) != none || *e.left > 0 {
		t.Errorf("%d steps are left", *e.left)
	}
	if s.Match(e.name, false) {
		t.Error("an entry is left out by nothing")
	}
}

// FuzzMatch compares with a matcher that tries everything.
func FuzzMatch(f *testing.F) {
	for _, p := range []string{"a*b", "a/**/b", "**/x?[!a]", "**", `\a**\/b`, "a**/b", "[[:alpha:]-]*/", "*/*/**/c*"} {
		f.Add(p, "a/x/b")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 12 || len(path) > 12 || strings.ContainsAny(pattern, "\n\x00") {
			return
		}
		Parse([]byte(pattern))
		for _, bound := range []bool{true, false} {
			if !bound && strings.Contains(path, "/") {
				continue
			}
			toks, ok := tokenize(pattern, bound, len(pattern))
			if !ok {
				continue
			}
			left := Steps
			if got, want := matchTokens(toks, path, &left), slow(toks, path); got != want {
				t.Errorf("%q on %q: %v, trying everything: %v", pattern, path, got, want)
			}
		}
	})
}

func slow(toks []token, s string) bool {
	if len(toks) == 0 {
		return s == ""
	}
	t, rest := toks[0], toks[1:]
	switch t.op {
	case text:
		after, ok := strings.CutPrefix(s, t.text)
		return ok && slow(rest, after)
	case one:
		return s != "" && s[0] != '/' && slow(rest, s[1:])
	case set:
		return s != "" && t.set.has(s[0]) && slow(rest, s[1:])
	}
	for i := 0; i <= len(s); i++ {
		if (t.op != deep || i == 0 || s[i-1] == '/') && slow(rest, s[i:]) {
			return true
		}
		if t.op == star && i < len(s) && s[i] == '/' {
			return false
		}
	}
	return false
}

func ExampleStack() {
	var s *Stack
	s = s.Push("", Parse([]byte("*.log\nbuild/\n")), nil)
	s = s.Push("docs", Parse([]byte("!keep.log\n")), nil)
	fmt.Println(s.Match("docs/a.log", false), s.Match("docs/keep.log", false), s.Match("docs/build", true))
	// Output: true false true
}

// BenchmarkMatch asks about the entries of a directory with a list of the usual length.
func BenchmarkMatch(b *testing.B) {
	var lines strings.Builder
	for i := range 120 {
		fmt.Fprintf(&lines, "*.x%d\nname%d\n/top%d\ndir%d/\ndocs/%d/*.tmp\n", i, i, i, i, i)
	}
	s := (*Stack)(nil).Push("", Parse([]byte(lines.String())), nil).Push("src", Parse([]byte("*.o\n/gen\n*.py[co]\n.*.sw?\n")), nil)
	names := []string{"main.go", "Makefile", "list_linux_test.go", "a.py", "README.md"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if s.MatchName(nil, "src/pkg/deep", names[i%len(names)], false) {
			b.Fatal("left out")
		}
	}
}
