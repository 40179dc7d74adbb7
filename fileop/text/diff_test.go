package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type officialDiffs struct {
	Diffs []struct{ Before, After, Text string }
	Edits []struct {
		Before, After, Text string
		Edits               []struct{ OldText, NewText string }
	}
}

func official(t *testing.T) (o officialDiffs) {
	t.Helper()
	b, err := os.ReadFile("testdata/official-diffs.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestDiffAsTheOfficialServer compares bytes with what testdata/official-diffs.mjs recorded.
func TestDiffAsTheOfficialServer(t *testing.T) {
	o := official(t)
	if len(o.Diffs) < 100 {
		t.Fatalf("%d diffs", len(o.Diffs))
	}
	for _, d := range o.Diffs {
		got, cut := Diff("dir/f.txt", []byte(d.Before), []byte(d.After), 0)
		if got != d.Text || cut {
			t.Errorf("%q -> %q: %s", d.Before, d.After, cmp.Diff(d.Text, got))
		}
	}
	for _, e := range o.Edits {
		var edits []Edit
		for _, x := range e.Edits {
			edits = append(edits, Edit{Old: x.OldText, New: x.NewText})
		}
		after, _, err := apply(e.Before, edits...)
		if err != nil || after != e.After {
			t.Errorf("%q with %q: %q, want %q, %v", e.Before, e.Edits, after, e.After, err)
		}
		if got, _ := Diff("dir/f.txt", []byte(e.Before), []byte(after), 0); got != e.Text {
			t.Error(cmp.Diff(e.Text, got))
		}
	}
}

func TestDiffIsBounded(t *testing.T) {
	old := []byte(strings.Repeat("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", 1000))
	new := bytes.ReplaceAll(old, []byte("a\n"), []byte("A\n"))
	whole, cut := Diff("f", old, new, 0)
	if cut || !strings.Contains(whole, "+A\n") {
		t.Errorf("cut %v", cut)
	}
	part, cut := Diff("f", old, new, 1000)
	if !cut || len(part) > 1400 || !strings.HasSuffix(part, "```\n\n") {
		t.Errorf("cut %v, %d bytes", cut, len(part))
	}
}

func TestDiffShowsWhatIsNotText(t *testing.T) {
	got, _ := Diff("a\nb\x1b", []byte("caf\xe9\nx\n"), []byte("caf\xe9\ny\n"), 0)
	if !strings.Contains(got, "Index: a\\x0ab\\x1b\n") || !strings.Contains(got, " caf\uFFFD\n-x\n+y\n") {
		t.Error(got)
	}
}

// TestScriptsRebuildTheText checks both ways of comparing, also where the cheap one takes over.
func TestScriptsRebuildTheText(t *testing.T) {
	big := make([]string, 3000)
	for i := range big {
		big[i] = fmt.Sprintf("line %d\n", i*7%3001)
	}
	turned := slices.Clone(big)
	slices.Reverse(turned)
	for _, c := range [][2][]string{
		{nil, {"a\n"}}, {{"a\n"}, nil}, {{"a"}, {"a\n"}}, {{"a\n", "b"}, {"b"}}, {big, turned}, {big, big[100:]}, {big[:2000], big[1000:]},
	} {
		for name, runs := range map[string][]run{"taken": runsOf(c[0], c[1]), "bounded": bounded(c[0], c[1])} {
			var old, new []string
			for _, r := range runs {
				l := r.lines(c[0], c[1])
				if r.kind != plus {
					old = append(old, l...)
				}
				if r.kind != minus {
					new = append(new, l...)
				}
				if r.kind == same && !slices.Equal(l, c[1][r.new:r.new+r.count]) {
					t.Fatalf("%s: lines said to be the same are not", name)
				}
			}
			if !slices.Equal(old, c[0]) || !slices.Equal(new, c[1]) {
				t.Fatalf("%s: %d and %d lines, want %d and %d", name, len(old), len(new), len(c[0]), len(c[1]))
			}
		}
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\n", "a\nc", 0)
	f.Fuzz(func(t *testing.T, before, after string, limit int) {
		old, new := splitLines([]byte(before)), splitLines([]byte(after))
		var a, b []string
		for _, r := range runsOf(old, new) {
			if r.kind != plus {
				a = append(a, r.lines(old, new)...)
			}
			if r.kind != minus {
				b = append(b, new[r.new:r.new+r.count]...)
			}
		}
		if before != after && (!slices.Equal(a, old) || !slices.Equal(b, new)) {
			t.Fatalf("%q %q", a, b)
		}
		Diff("f", []byte(before), []byte(after), limit)
	})
}
