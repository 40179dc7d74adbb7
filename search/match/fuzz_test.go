package match_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/rootbound/rootbound/search/match"
)

// notWord is what stands beside a word, from the definition of a word character in UTS 18, Annex C.
var notWord = func() string {
	var b strings.Builder
	b.WriteString(`[^\pL\pM\p{Nd}\p{Nl}\p{Pc}`)
	for _, table := range []*unicode.RangeTable{unicode.Other_Alphabetic, unicode.Join_Control} {
		for _, r := range table.R16 {
			for c := r.Lo; ; c += r.Stride {
				fmt.Fprintf(&b, `\x{%x}`, c)
				if c >= r.Hi {
					break
				}
			}
		}
		for _, r := range table.R32 {
			for c := r.Lo; ; c += r.Stride {
				fmt.Fprintf(&b, `\x{%x}`, c)
				if c >= r.Hi {
					break
				}
			}
		}
	}
	return b.String() + "]"
}()

// lineByLine is what Scan must find, by the standard library alone.
func lineByLine(text, pattern string, o match.Options) ([]match.Hit, error) {
	if o.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if o.IgnoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	group := 0
	if o.Word {
		pattern, group = `(?:^|`+notWord+`)(`+pattern+`)(?:`+notWord+`|$)`, 2
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var out []match.Hit
	offset := 0
	for i, line := range strings.SplitAfter(text, "\n") {
		if line == "" {
			continue
		}
		h := match.Hit{Line: i + 1, Offset: int64(offset), Text: strings.TrimSuffix(line, "\n")}
		offset += len(line)
		if group > 0 {
			if loc := re.FindStringSubmatchIndex(h.Text); loc != nil {
				h.Spans = []match.Span{{loc[group], loc[group+1]}}
			}
		} else {
			for _, loc := range re.FindAllStringIndex(h.Text, 100) {
				h.Spans = append(h.Spans, match.Span{loc[0], loc[1]})
			}
		}
		if h.Spans != nil {
			out = append(out, h)
		}
	}
	return out, nil
}

// agree searches text in several ways and compares each with the standard library.
func agree(t *testing.T, text, pattern string, o match.Options) {
	if strings.Contains(text, "\x00") || strings.HasPrefix(text, "\ufeff") || strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return
	}
	m, err := match.Compile(pattern, o)
	if err != nil {
		return
	}
	want, err := lineByLine(text, pattern, o)
	if err != nil {
		t.Fatalf("%q %+v compiled: %v", pattern, o, err)
	}
	for _, way := range []string{"at once", "in small blocks", "with few states"} {
		var b match.Buffer
		r := io.Reader(strings.NewReader(text))
		if way == "in small blocks" {
			longest := 0
			for _, l := range strings.Split(text, "\n") {
				longest = max(longest, len(l))
			}
			b.SetSizes(8, 2*longest+16, 8, 1<<16, 4)
			r = iotest.OneByteReader(r)
		}
		if way == "with few states" {
			b.SetSizes(64<<10, 64<<10, 8, 100, 4)
		}
		var got []match.Hit
		_, err := match.Scan(context.Background(), r, m, match.ScanOptions{MaxLine: 1 << 20}, &b, func(h match.Hit) bool {
			if o.Word {
				h.Spans = h.Spans[:1]
			}
			if len(h.Before) == 0 && len(h.After) == 0 {
				h.Before, h.After = nil, nil
			}
			got = append(got, h)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s: %q %+v (%s) in %q: %s", way, pattern, o, m.Class(), text, d)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add("a\nfoo\nb foo", "foo", uint8(0))
	f.Add("K k \u212a", "k", uint8(2))
	f.Add("été foo_ foo", `foo\b|^é`, uint8(4))
	f.Add("a\xffb\n\xc3\n", "a.b|^.$", uint8(0))
	f.Add("aXbXX\n", `\Bx+$`, uint8(6))
	f.Fuzz(func(t *testing.T, text, pattern string, options uint8) {
		if len(text) > 4096 || len(pattern) > 64 {
			return
		}
		agree(t, text, pattern, match.Options{Literal: options&1 != 0, IgnoreCase: options&2 != 0, Word: options&4 != 0})
	})
}

// TestAgreesWithTheStandardLibrary puts patterns that are drawn from pieces to texts of the same letters.
func TestAgreesWithTheStandardLibrary(t *testing.T) {
	pieces := []string{"a", "b", "k", "s", "ab", "foo", "é", "ſ", "_", ".", "[a-c]", "[^a]", "[é-ü]", `\w`, `\W`, `\d`, `\s`, `\b`, `\B`, "^", "$", "x", "日", `\x{fffd}`, `\pL`, "[[:upper:]]", "K"}
	text := []string{"a", "b", "A", "k", "K", "\u212a", "s", "ſ", "foo", "FOO", "é", "É", "e\u0301", "_", " ", "\n", "\n", "\r\n", "\xff", "\xc3", "日本", "\xe6\x97", "1", "\ufffd", "x", ".", "ab"}
	r := rand.New(rand.NewPCG(1, 2))
	var draw func(depth int) string
	draw = func(depth int) string {
		p := pieces[r.IntN(len(pieces))]
		if depth == 0 {
			return p
		}
		switch r.IntN(9) {
		case 0:
			return "(?:" + draw(depth-1) + ")*"
		case 1:
			return "(" + draw(depth-1) + ")+"
		case 2:
			return "(?:" + draw(depth-1) + "|" + draw(depth-1) + ")"
		case 3:
			return "(?:" + draw(depth-1) + ")?"
		case 4:
			return "(?:" + draw(depth-1) + "){2,3}"
		case 5:
			return "(?i:" + draw(depth-1) + ")"
		case 6:
			return draw(depth-1) + draw(depth-1) + draw(depth-1)
		}
		return draw(depth-1) + draw(depth-1)
	}
	rounds := 1500
	if long {
		rounds = 60000
	}
	for range rounds {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(text[r.IntN(len(text))])
		}
		agree(t, b.String(), draw(3), match.Options{Literal: r.IntN(8) == 0, IgnoreCase: r.IntN(3) == 0, Word: r.IntN(20) == 0})
	}
}
