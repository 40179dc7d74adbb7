package match_test

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rootbound/rootbound/search/match"
)

// endless repeats a text up to left bytes and puts end behind it.
type endless struct {
	text string
	left int64
	end  string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		n := copy(p, e.end)
		e.end = e.end[n:]
		if n == 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	n := 0
	for n < len(p) && e.left > 0 {
		got := copy(p[n:], e.text[e.at:min(int64(len(e.text)), int64(e.at)+e.left)])
		n += got
		e.left -= int64(got)
		e.at = (e.at + got) % len(e.text)
	}
	return n, nil
}

// grown is what the heap grew by while f ran, in bytes, and what is still held.
func grown(f func()) int64 {
	var a, b runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&a)
	f()
	runtime.GC()
	runtime.ReadMemStats(&b)
	return int64(b.HeapAlloc) - int64(a.HeapAlloc)
}

const mib = 1 << 20

func size(short, whole int64) int64 {
	if long {
		return whole
	}
	return short
}

func TestOneEndlessLine(t *testing.T) {
	length := size(8*mib, 1024*mib)
	for _, c := range []struct {
		pattern string
		o       match.Options
		hit     bool
	}{
		{"needle", match.Options{Literal: true}, true},
		{"NEEDLE", match.Options{IgnoreCase: true}, true},
		{"needle", match.Options{Word: true}, true},
		{`n[a-z]+le [0-9]+$`, match.Options{}, true},
		{`[0-9]{2}$`, match.Options{}, true},
		{`^[0-9]`, match.Options{}, false},
		{`z$`, match.Options{}, false},
		{`zzz[0-9]+q`, match.Options{}, false},
		{`\bneed\b`, match.Options{}, false},
	} {
		var b match.Buffer
		var hits []match.Hit
		var st match.Stats
		var err error
		held := grown(func() {
			st, err = match.Scan(context.Background(), &endless{text: "one word and z", left: length, end: " needle 42\nshort\n"}, compile(t, c.pattern, c.o), match.ScanOptions{}, &b,
				func(h match.Hit) bool { hits = append(hits, h); return true })
		})
		if err != nil || !st.InParts || st.Hits != len(hits) || (len(hits) > 0) != c.hit || len(hits) > 1 {
			t.Errorf("%q: %d hits, %+v, %v", c.pattern, len(hits), st, err)
		}
		if held > 2*mib {
			t.Errorf("%q: %d KiB are held", c.pattern, held>>10)
		}
		if len(hits) == 1 {
			h := hits[0]
			if h.Line != 1 || h.Offset != 0 || !h.Cut || len(h.Text) > match.DefaultMaxLine || int64(h.Spans[0].Start) < length || !strings.HasSuffix(h.Text, "needle 42") ||
				h.At+strings.Index(h.Text, "needle") != int(length)+1 {
				t.Errorf("%q: line %d, offset %d, %q at %d, %v", c.pattern, h.Line, h.Offset, h.Text[len(h.Text)-20:], h.At, h.Spans)
			}
		}
	}
}

func TestLinesBehindAnEndlessOne(t *testing.T) {
	line := strings.Repeat("0123456789", 100<<10)
	text := "one\ntwo\n" + line + "\nfour hit\nfive\n" + line + "hit" + line + "\nseven\n"
	hits, st := scan(t, text, compile(t, "hit", match.Options{}), match.ScanOptions{Context: 2, MaxLine: 13})
	want := []match.Hit{
		{Line: 4, Offset: int64(9 + len(line)), Text: "four hit", Spans: []match.Span{{5, 8}}, After: []string{"five"}},
		{Line: 6, Offset: int64(23 + len(line)), Text: "56789hit01234", At: len(line) - 5, Cut: true, Spans: []match.Span{{len(line), len(line) + 3}}, After: []string{"seven"}},
	}
	if d := cmp.Diff(want, hits); d != "" || !st.InParts {
		t.Errorf("%+v %s", st, d)
	}
	// A line too long for the buffer is given behind a hit, not before one.
	hits, _ = scan(t, "hit\n"+line+"\nthree", compile(t, "hit", match.Options{}), match.ScanOptions{Context: 2, MaxLine: 4})
	if d := cmp.Diff([]string{"0123", "thre"}, hits[0].After); d != "" {
		t.Error(d)
	}
}

func TestCutsAtCharacters(t *testing.T) {
	line := strings.Repeat("é", 500) + "日本" + strings.Repeat("ü", 500)
	for max := 6; max < 40; max++ {
		hits, _ := scan(t, line, compile(t, "日本", match.Options{}), match.ScanOptions{MaxLine: max})
		h := hits[0]
		if !h.Cut || len(h.Text) > max || !utf8.ValidString(h.Text) || !strings.Contains(h.Text, "日本") || line[h.At:h.At+len(h.Text)] != h.Text ||
			!cmp.Equal(h.Spans, []match.Span{{1000, 1006}}) {
			t.Errorf("%d: %+v", max, h)
		}
	}
	// A match longer than the bound is shown from its beginning.
	hits, _ := scan(t, line, compile(t, "日.*", match.Options{}), match.ScanOptions{MaxLine: 10})
	if h := hits[0]; h.Text != "日本üü" || h.At != 1000 {
		t.Errorf("%+v", h)
	}
}

func TestManyHits(t *testing.T) {
	n := 0
	last := match.Hit{}
	var b match.Buffer
	_, err := match.Scan(context.Background(), &endless{text: "a hit\nnone\n", left: size(100_000, 1_000_000) * 11}, compile(t, "hit", match.Options{}), match.ScanOptions{}, &b,
		func(h match.Hit) bool { n++; last = h; return true })
	if want := int(size(100_000, 1_000_000)); err != nil || n != want || last.Line != 2*want-1 || last.Offset != int64(want-1)*11 {
		t.Errorf("%d hits, the last %+v, %v", n, last, err)
	}
}

func TestManyMatchesInALine(t *testing.T) {
	hits, _ := scan(t, strings.Repeat("x", 1_000_000)+"\nx", compile(t, "x", match.Options{}), match.ScanOptions{MaxLine: 4 * mib})
	if len(hits) != 2 || len(hits[0].Spans) != 100 || hits[1].Line != 2 {
		t.Errorf("%d hits", len(hits))
	}
}

// TestPatternsThatExplodeElsewhere are those that backtracking engines or a complete automaton cannot bear. The bound is in steps of
// the test, not in time: all end, and find what is there.
func TestPatternsThatExplodeElsewhere(t *testing.T) {
	text := strings.Repeat("a", 30_000) + "!\n" + strings.Repeat("ab", 15_000) + "\n" + strings.Repeat("a", 29) + "b\n"
	for _, c := range []struct {
		pattern string
		lines   int
	}{
		{`(a+)+$`, 0},
		{`(a|aa)+$`, 0},
		{`(a*)*b`, 2},
		{`(.*)(.*)(.*)(.*)(.*)[^ab!]`, 0},
		{`^(([a-z])+.)+[A-Z]([a-z])+$`, 0},
		{`(a?){50}a{50}`, 1},
		{`(a|b)*a(a|b){12}$`, 1},
		{`[ab]*a[ab]{100}[^ab]`, 1},
		{`(x+x+)+y`, 0},
		{`(?:a{1,30}){1,30}!`, 1},
	} {
		hits, _ := scan(t, text, compile(t, c.pattern, match.Options{}), match.ScanOptions{})
		if len(hits) != c.lines {
			t.Errorf("%q: %d hits, want %d", c.pattern, len(hits), c.lines)
		}
	}
}

// TestStatesAreBounded runs an automaton that would have 2^20 states over text that asks for all of them.
func TestStatesAreBounded(t *testing.T) {
	var text bytes.Buffer
	for i := range uint32(size(20_000, 400_000)) {
		for bit := range 24 {
			text.WriteByte("ab"[i*2654435761>>bit&1])
		}
		text.WriteByte('\n')
	}
	var b match.Buffer
	m := compile(t, `(a|b)*a(a|b){20}c`, match.Options{})
	held := grown(func() {
		if st, err := match.Scan(context.Background(), bytes.NewReader(text.Bytes()), m, match.ScanOptions{}, &b, nil); err != nil || st.Hits != 0 {
			t.Errorf("%+v %v", st, err)
		}
	})
	if held > 2*mib {
		t.Errorf("%d KiB are held", held>>10)
	}
	if m := b.Memory(); m > 2*mib {
		t.Errorf("the buffer holds %d KiB", m>>10)
	}
	if !b.GaveUp() {
		t.Error("the automaton was not driven to its bound")
	}
}

func TestEncodings(t *testing.T) {
	text := "erste Zeile\nzweite é 日本 \U0001f600 Zeile\r\ndritte"
	encode := func(order string) string {
		var b strings.Builder
		put := func(u uint16) {
			if order == "le" {
				b.WriteByte(byte(u))
				b.WriteByte(byte(u >> 8))
			} else {
				b.WriteByte(byte(u >> 8))
				b.WriteByte(byte(u))
			}
		}
		put(0xfeff)
		for _, r := range text {
			if r >= 0x10000 {
				put(uint16(0xd800 + (r-0x10000)>>10))
				put(uint16(0xdc00 + (r-0x10000)&0x3ff))
			} else {
				put(uint16(r))
			}
		}
		return b.String()
	}
	for enc, c := range map[match.Encoding]struct {
		text   string
		offset int64
	}{
		match.Bytes: {text, 12}, match.UTF8BOM: {"\ufeff" + text, 15}, match.UTF16LE: {encode("le"), 12}, match.UTF16BE: {encode("be"), 12},
	} {
		hits, st := scan(t, c.text, compile(t, `\x{1f600} Zeile`, match.Options{}), match.ScanOptions{Context: 1})
		want := []match.Hit{{Line: 2, Offset: c.offset, Text: "zweite é 日本 \U0001f600 Zeile\r", Spans: []match.Span{{17, 27}}, Before: []string{"erste Zeile"}, After: []string{"dritte"}}}
		if d := cmp.Diff(want, hits); d != "" || st.Encoding != enc || st.Bytes != int64(len(c.text)) {
			t.Errorf("%q: %+v %s", enc, st, d)
		}
		// in parts of every size, and cut off anywhere
		m := compile(t, "Zeile", match.Options{})
		for n := range len(c.text) {
			var b match.Buffer
			b.SetSizes(8, 256, 8, 1<<16, 4)
			if _, err := match.Scan(context.Background(), strings.NewReader(c.text[:n]), m, match.ScanOptions{}, &b, func(match.Hit) bool { return true }); err != nil {
				t.Errorf("%q cut at %d: %v", enc, n, err)
			}
		}
	}
	// What is no UTF-16 is U+FFFD, as elsewhere.
	hits, _ := scan(t, "\xff\xfea\x00\x00\xd8b\x00\x00\xdcc\x00\x00\xd8", compile(t, "a", match.Options{}), match.ScanOptions{})
	if len(hits) != 1 || hits[0].Text != "a\ufffdb\ufffdc\ufffd" {
		t.Errorf("%+v", hits)
	}
	hits, _ = scan(t, "\xff\xfea\x00b", compile(t, "a", match.Options{}), match.ScanOptions{})
	if len(hits) != 1 || hits[0].Text != "a\ufffd" {
		t.Errorf("%+v", hits)
	}
}

func TestLargeUTF16(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("\xff\xfe")
	line := strings.Repeat("\xe9\x00\x3d\xd8\x00\xde", 20) + "\n\x00"
	for range 5000 {
		text.WriteString(line)
	}
	hits, st := scan(t, text.String(), compile(t, `^(é\x{1f600}){20}$`, match.Options{}), match.ScanOptions{})
	if len(hits) != 5000 || hits[4999].Line != 5000 || hits[4999].Offset != 4999*121 || st.Bytes != int64(text.Len()) {
		t.Errorf("%d hits, %+v", len(hits), st)
	}
}

func TestBinary(t *testing.T) {
	m := compile(t, "foo", match.Options{})
	for _, text := range []string{"\x00", "foo\x00", "foo\n" + strings.Repeat("x\n", 30000) + "\x00", "\ufefffoo\n\x00", "\xff\xfef\x00o\x00o\x00\n\x00\x00\x00"} {
		hits, st := scan(t, text, m, match.ScanOptions{})
		if len(hits) > 0 || !st.Binary {
			t.Errorf("%.20q: %d hits, %+v", text, len(hits), st)
		}
	}
	// Behind a NUL nothing is read, before it a hit that waits for its context is given.
	r := &lines{left: 1 << 40}
	hits := 0
	var b match.Buffer
	text := "foo\n" + strings.Repeat("text\n", 50000) + "foo\nlast\nfo\x00foo"
	st, err := match.Scan(context.Background(), io.MultiReader(strings.NewReader(text), r), m, match.ScanOptions{Context: 3}, &b, func(h match.Hit) bool {
		if hits++; hits == 2 && !cmp.Equal(h.After, []string{"last"}) {
			t.Errorf("%+v", h)
		}
		return true
	})
	if err != nil || hits != 2 || !st.Binary || r.n > 1 {
		t.Errorf("%d hits, %+v, %v, %d reads", hits, st, err, r.n)
	}
	// In a line that does not fit, too.
	long := strings.Repeat("x", mib) + "\x00foo\nfoo\n"
	if got, st := scan(t, "foo\n"+long, m, match.ScanOptions{}); len(got) != 1 || !st.Binary {
		t.Errorf("%d hits, %+v", len(got), st)
	}
	if got, st := scan(t, long, compile(t, "x$", match.Options{}), match.ScanOptions{}); len(got) != 0 || !st.Binary {
		t.Errorf("%d hits, %+v", len(got), st)
	}
}

// TestSizeEndsReading: a file that grows is searched as long as it was.
func TestSizeEndsReading(t *testing.T) {
	r := &lines{left: 1 << 40}
	var b match.Buffer
	n := 0
	st, err := match.Scan(context.Background(), r, compile(t, "line", match.Options{}), match.ScanOptions{Size: 30}, &b, func(match.Hit) bool { n++; return true })
	if err != nil || n != 2 || st.Bytes != 30 || r.n != 1 {
		t.Errorf("%d hits, %+v, %v, %d reads", n, st, err, r.n)
	}
	// and one that shrank as long as it is
	if hits, _ := scan(t, "a line", compile(t, "line", match.Options{}), match.ScanOptions{Size: 300}); len(hits) != 1 {
		t.Errorf("%d hits", len(hits))
	}
}

// TestBufferServesManyPatterns: nothing of one search is left in the next.
func TestBufferServesManyPatterns(t *testing.T) {
	var b match.Buffer
	for range 3 {
		for _, l := range readListed(t) {
			text := "x\n" + l.pattern + "\nfunc main() { return nil } // Copyright (c) 2001\n"
			want, _ := scan(t, text, compile(t, l.pattern, l.options()), match.ScanOptions{})
			var got []match.Hit
			if _, err := match.Scan(context.Background(), strings.NewReader(text), compile(t, l.pattern, l.options()), match.ScanOptions{}, &b,
				func(h match.Hit) bool { got = append(got, h); return true }); err != nil || !cmp.Equal(want, got) {
				t.Errorf("%s: %v %s", l, err, cmp.Diff(want, got))
			}
		}
	}
}

// TestStopsInsideABlock: a pattern that costs much for each byte ends when asked, although no further block is read.
func TestStopsInsideABlock(t *testing.T) {
	var random strings.Builder
	for i := range uint32(60000) {
		random.WriteByte("ab"[i*i*2654435761>>17&1])
	}
	for _, c := range []struct{ why, pattern, text string }{
		{"the automaton has too many states", `(a|b)*a(a|b){200}c`, random.String()},
		{"the engine runs on each line", `^(.?){100}(.){300}z?`, strings.Repeat(strings.Repeat("é", 400)+"\n", 70)},
		{"the line is searched in parts", `(.?){100}(.){300}[^x]$`, strings.Repeat("é", 30000)},
	} {
		stop := io.ErrClosedPipe
		asked := 0
		var b match.Buffer
		_, err := match.Scan(context.Background(), strings.NewReader(c.text), compile(t, c.pattern, match.Options{}), match.ScanOptions{Size: int64(len(c.text)), Stop: func() error {
			if asked++; asked > 1 { // the first is before the only block
				return stop
			}
			return nil
		}}, &b, func(match.Hit) bool { return true })
		if err != stop {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}
