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
	check := func(t rapid.TB, comps []string, paths [][]string) {
		glob := strings.Join(comps, "/")
		for _, path := range paths {
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
	}
	check(t, []string{"**", "a{b,c}"}, [][]string{{"a", "ab"}, {"a", "b"}})
	if matched != 1 || thrown != 1 { // what is drawn may match seldom in a short run
		t.Errorf("%d matched, %d thrown out of two", matched, thrown)
	}
	rapid.Check(t, func(t *rapid.T) {
		var comps []string
		for range rapid.IntRange(1, 3).Draw(t, "components") {
			comps = append(comps, strings.Join(rapid.SliceOfN(part, 1, 2).Draw(t, "component"), ""))
		}
		check(t, comps, rapid.SliceOfN(rapid.SliceOfN(name, 1, 3), 200, 200).Draw(t, "paths"))
	})
	t.Logf("%d matched, %d thrown out", matched, thrown)
}
