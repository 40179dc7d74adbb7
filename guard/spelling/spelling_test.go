//go:build !windows

package spelling

import (
	"path"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
)

func TestCheck(t *testing.T) {
	for p, want := range map[string]rootbound.Reason{
		"": "", ".": "", "a/b": "", "/a//b/./c": "", "a/../b": "", "~$x": "", "~x": "", "a~/b": "", "100%": "", "%zz": "", "a%2Fb": "", "a%20b/../c": "", `a\b`: "", "C:x": "", "files:": "",
		strings.Repeat("n", 255): "",
		"..":                     rootbound.OutsideRoot, "a/../..": rootbound.OutsideRoot, "/..": rootbound.OutsideRoot, "a/../../b": rootbound.OutsideRoot,
		"%2e%2e": rootbound.PathEncodedTraversal, "a/%2E./b": rootbound.PathEncodedTraversal, "..%2fx": rootbound.PathEncodedTraversal, "x%00": rootbound.PathEncodedTraversal,
		"a\x00": rootbound.PathInvalid, "~": rootbound.PathInvalid, "~/x": rootbound.PathInvalid, "~root/x": rootbound.PathInvalid, "file:///x": rootbound.PathInvalid, "rootbound://p/x": rootbound.PathInvalid, "FiLe:x": rootbound.PathInvalid,
		strings.Repeat("n", 256): rootbound.PathInvalid, strings.Repeat("a/", 1<<17): rootbound.PathInvalid, `c:\x`: rootbound.PathInvalid,
	} {
		got := rootbound.Reason("")
		if err := Check(p); err != nil {
			got = err.Reason
		}
		if got != want {
			t.Errorf("%.40q: %q, want %q", p, got, want)
		}
	}
}

// What passes never climbs above where it starts, and hides no climb behind one decoding.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"../x", "a/%2e%2e/b", "a/../../b", "/../x", "%2e%2e%2f", "%", "%2", "~/x", "a\x00b", "%252e%252e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if Check(s) != nil {
			return
		}
		depth := 0
		for c := range strings.SplitSeq(strings.TrimLeft(s, "/"), "/") {
			switch c {
			case "..":
				depth--
			case "", ".":
			default:
				depth++
			}
			if depth < 0 {
				t.Fatalf("%q climbs", s)
			}
		}
		if p := path.Clean("./" + strings.TrimLeft(s, "/")); p == ".." || strings.HasPrefix(p, "../") {
			t.Fatalf("%q cleans to %q", s, p)
		}
	})
}
