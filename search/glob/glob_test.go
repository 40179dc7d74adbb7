package glob

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

// TestGlobsAsTheOfficialServer compares with what testdata/official-globs.mjs recorded.
func TestGlobsAsTheOfficialServer(t *testing.T) {
	b, err := os.ReadFile("testdata/official-globs.json")
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		Paths    []string
		Patterns []struct {
			Pattern string
			Finds   []string
		}
	}
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, want := range o.Patterns {
		p, err := Compile(want.Pattern)
		if err != nil {
			t.Errorf("%q: %v", want.Pattern, err)
			continue
		}
		var got []string
		for _, path := range o.Paths {
			if p.Match(path) {
				got = append(got, path)
			}
			if p.LastNameOnly() && p.MatchName(path[strings.LastIndexByte(path, '/')+1:]) != p.Match(path) {
				t.Errorf("%q: the short way differs for %q", want.Pattern, path)
			}
			for i := range path {
				if path[i] == '/' && p.Match(path) && !p.MayHold(path[:i]) {
					t.Errorf("%q finds %q but not its directory", want.Pattern, path)
				}
			}
		}
		if !slices.Equal(got, want.Finds) {
			t.Errorf("%q finds %q, want %q", want.Pattern, got, want.Finds)
		}
		found += len(got)
	}
	if len(o.Patterns) < 300 || found < 1000 {
		t.Errorf("%d patterns find %d paths: the table is too thin", len(o.Patterns), found)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, p := range []string{"!(a)", "@(a|b)", "**/+(a)", "x?(b)", "*(a).txt", "a\x00b", strings.Repeat("a", MaxPattern+1),
		strings.Repeat("{a,b}", 20), "{1..100000000000}", "{1..2000}", strings.Repeat("{", 60) + "a,b" + strings.Repeat("}", 60)} {
		_, err := Compile(p)
		e, ok := err.(*rootbound.Error)
		if !ok || e.Reason != rootbound.ArgumentInvalid || !strings.Contains(e.Next, "**") {
			t.Errorf("%.40q: %v", p, err)
		}
	}
	for _, p := range []string{"a+(b", "[+](a)", `\!(a)`, "a(b)", "[!(]x)"} {
		if _, err := Compile(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestEscapes(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{`*\.txt`, "a.txt", true}, {`\a`, "a", true}, {`a\`, `a\`, true}, {`\\a`, `\a`, true}, {`*\*`, "a*", true}, {`*\*`, "ab", false}, {`?`, "𝒳", true}, {"?", "\xff", true},
	} {
		p, err := Compile(c.pattern)
		if err != nil || p.Match(c.path) != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.path, err)
		}
	}
}

func TestExcludes(t *testing.T) {
	for _, c := range []struct {
		patterns     []string
		path         string
		search, tree bool
	}{
		{[]string{"skip"}, "skip", true, true},
		{[]string{"skip"}, "a/skip", false, true},
		{[]string{"**/skip/**"}, "a/skip/x", true, true},
		{[]string{"**/skip/**"}, "a/skip", false, false},
		{[]string{"*.txt"}, "a.txt", true, true},
		{[]string{"*.txt"}, "a/a.txt", false, false},
		{[]string{"a/b"}, "x/a/b", false, true},
		{[]string{"a/b"}, "x/a/b/c", false, true},
		{[]string{"[ab]"}, "x/b", false, true},
		{[]string{".git"}, "x/.git", false, true},
		{[]string{""}, "x", false, false},
		{nil, "x", false, false},
	} {
		s, err1 := CompileExcludes(c.patterns)
		tr, err2 := CompileTreeExcludes(c.patterns)
		if err1 != nil || err2 != nil || s.Match(c.path) != c.search || tr.Match(c.path) != c.tree {
			t.Errorf("%q on %q: search %v, tree %v, %v %v", c.patterns, c.path, s.Match(c.path), tr.Match(c.path), err1, err2)
		}
	}
	for _, compile := range []func([]string) (Excludes, error){CompileExcludes, CompileTreeExcludes} {
		if _, err := compile([]string{"!(a)"}); err == nil {
			t.Error("an extended form was taken")
		}
		if _, err := compile(slices.Repeat([]string{"a*"}, 4*MaxPatterns)); err == nil {
			t.Error("too many were taken")
		}
	}
}

func TestGlobsOfContentSearch(t *testing.T) {
	for _, c := range []struct {
		glob     string
		yes, not string
	}{
		{"*.go", "a.go x/a.go x/y/.go", "a.gox a.go/x"},
		{"/*.go", "a.go", "x/a.go"},
		{"x/*.go", "x/a.go", "y/x/a.go x/y/a.go"},
		{"/x/*.go", "x/a.go", "y/x/a.go"},
		{"**/x/*.go", "x/a.go y/x/a.go", "a.go"},
		{"x", "x y/x", "x/y xx"},
		{"x/", "x/a x/y/a y/x/a", "x y/x"},
		{"x/y/", "x/y/a", "x/y z/x/y/a"},
		{"/x/", "x/a", "y/x/a x"},
		{"!*.go", "a.txt x/a.txt", "a.go x/a.go"},
		{"*.{go,md}", "a.go x/b.md", "c.txt"},
		{"", "", "a x/a"},
		{"/", "", "a x/a"},
		{"#x", "", "x #x y/#x"},
	} {
		x, err := CompileGlobs("include", []string{c.glob})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range strings.Fields(c.yes) {
			if !x.Match(p) {
				t.Errorf("%q does not match %q", c.glob, p)
			}
		}
		for _, p := range strings.Fields(c.not) {
			if x.Match(p) {
				t.Errorf("%q matches %q", c.glob, p)
			}
		}
	}
	if _, err := CompileGlobs("include", []string{"@(a)"}); err == nil {
		t.Error("an extended form was taken")
	}
}

func FuzzGlob(f *testing.F) {
	for _, p := range []string{"**/*.{a,b}", "[[:alpha:]-z]", "{1..3}{a}", "a/../**/b", `\{[\]]`} {
		f.Add(p, "a/b.c")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := Compile(pattern)
		if err != nil {
			return
		}
		m := p.Match(path)
		if p.LastNameOnly() && !strings.HasPrefix(path, "/") && !strings.HasSuffix(path, "/") && !strings.Contains(path, "//") && path != "" &&
			p.MatchName(path[strings.LastIndexByte(path, '/')+1:]) != m {
			t.Fatalf("%q on %q", pattern, path)
		}
		if x, err := CompileTreeExcludes([]string{pattern}); err == nil {
			x.Match(path)
		}
	})
}

// A pattern that can match nothing says why, and one that may match does not.
func TestVain(t *testing.T) {
	for p, want := range map[string]string{
		"": "empty", "/etc/*": "begins with /", "/": "begins with /", "../*": "the name ..", "a/../../b": "the name ..", "**/../x": "the name ..", "./*": "the name .", "a/./b": "the name .",
		"src/": "ends with /", "**/": "ends with /", "#x": "a comment", "[z-a]": "in brackets", "a/..": "the directory itself", "{a,/etc/*}": "begins with /", "x/[z-a]/y": "in brackets",
		"*": "", "**": "", "a/../b": "", "a//b": "", `\#x`: "", "[a-z]": "", "!/etc/*": "", "!": "", ".": "the name .", "..": "the name ..", ".*": "", "..a": "", "a/**": "", "{a,b}": "",
	} {
		c, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Vain(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	}
	for _, c := range []struct {
		pattern               string
		search, tree, content bool
	}{
		{"", false, false, false}, // it is meant to leave out nothing
		{"/src", true, false, false},
		{"src/", true, false, false},
		{"../x", true, true, true},
		{"./x", true, true, true},
		{"/x/*", true, true, false},
		{"x", false, false, false},
	} {
		s, err1 := CompileExcludes([]string{"ok", c.pattern})
		tr, err2 := CompileTreeExcludes([]string{"ok", c.pattern})
		co, err3 := CompileGlobs("include", []string{"ok", c.pattern})
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		if s.Vain() != "" != c.search || tr.Vain() != "" != c.tree || co.Vain() != "" != c.content {
			t.Errorf("%q: %q, %q, %q", c.pattern, s.Vain(), tr.Vain(), co.Vain())
		}
	}
}

func TestUnclosed(t *testing.T) {
	for p, want := range map[string]bool{"*.go": false, "[a-z]": false, "a]": false, `\[a`: false, "{a,b}": false, "[]a]": false, "[[:alpha:]]": false, "[{]": false,
		"[a": true, "x/[!": true, "{a,b": true, "{a,{b}": true, "*.[ch": true} {
		if got := Unclosed(p); got != want {
			t.Errorf("Unclosed(%q) = %v", p, got)
		}
	}
}
