package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"pgregory.net/rapid"
)

const limit = 16 << 20

var bg = context.Background()

func apply(content string, edits ...Edit) (string, []Applied, error) {
	out, a, err := Apply(bg, []byte(content), edits, limit)
	return string(out), a, err
}

func TestApply(t *testing.T) {
	ed := func(old, new string) []Edit { return []Edit{{Old: old, New: new}} }
	all := func(old, new string) []Edit { return []Edit{{Old: old, New: new, All: true}} }
	for _, c := range []struct {
		name, content string
		edits         []Edit
		want          string
	}{
		{"plain", "one two\n", ed("two", "2"), "one 2\n"},
		{"dollar signs are text", "price: PLACEHOLDER\n", ed("PLACEHOLDER", "$$100 $& USD $1"), "price: $$100 $& USD $1\n"},
		{"no newline at the end stays", "a\nb", ed("b", "c"), "a\nc"},
		{"in order", "a\n", []Edit{{Old: "a", New: "b"}, {Old: "b", New: "c"}}, "c\n"},
		{"all", "x y x\nx\n", all("x", "zz"), "zz y zz\nzz\n"},
		{"all, once", "x\n", all("x", "y"), "y\n"},
		{"all, not overlapping", "aaaa", all("aa", "b"), "bb"},
		{"empty file", "", ed("", "a\n"), "a\n"},
		{"empty file but for its mark", "\uFEFF", ed("", "a\n"), "\uFEFFa\n"},
		{"delete", "a\nb\nc\n", ed("b\n", ""), "a\nc\n"},
		{"nothing to do", "a\n", ed("a", "a"), "a\n"},

		{"CRLF kept", "a\r\nb\r\nc\r\n", ed("a\nb", "a\nB"), "a\r\nB\r\nc\r\n"},
		{"CRLF for new lines", "a\r\nb\r\n", ed("a", "x\ny"), "x\r\ny\r\nb\r\n"},
		{"CRLF sent for LF", "a\nb\n", ed("a\r\nb", "x\r\ny"), "x\ny\n"},
		{"mixed endings keep theirs", "a\nb\r\nc\nd\r\n", ed("a\nb\nc\nd\n", "A\nB\nC\nD\n"), "A\nB\r\nC\nD\r\n"},
		{"mixed endings, line put in front", "a\nb\r\nc\n", ed("a\nb\nc\n", "new\na\nb\nc\n"), "new\na\nb\r\nc\n"},
		{"mixed endings, one line of them", "a\nb\r\nc\n", ed("b", "1\n2"), "a\n1\r\n2\r\nc\n"},
		{"last line takes the ending before it", "a\r\nb", ed("b", "1\n2"), "a\r\n1\r\n2"},
		{"a return within a line", "a\rb\r\n", ed("a\rb", "ab"), "ab\r\n"},
		{"a return that ends a line, by itself", "a\r\r\nb\r\n", ed("a\r\r\n", "a\r\n"), "a\r\nb\r\n"},
		{"return taken literally", "x\r\n", ed("x\r", "y\r"), "y\r\n"},

		{"mark kept", "\uFEFFa\n", ed("a", "b"), "\uFEFFb\n"},
		{"mark sent in old only", "\uFEFFa\n", ed("\uFEFFa", "b"), "\uFEFFb\n"},
		{"mark sent in both", "\uFEFFa\n", ed("\uFEFFa", "\uFEFFb"), "\uFEFFb\n"},
		{"other encodings kept", "caf\xe9 one\n\xff\n", ed("one", "two"), "caf\xe9 two\n\xff\n"},

		{"blanks ignored", "func f() {\n\tx := 1\n}\n", ed("func f() {\nx := 1\n}", "func f() {\nx := 2\n}"), "func f() {\n\tx := 2\n}\n"},
		{"blanks ignored, old without indentation, new shifted", "    if a:\n        b\n", ed("if a:\n    b", "if a:\n    c\n    if d:\n        e"),
			"    if a:\n        c\n        if d:\n            e\n"},
		{"blanks ignored, indentation lost altogether", "    if a:\n        b\n", ed("if a:\nb\n", "if a:\nc\n  d\n"), "    if a:\n        c\n          d\n"},
		{"blanks ignored, spaces for tabs", "\tif a {\n\t\tb\n\t}\n", ed("    if a {\n        b\n    }\n", "    if a {\n        if c {\n            b\n        }\n    }\n"),
			"\tif a {\n\t\tif c {\n\t\t\tb\n\t\t}\n\t}\n"},
		{"blanks ignored, tabs for spaces", "  if a {\n    b\n  }\n", ed("\tif a {\n\t\tb\n\t}", "\tif a {\n\t\tc\n\t\t\td\n\t}"), "  if a {\n    c\n      d\n  }\n"},
		{"blanks ignored, less indentation than any", "        x = 1 \n", ed("    x = 1\n", "y = 2\n"), "    y = 2\n"},
		{"blanks ignored, kept lines keep their bytes", "  a  \n  b\t\n  c\n", ed("a\nb\nc", "a\nB\nc"), "  a  \n  B\n  c\n"},
		{"blanks ignored, lines put in", "  a \n  c \n", ed("a\nc\n", "a\nb\nc\n"), "  a \n  b\n  c \n"},
		{"blanks ignored, lines put behind", "  a \n  c \nd\n", ed("a\nc\n", "a\nc\nx\n"), "  a \n  c \n  x\nd\n"},
		{"blanks ignored, lines taken out", "  a \n  b \n  c \n", ed("a\nb\nc\n", "a\nc\n"), "  a \n  c \n"},
		{"blanks ignored, all taken out", "x\n  a \n  b \ny\n", ed("a\nb\n", ""), "x\ny\n"},
		{"blanks ignored, CRLF", "  a \r\n  b \r\n", ed("a\nb\n", "a\nx\ny\n"), "  a \r\n  x\r\n  y\r\n"},
		{"blanks ignored, nothing changes", "  a \n  b\n", ed("a\nb", "a\nb"), "  a \n  b\n"},
		{"blanks ignored, empty line has no blanks", "  a \n  b\n", ed("a\nb", "a\n\nb"), "  a \n\n  b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := []byte(c.content)
			got, applied, err := Apply(bg, before, c.edits, limit)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if string(before) != c.content {
				t.Errorf("the content that was given changed: %q", before)
			}
			if loose := strings.HasPrefix(c.name, "blanks ignored"); len(applied) != len(c.edits) || applied[0].BlanksIgnored != loose {
				t.Errorf("applied %+v", applied)
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	many := strings.Repeat("x\n", 20)
	for _, c := range []struct {
		name, content string
		edits         []Edit
		reason        rootbound.Reason
		has           []string
	}{
		{"twice", "x\nx\n", []Edit{{Old: "x", New: "y"}}, rootbound.EditAmbiguous, []string{"2 places, lines 1, 2", "occurs once"}},
		{"twice, overlapping", "aaa", []Edit{{Old: "aa", New: "b"}}, rootbound.EditAmbiguous, []string{"2 places, all in line 1", "occurs once"}},
		{"thrice in one line of several", "b\na a a\n", []Edit{{Old: "a", New: "b"}}, rootbound.EditAmbiguous, []string{"3 places, all in line 2"}},
		{"several in some lines", "a\n\na b a\r\na\n", []Edit{{Old: "a", New: "b"}}, rootbound.EditAmbiguous, []string{"4 places, lines 1, 3 (2 times), 4]"}},
		{"over the end of a line", "a\na\na\na", []Edit{{Old: "a\na", New: "b"}}, rootbound.EditAmbiguous, []string{"3 places, lines 1, 2, 3]"}},
		{"a line end", "ab\n\nc\n", []Edit{{Old: "\n", New: "b"}}, rootbound.EditAmbiguous, []string{"3 places, lines 1, 2, 3]"}},
		{"as many lines as are named", strings.Repeat("x x\n", 10), []Edit{{Old: "x", New: "y"}}, rootbound.EditAmbiguous, []string{"9 (2 times), 10 (2 times)]"}},
		{"many", many, []Edit{{Old: "x", New: "y"}}, rootbound.EditAmbiguous, []string{"20 places, lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"}},
		{"very many", strings.Repeat("x", 5000), []Edit{{Old: "x", New: "y"}}, rootbound.EditAmbiguous, []string{"at least 1000 places"}},
		{"nearest line", "def f():\n    return 41\n", []Edit{{Old: "return 42", New: "return 43"}}, rootbound.EditNoMatch, []string{"line 2", "return 41"}},
		{"first lines match", "a\n b\nc\n", []Edit{{Old: "a\nb\nd\n", New: ""}}, rootbound.EditNoMatch, []string{`2 of its lines stand from line 1 on, but then line 3 is "c"`}},
		{"nothing alike", "alpha\n", []Edit{{Old: "12345", New: ""}}, rootbound.EditNoMatch, []string{"no line resembles it"}},
		{"which edit", "a\n", []Edit{{Old: "a", New: "b"}, {Old: "a", New: "c"}}, rootbound.EditNoMatch, []string{"edit 2 of 2"}},
		{"loosely twice", " x\n\tx\n", []Edit{{Old: "x \n", New: "y\n"}}, rootbound.EditAmbiguous, []string{"lines 1, 2", "blanks"}},
		{"blanks alone", "a\n\tb\n", []Edit{{Old: "  \n", New: "y\n"}}, rootbound.EditNoMatch, nil},
		{"empty old", "a\n", []Edit{{Old: "", New: "y"}}, rootbound.ArgumentInvalid, []string{"to replace is empty"}},
		{"mark as old", "\uFEFFa\n", []Edit{{Old: "\uFEFF", New: ""}}, rootbound.ArgumentInvalid, nil},
		{"NUL", "a\x00b", []Edit{{Old: "a", New: "y"}}, rootbound.NotText, nil},
		{"UTF-16", "\xff\xfea\x00", []Edit{{Old: "a", New: "y"}}, rootbound.NotText, []string{"UTF-16"}},
		{"too large", strings.Repeat("a", 1000), []Edit{{Old: "a", New: strings.Repeat("b", 1<<20), All: true}}, rootbound.TooLarge, nil},
		{"too large when inserted", "", []Edit{{Old: "", New: strings.Repeat("b", limit+1)}}, rootbound.TooLarge, nil},
		{"too large with its endings", "a\r\n" + strings.Repeat("b", limit-4), []Edit{{Old: "a", New: "x\ny"}}, rootbound.TooLarge, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := apply(c.content, c.edits...)
			if rootbound.ReasonOf(err) != c.reason {
				t.Fatalf("%v, want %s", err, c.reason)
			}
			for _, h := range c.has {
				if !strings.Contains(err.Error(), h) {
					t.Errorf("%q lacks %q", err, h)
				}
			}
			if len(err.Error()) > 2000 {
				t.Errorf("%d bytes of text", len(err.Error()))
			}
		})
	}
	_, _, err := apply("x\nx\n", Edit{Old: "x", New: "y"})
	var m *Misfit
	if !errors.As(err, &m) || m.Count != 2 || len(m.Lines) != 2 {
		t.Errorf("%+v", m)
	}
}

// TestOnlyMatchedBytesChange builds a file around one match, so that what must stay is known without the algorithm.
func TestOnlyMatchedBytesChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "b ", "\n", "\r\n", "\r", "\t", "é", "\xff", "\xe9", "“", " "})
		text := func(label string, from *rapid.Generator[string]) string {
			return strings.Join(rapid.SliceOfN(from, 0, 12).Draw(t, label), "")
		}
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
		front, back := text("front", piece), text("back", piece)
		old := "<" + strings.ReplaceAll(text("old", rapid.SampledFrom([]string{"x", "y", "\n", " "})), "\r", "") + ">"
		new := text("new", rapid.SampledFrom([]string{"x", "z", "\n", "$&", "あ"}))
		in := strings.ReplaceAll(old, "\n", eol)
		got, a, err := apply(front+in+back, Edit{Old: old, New: new})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got, front) || !strings.HasSuffix(got, back) || len(got) < len(front)+len(back) {
			t.Fatalf("%q is not around %q and %q", got, front, back)
		}
		mid := got[len(front) : len(got)-len(back)]
		if strings.ReplaceAll(mid, "\r\n", "\n") != new {
			t.Fatalf("%q in the place of %q", mid, new)
		}
		if strings.Contains(old, "\n") && strings.ReplaceAll(new, "\n", eol) != mid && strings.Count(front, "\r\n")+strings.Count(back, "\r\n") == 0 && !strings.Contains(front+back, "\n") {
			t.Fatalf("%q has other endings than %q", mid, eol)
		}
		if a[0].Line != 1+strings.Count(front, "\n") {
			t.Fatalf("line %d", a[0].Line)
		}
	})
}

func FuzzApply(f *testing.F) {
	f.Add([]byte("a\r\nb\n"), "a\nb", "c\nd", false)
	f.Add([]byte("\xef\xbb\xbf  if a:\n\tb \n"), "if a:\nb", "if a:\n  c", false)
	f.Add([]byte("x\nx"), "x", "y\r\n", true)
	f.Fuzz(func(t *testing.T, content []byte, old, new string, all bool) {
		before := bytes.Clone(content)
		got, a, err := Apply(bg, content, []Edit{{Old: old, New: new, All: all}}, 1<<20)
		if !bytes.Equal(before, content) {
			t.Fatal("the content that was given changed")
		}
		if err != nil {
			if e := err.Error(); len(e) > 4000 || strings.ContainsAny(e, "\n\r\x00") {
				t.Fatalf("error text %q", e)
			}
			return
		}
		if len(got) > 1<<20 {
			t.Fatal("beyond the limit")
		}
		// what is in front of the first changed line and behind the last one stays
		if a[0].Count == 1 && !a[0].BlanksIgnored {
			keep := commonPrefix(before, got) + commonSuffix(before, got)
			if keep < len(before)-len(old)-bytes.Count(before, []byte("\r\n")) {
				t.Fatalf("%q -> %q keeps %d bytes", before, got, keep)
			}
		}
		if all && !a[0].BlanksIgnored && !strings.Contains(new, old) && !strings.Contains(old, "\r") && old == strings.ReplaceAll(old, "\r\n", "\n") && !bytes.Contains(before, []byte("\r")) && !strings.Contains(new, "\r") {
			if want := strings.ReplaceAll(string(before), old, new); !bytes.HasPrefix(before, utf8BOM) && string(got) != want && old != "" {
				t.Fatalf("got %q want %q", got, want)
			}
		}
	})
}

// TestManyPlacesInOneLine would not end if each place looked for its line's ending anew.
func TestManyPlacesInOneLine(t *testing.T) {
	const n = 1 << 19
	got, a, err := apply(strings.Repeat("a,", n)+"\r\n", Edit{Old: ",", New: ",\n", All: true})
	if err != nil || a[0].Count != n || got != strings.Repeat("a,\r\n", n)+"\r\n" {
		t.Errorf("%+v %d bytes %v", a, len(got), err)
	}
	_, _, err = apply(strings.Repeat("a", maxAll+2), Edit{Old: "a", New: "b", All: true})
	if rootbound.ReasonOf(err) != rootbound.LimitReached {
		t.Error(err)
	}
	_, _, err = apply(strings.Repeat("some line of text\n", 300_000), Edit{Old: "another line of tent", New: "b"})
	if rootbound.ReasonOf(err) != rootbound.EditNoMatch {
		t.Error(err)
	}
}

// Each edit goes through the whole text: how many one call makes depends on how large it is.
func TestManyEditsOfALargeTextAreRefused(t *testing.T) {
	content := []byte(strings.Repeat("line\r\n", 1000) + "0")
	var edits []Edit
	for i := range 10 {
		edits = append(edits, Edit{Old: fmt.Sprint(i), New: fmt.Sprint(i + 1)})
	}
	each := effort(content)
	if got, _, err := applyWithin(bg, content, edits, 1<<20, 11*each); err != nil || !bytes.HasSuffix(got, []byte("\r\n10")) {
		t.Errorf("%v", err)
	}
	_, _, err := applyWithin(bg, content, edits, 1<<20, 9*each)
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Reason != rootbound.LimitReached || e.Next != "Send at most 9 of them at once." {
		t.Errorf("%v", err)
	}
	if _, _, err := applyWithin(bg, content, edits[:1], 1<<20, 1); err != nil { // one edit is always made
		t.Errorf("%v", err)
	}
}
