package resource

import (
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

func TestURI(t *testing.T) {
	for _, c := range []struct{ project, path, uri string }{
		{"app", ".", "rootbound://app/"},
		{"app", "", "rootbound://app/"},
		{"app", "src/main.go", "rootbound://app/src/main.go"},
		{"a b/c", "x", "rootbound://a%20b%2Fc/x"},
		{"app", "100%", "rootbound://app/100%25"},
		{"app", "%2e%2e/x", "rootbound://app/%252e%252e/x"},
		{"app", "what?#", "rootbound://app/what%3F%23"},
		{"app", "ä\xff\n", "rootbound://app/%C3%A4%FF%0A"},
		{"app", `a\b:c`, "rootbound://app/a%5Cb%3Ac"},
	} {
		if got := URI(rootbound.RootID(c.project), c.path); got != c.uri {
			t.Errorf("URI(%q, %q) = %s, want %s", c.project, c.path, got, c.uri)
		}
	}
}

func TestParse(t *testing.T) {
	for uri, want := range map[string][2]string{
		"rootbound://app/":                 {"app", "."},
		"rootbound://app/a":                {"app", "a"},
		"rootbound://app/a/b.c":            {"app", "a/b.c"},
		"rootbound://%61pp/%61":            {"app", "a"},
		"rootbound://app/%252e%252e":       {"app", "%2e%2e"}, // once, and no second look
		"rootbound://app/%252F":            {"app", "%2F"},
		"rootbound://app/...":              {"app", "..."},
		"rootbound://app/%2e%2e.":          {"app", "..."},
		"rootbound://app/a:b@c!$&'()*+,;=": {"app", "a:b@c!$&'()*+,;="},
		"rootbound://app/%FF%0a%20":        {"app", "\xff\n "},
		"rootbound://app/%5Cx":             {"app", `\x`},
		"rootbound://app/~/x":              {"app", "~/x"},
		"rootbound://app/C:":               {"app", "C:"},
		"rootbound://a%3Fb/x":              {"a?b", "x"},
		"rootbound://../x":                 {"..", "x"}, // an id that no project has
	} {
		project, path, err := Parse(uri)
		if err != nil || string(project) != want[0] || path != want[1] {
			t.Errorf("Parse(%s) = %q, %q, %v", uri, project, path, err)
		}
	}
	for _, uri := range []string{
		"", "rootbound:", "rootbound:/app/x", "rootbound://", "rootbound:///x", "rootbound://app", "ROOTBOUND://app/x", " rootbound://app/x",
		"file:///etc/passwd", "rootbound:app/x", "/etc/passwd", "rootbound://app?x/y", "rootbound://user@app/x", "rootbound://app:1/x",
		"rootbound://app//x", "rootbound://app/x//y", "rootbound://app/x/", "rootbound://app//", "rootbound://app//etc/passwd",
		"rootbound://app/.", "rootbound://app/./x", "rootbound://app/x/.", "rootbound://app/..", "rootbound://app/../x", "rootbound://app/x/../y", "rootbound://app/x/..",
		"rootbound://app/%2e", "rootbound://app/%2E%2e/x", "rootbound://app/.%2e/x", "rootbound://app/x/%2e.",
		"rootbound://app/%2F", "rootbound://app/%2fetc/passwd", "rootbound://app/x%2fy", "rootbound://app/..%2f..%2fx", "rootbound://a%2fb/x", "rootbound://a%00b/x",
		"rootbound://app/%00", "rootbound://app/x%00.txt", "rootbound://app/x\x00",
		"rootbound://app/%", "rootbound://app/%2", "rootbound://app/x%", "rootbound://app/%zz", "rootbound://app/%u002e", "rootbound://app/100%", "rootbound://%/x",
		"rootbound://app/x?y", "rootbound://app/x#y", "rootbound://app/?", "rootbound://app/#", "rootbound://app/x y", "rootbound://app/x\n", "rootbound://app/\tx", "rootbound://app/x ",
		`rootbound://app/x\y`, `rootbound://app\x/y`, "rootbound://app/ä", "rootbound://app/[x]", "rootbound://app/{x}", "rootbound://app/x|y", "rootbound://app/\xff",
	} {
		project, path, err := Parse(uri)
		if rootbound.ReasonOf(err) != rootbound.PathInvalid || project != "" || path != "" {
			t.Errorf("Parse(%q) = %q, %q, %v", uri, project, path, err)
		}
	}
}

// FuzzParse holds what Parse accepts to its promises, and every name to the way there and back.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"rootbound://app/x", "rootbound://app/%252e%252e/x", "rootbound://app/..%2fx", "rootbound://%61/%FF/%0A", "a/b", "..", "%00", "ä?#"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if project, path, err := Parse(s); err == nil {
			if project == "" || path == "" || strings.HasPrefix(path, "/") || strings.ContainsRune(string(project), 0) || strings.ContainsRune(path, 0) || strings.Contains(string(project), "/") {
				t.Fatalf("%q gives %q, %q", s, project, path)
			}
			for segment := range strings.SplitSeq(path, "/") {
				if segment == "" || segment == ".." || segment == "." && path != "." {
					t.Fatalf("%q gives %q", s, path)
				}
			}
			if strings.Count(s, "/") != 3+strings.Count(path, "/") {
				t.Fatalf("%q gives %q: another number of segments", s, path)
			}
			again, same, err := Parse(URI(project, path))
			if err != nil || again != project || same != path {
				t.Fatalf("%q gives %q, %q, and back %q, %q, %v", s, project, path, again, same, err)
			}
		} else if project != "" || path != "" {
			t.Fatalf("%q: refused, but gives %q, %q", s, project, path)
		}
		// s as a path: a name in, the same name out, or no path at all.
		uri := URI("p", s)
		for i := range len(uri) {
			if c := uri[i]; c <= ' ' || c > '~' || strings.IndexByte(`?#\"<>`, c) >= 0 {
				t.Fatalf("URI of %q holds %q", s, c)
			}
		}
		_, path, err := Parse(uri)
		plain := true
		for segment := range strings.SplitSeq(s, "/") {
			plain = plain && segment != "" && segment != "." && segment != ".."
		}
		plain = plain && !strings.ContainsRune(s, 0)
		switch {
		case s == "" || s == ".":
			if path != "." || err != nil {
				t.Fatalf("the project itself: %q, %v", path, err)
			}
		case plain && (err != nil || path != s), !plain && err == nil:
			t.Fatalf("%q comes back as %q, %v", s, path, err)
		}
	})
}
