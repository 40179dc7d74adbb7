package match_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/search/match"
)

// differences are all the kinds of text in which ripgrep 13 and this room find different lines. Each is listed in doc.go.
var differences = []struct {
	why            string
	pattern, flags string
	text           string
	ours, theirs   []int // lines
}{
	{`\w is ASCII here`, `^\w+$`, "-", "abc\nüber\n", []int{1}, []int{1, 2}},
	{`\d is ASCII here`, `\d`, "-", "1\n\u0661\n", []int{1}, []int{1, 2}},
	{`\s is ASCII here`, `a\sb`, "-", "a b\na\u00a0b\na\vb\n", []int{1}, []int{1, 2, 3}},
	{`\b is ASCII here`, `\bber`, "-", "über\nber\n", []int{1, 2}, []int{2}},
	{"a byte that is no UTF-8 is a character here", "a.b", "-", "a\xffb\naxb\n", []int{1, 2}, []int{2}},
	{"a negated class holds it too", "a[^x]b", "-", "a\xffb\nayb\n", []int{1, 2}, []int{2}},
	{"it stands beside a word here", "foo", "w", "\xfffoo\nfoo\n", []int{1, 2}, []int{2}},
	{"a later NUL ends the search before its line, there before the block that holds it", "foo", "-",
		"foo\n" + strings.Repeat("text\n", 40000) + "foo\nfoo \x00foo\nfoo\n", []int{1, 40002}, []int{1}},

	// And what one might take for a difference, but is none.
	{"word characters of Word are Unicode", "ber", "w", "über\nber\n", []int{2}, []int{2}},
	{"marks belong to a word", "e", "w", "e\u0301\ne\n", []int{2}, []int{2}},
	{"folding is Unicode", "k", "i", "K\n\u212a\n", []int{1, 2}, []int{1, 2}},
	{"folding is simple", "ß", "i", "ß\nẞ\nSS\n", []int{1, 2}, []int{1, 2}},
	{`a "\r" belongs to its line`, "a$", "-", "a\r\na\n", []int{2}, []int{2}},
	{"an empty match counts", "x*", "-", "\na\n", []int{1, 2}, []int{1, 2}},
	{"the end of the last line is no further line", "$", "-", "a\n\n", []int{1, 2}, []int{1, 2}},
	{"a mark at the beginning is skipped", "^a", "-", "\ufeffa\n", []int{1}, []int{1}},
	{"UTF-16 is decoded", "^é.$", "-", "\xff\xfe\xe9\x00a\x00\n\x00", []int{1}, []int{1}},
	{"so is the other one", "^é.$", "-", "\xfe\xff\x00\xe9\x00a\x00\n", []int{1}, []int{1}},
	{"a NUL in the first 64 KiB", "foo", "-", "foo\n\x00\nfoo\n", nil, nil},
	{"a word may be part of a longer alternative", "foo|foobar", "w", "foobar\n", []int{1}, []int{1}},
	{"a match of Word may begin at no word", `\(x`, "w", "a(x\n (x\n", []int{2}, []int{2}},
	{"a class that allows a newline", `a[\sx]b`, "-", "a\nb\na b\n", []int{3}, []int{3}},
	{"an empty pattern", "", "-", "a\n\n", []int{1, 2}, []int{1, 2}},
}

func TestDifferences(t *testing.T) {
	for _, d := range differences {
		o := listed{flags: d.flags, pattern: d.pattern}.options()
		hits, _ := scan(t, d.text, compile(t, d.pattern, o), match.ScanOptions{})
		var got []int
		for _, h := range hits {
			got = append(got, h.Line)
		}
		if !slices.Equal(got, d.ours) {
			t.Errorf("%s: we find %v, want %v", d.why, got, d.ours)
		}
	}
	t.Run("rg", func(t *testing.T) {
		if _, err := exec.LookPath("rg"); err != nil {
			t.Skip("rg is not on this machine")
		}
		for _, d := range differences {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "f"), []byte(d.text), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"--no-config", "-nI", "--no-heading", "--color=never"}
			if d.flags != "-" {
				args = append(args, "-"+d.flags)
			}
			c := exec.Command("rg", append(args, "-e", d.pattern, ".")...)
			c.Dir = dir
			out, _ := c.Output() // it fails where there is no hit
			var got []int
			for line := range strings.Lines(string(out)) {
				number, _, _ := strings.Cut(line, ":")
				if n, err := strconv.Atoi(number); err == nil {
					got = append(got, n)
				}
			}
			if !slices.Equal(got, d.theirs) {
				t.Errorf("%s: ripgrep finds %v, the list says %v", d.why, got, d.theirs)
			}
		}
	})
}
