package rules

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSieveKeepsWhatMatches: what the sieve throws out the pattern does not match, for patterns made of everything that
// means something in one.
func TestSieveKeepsWhatMatches(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "?", "**", "{a,b}", "{a,b*}c", "[ab]", "[!a]", "[^b]", "[a-b]", "[ab]", "{a,bc}", "{a,}", "{a*,b}", "{a,b*}", "{*,a}", "{,*}", "{,a}", "{a,}c", "[,a]", "{a/b,c}", "{**,a}", "{a,{b,c}}", `\*`, `\{`, "a*b", "[/]", "[{]", "[}]", ".", ",", "!", "}", "]"})
	name := rapid.SampledFrom([]string{"a", "b", "c", "ab", "aab", "abc", "ac", "a.b", "*", "{", "}", "]", ",", "!", "bc"})
	thrown, matched := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var comps []string
		for range rapid.IntRange(1, 3).Draw(t, "components") {
			comps = append(comps, strings.Join(rapid.SliceOfN(part, 1, 2).Draw(t, "component"), ""))
		}
		glob := strings.Join(comps, "/")
		// Many paths for each pattern: a short run draws few patterns, and must still see some match.
		for _, path := range rapid.SliceOfN(rapid.SliceOfN(name, 1, 3), 200, 200).Draw(t, "paths") {
			p := strings.Join(path, "/")
			m, may := match(glob, p), sieveOf(glob).may(p)
			if m && !may {
				t.Fatalf("%q matches %q, and the sieve throws it out: %+v", glob, p, sieveOf(glob))
			}
			if f := finals(comps[len(comps)-1]); m && sieveOf(glob) != nil && len(f) > 0 && !bytes.Contains(f, []byte{p[len(p)-1]}) && comps[len(comps)-1] != "**" {
				t.Fatalf("%q matches %q, which ends with none of %q", glob, p, f)
			}
			if m {
				matched++
			}
			if !may {
				thrown++
			}
		}
	})
	if matched == 0 || thrown == 0 {
		t.Errorf("%d matched, %d thrown out: nothing was tried", matched, thrown)
	}
	t.Logf("%d matched, %d thrown out", matched, thrown)
}
