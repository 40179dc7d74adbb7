package match

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The engine asks the class, the search for literals the function.
func TestWordClassIsWordRune(t *testing.T) {
	re := regexp.MustCompile("^[" + wordClass + "0-9A-Za-z_]$")
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if 0xd800 <= r && r < 0xe000 {
			continue
		}
		if in := re.MatchString(string(r)); in != wordRune(r) {
			t.Errorf("%U: class %v, function %v", r, in, wordRune(r))
		}
	}
}

// What long lines get, one match after the other and by a reader, is what regexp.FindAllIndex finds at once.
func TestOneByOneIsAllAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "b", "ab", "é", " ", "_", "\xff", "x", "日", "foo", "-"}
	for _, p := range []string{"a", "a*", "", "x*", "^", "$", "^a|b", `\b`, `\B`, `\bfoo|o`, `\b.`, `.\b`, `\Bo`, "a.?b|é", "[^a]+", "(a|ab)(b|)", `\w+`, `\W`, "(?s:.)", "a+?", "foo$|^foo"} {
		for _, o := range []Options{{}, {Word: true}} {
			m, err := Compile(p, o)
			if err != nil {
				t.Fatal(err)
			}
			for range 300 {
				var b strings.Builder
				for range r.IntN(12) {
					b.WriteString(pieces[r.IntN(len(pieces))])
				}
				text := []byte(b.String())
				first, ok := m.engines.find(text, whole)
				read, okRead := m.engines.read(&runes{text: text}, whole)
				if first != read || ok != okRead {
					t.Fatalf("%q in %q: %v %v at once, %v %v by a reader", p, text, first, ok, read, okRead)
				}
				if !ok || o.Word {
					continue
				}
				var want []Span
				for _, loc := range m.engines.at(whole).FindAllIndex(text, maxSpans) {
					want = append(want, Span{loc[0], loc[1]})
				}
				if got := m.rest(text, first, whole, nil, []Span{first}); !slices.Equal(got, want) {
					t.Fatalf("%q in %q: %v one by one, %v at once", p, text, got, want)
				}
			}
		}
	}
}

// A pattern that needs a whole long line is not searched in parts of it.
func TestLongLineIsWhole(t *testing.T) {
	m, err := Compile(`^.{900,}$`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("é", 40<<10))
	if got := m.spans(line, whole, nil, nil); !slices.Equal(got, []Span{{0, len(line)}}) {
		t.Error(got)
	}
}
