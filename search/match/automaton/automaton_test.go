package automaton_test

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/search/match/automaton"
)

func rare(byte) float64 { return 0 }

func often(byte) float64 { return 1 }

func assemble(t *testing.T, pattern string) *automaton.Program {
	t.Helper()
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	p, err := automaton.Assemble(tree, false)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// In ASCII what it takes is what matches; elsewhere it takes at least that. Lanes, idling and forgetting change nothing.
func TestTakesWhatMatches(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	ascii := []string{"a", "b", "c", "x", "_", " ", "-", "\n", "\n", "ab", "9"}
	wide := append([]string{"é", "日本", "\xff", "\xe6\x97", "\U0001f600", "ü"}, ascii...)
	for _, pattern := range []string{"", "a", "^", "$", "^$", "^a", "b$", `\ba`, `a\b`, `\B`, `\Ba\B`, "a.c", "[^a]b", "^[^b]*$", "(a|b)+c", "(ab){2}", "x{1,3}y?_", `\w\W\w`, `^\s*[a-c]`,
		"(?i)AB|XC", "[a-c]{3}[0-9]", "é", "[à-ü]b", "日.", `\x{fffd}`, `[\x{10000}-\x{10ffff}]`, "^.{3}$", "(a|b)*a(a|b){6}c", "(?:^|-)a(?:$|_)"} {
		re := regexp.MustCompile(pattern)
		p := assemble(t, pattern)
		for _, a := range []*automaton.Automaton{
			automaton.New(p, automaton.Bounds{}, rare), automaton.New(p, automaton.Bounds{Lane: 1}, often), automaton.New(p, automaton.Bounds{Lane: 1, Table: 120}, often),
		} {
			for range 150 {
				pieces := ascii
				if r.IntN(2) == 0 {
					pieces = wide
				}
				var b strings.Builder
				for range r.IntN(40) {
					b.WriteString(pieces[r.IntN(len(pieces))])
				}
				text := []byte(b.String())
				exact := len(pieces) == len(ascii)
				taken := map[int]bool{} // by where lines begin
				a.Load(text, true)
				for low := 0; low < len(text) && !a.Lost(); {
					at := a.Next(low)
					if at < 0 || a.Lost() {
						break
					}
					start := low + bytes.LastIndexByte(text[low:at], '\n') + 1
					taken[start] = true
					end := bytes.IndexByte(text[at:], '\n')
					if end < 0 {
						break
					}
					low = at + end + 1
				}
				if a.Lost() {
					break
				}
				start := 0
				for line := range bytes.Lines(text) {
					matches := re.Match(bytes.TrimSuffix(line, []byte("\n")))
					if matches && !taken[start] || exact && taken[start] && !matches {
						t.Fatalf("%q in line %q of %q: taken %v, matches %v", pattern, line, text, taken[start], matches)
					}
					start += len(line)
				}
			}
		}
	}
}

func TestGivesUp(t *testing.T) {
	a := automaton.New(assemble(t, "(a|b)*a(a|b){20}c"), automaton.Bounds{}, rare)
	r := rand.New(rand.NewPCG(7, 8))
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = "ab"[r.IntN(2)]
	}
	a.Load(text, true)
	if a.Next(0); !a.Lost() {
		t.Error("it goes on and on")
	}
	if a.Size() > 2<<20 {
		t.Errorf("it holds %d bytes", a.Size())
	}
	if !a.Accepts([]byte("x"), true) {
		t.Error("it judges although it gave up")
	}
}

func TestEndsWhenAsked(t *testing.T) {
	a := automaton.New(assemble(t, "(a|b)*a(a|b){200}c"), automaton.Bounds{}, rare)
	asked := 0
	a.On = func(int) bool { asked++; return false }
	r := rand.New(rand.NewPCG(7, 8))
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = "ab"[r.IntN(2)]
	}
	a.Load(text, true)
	if at := a.Next(0); at >= 0 || asked != 1 || a.Lost() {
		t.Errorf("at %d, asked %d times", at, asked)
	}
}
