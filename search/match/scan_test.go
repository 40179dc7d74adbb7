package match_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/search/match"
)

func compile(t testing.TB, pattern string, o match.Options) *match.Matcher {
	t.Helper()
	m, err := match.Compile(pattern, o)
	if err != nil {
		t.Fatalf("Compile(%q): %v", pattern, err)
	}
	return m
}

func scan(t testing.TB, text string, m *match.Matcher, o match.ScanOptions) ([]match.Hit, match.Stats) {
	t.Helper()
	var hits []match.Hit
	var b match.Buffer
	st, err := match.Scan(context.Background(), strings.NewReader(text), m, o, &b, func(h match.Hit) bool {
		hits = append(hits, h)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return hits, st
}

// grep writes hits as grep -n -C does.
func grep(hits []match.Hit) string {
	var b strings.Builder
	for _, h := range hits {
		for _, l := range h.Before {
			b.WriteString("-" + l + "\n")
		}
		b.WriteString(":" + h.Text + "\n")
		for _, l := range h.After {
			b.WriteString("-" + l + "\n")
		}
	}
	return b.String()
}

func TestScanLines(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		want          []int
	}{
		{"a\nb\nc", "b", []int{2}},
		{"a\nb\nc", "c$", []int{3}},
		{"a\nb\nc\n", "^", []int{1, 2, 3}},
		{"", "^", nil},
		{"\n", "^$", []int{1}},
		{"a\n\nb\n", "^$", []int{2}},
		{"a\r\nb\r\n", "a$", nil},
		{"a\r\nb\r\n", `a\r$`, []int{1}},
		{"ab\ncd\n", `b\sc`, nil},
		{"ab\ncd\n", `b[^x]*d`, nil},
		{"ab\ncd\nab", "x*", []int{1, 2, 3}},
		{"ab\ncd\nab", `\Ac`, []int{2}},
	} {
		hits, _ := scan(t, c.text, compile(t, c.pattern, match.Options{}), match.ScanOptions{})
		var got []int
		for _, h := range hits {
			got = append(got, h.Line)
		}
		if !cmp.Equal(got, c.want) {
			t.Errorf("%q in %q: lines %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

func TestScanHit(t *testing.T) {
	hits, st := scan(t, "zero\none foo foo\nfoo", compile(t, "foo", match.Options{Literal: true}), match.ScanOptions{})
	want := []match.Hit{
		{Line: 2, Offset: 5, Text: "one foo foo", Spans: []match.Span{{4, 7}, {8, 11}}},
		{Line: 3, Offset: 17, Text: "foo", Spans: []match.Span{{0, 3}}},
	}
	if d := cmp.Diff(want, hits); d != "" {
		t.Error(d)
	}
	if st.Hits != 2 || st.Bytes != 20 || st.Full || st.Binary || st.InParts {
		t.Errorf("stats %+v", st)
	}
}

func TestScanContext(t *testing.T) {
	text := "1\n2\n3 hit\n4\n5\n6\n7 hit\n8 hit\n9\n10\n11\n12\n"
	for _, c := range []struct {
		context, max int
		want         string
	}{
		{1, 0, "-2\n:3 hit\n-4\n-6\n:7 hit\n:8 hit\n-9\n"},
		{2, 0, "-1\n-2\n:3 hit\n-4\n-5\n-6\n:7 hit\n:8 hit\n-9\n-10\n"},
		{3, 0, "-1\n-2\n:3 hit\n-4\n-5\n-6\n:7 hit\n:8 hit\n-9\n-10\n-11\n"},
		{2, 1, "-1\n-2\n:3 hit\n-4\n-5\n"},
		{100, 0, "-1\n-2\n:3 hit\n-4\n-5\n-6\n:7 hit\n:8 hit\n-9\n-10\n-11\n-12\n"},
	} {
		m := compile(t, "hit", match.Options{})
		hits, _ := scan(t, text, m, match.ScanOptions{Context: c.context, MaxHits: c.max})
		if d := cmp.Diff(c.want, grep(hits)); d != "" {
			t.Errorf("context %d: %s", c.context, d)
		}
		// the same, byte by byte
		var one []match.Hit
		var b match.Buffer
		_, err := match.Scan(context.Background(), iotest.OneByteReader(strings.NewReader(text)), m,
			match.ScanOptions{Context: c.context, MaxHits: c.max}, &b, func(h match.Hit) bool { one = append(one, h); return true })
		if err != nil || !cmp.Equal(one, hits) {
			t.Errorf("byte by byte: %v %s", err, cmp.Diff(hits, one))
		}
	}
}

func TestScanEndsWhenAsked(t *testing.T) {
	m := compile(t, "never", match.Options{})
	stop := errors.New("stop")
	asked := 0
	var b match.Buffer
	_, err := match.Scan(context.Background(), &lines{left: 1 << 40}, m, match.ScanOptions{Stop: func() error {
		if asked++; asked > 10 {
			return stop
		}
		return nil
	}}, &b, nil)
	if !errors.Is(err, stop) {
		t.Errorf("Stop: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &lines{left: 1 << 40, each: func(n int) {
		if n == 20 {
			cancel()
		}
	}}
	if _, err := match.Scan(ctx, r, m, match.ScanOptions{}, &b, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("context: %v", err)
	}
	if r.n > 21 {
		t.Errorf("%d reads after the end was asked for", r.n-20)
	}
	broken := errors.New("broken")
	if _, err := match.Scan(context.Background(), io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), m, match.ScanOptions{}, &b, nil); !errors.Is(err, broken) {
		t.Errorf("reader: %v", err)
	}
}

// lines gives short lines without end.
type lines struct {
	left int64
	n    int
	each func(n int)
}

func (l *lines) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, io.EOF
	}
	if l.n++; l.each != nil {
		l.each(l.n)
	}
	n := copy(p[:min(int64(len(p)), l.left)], bytes.Repeat([]byte("a line of text\n"), len(p)/15+1))
	l.left -= int64(n)
	return n, nil
}

func TestScanEndsAtTheBound(t *testing.T) {
	m := compile(t, "line", match.Options{})
	var b match.Buffer
	n := 0
	st, err := match.Scan(context.Background(), &lines{left: 1 << 40}, m, match.ScanOptions{MaxHits: 5}, &b, func(match.Hit) bool { n++; return true })
	if err != nil || n != 5 || !st.Full {
		t.Errorf("%d hits, %+v, %v", n, st, err)
	}
	n = 0
	st, err = match.Scan(context.Background(), &lines{left: 1 << 40}, m, match.ScanOptions{}, &b, func(match.Hit) bool { n++; return n < 7 })
	if err != nil || n != 7 || !st.Full {
		t.Errorf("%d hits, %+v, %v", n, st, err)
	}
}

func TestRefusedPatterns(t *testing.T) {
	for _, p := range []string{"(", "a)", "[", "*", `\`, "a\nb", `a\nb`, `\x0a`, `[\n]`, `(?=a)`, `(?!a)`, `(a)\1`, `\p{Zork}`, "\xff",
		"a{1001}", "((a{0,900}){0,900}){0,900}", "(?:a{100}){100}", `(?:[a-z]{1,500}x){1}(?:[a-z]{1,500}y)(?:\pL{1,900}z)(?:\pL{1,900}z)(?:\pL{1,900}z)`,
		strings.Repeat("(", 2000) + strings.Repeat(")", 2000), strings.Repeat("a", match.MaxPattern+1)} {
		m, err := match.Compile(p, match.Options{})
		if m != nil || rootbound.ReasonOf(err) != rootbound.ArgumentInvalid {
			t.Errorf("%.40q: %v, want argument_invalid", p, err)
			continue
		}
		var e *rootbound.Error
		if errors.As(err, &e) && (e.Detail == "" || e.Next == "") {
			t.Errorf("%.40q: %q does not say what and how to go on", p, err)
		}
	}
	if _, err := match.Compile("a\nb", match.Options{Literal: true}); rootbound.ReasonOf(err) != rootbound.ArgumentInvalid {
		t.Errorf("a literal of two lines: %v", err)
	}
}
