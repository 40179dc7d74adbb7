package fileop

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"pgregory.net/rapid"
)

func infoOf(content []byte) beneath.Info { return beneath.Info{Size: int64(len(content))} }

func readPart(t testing.TB, content string, p Part, limit int) Text {
	t.Helper()
	got, err := ReadText(context.Background(), strings.NewReader(content), infoOf([]byte(content)), p, limit)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return got
}

func TestReadParts(t *testing.T) {
	const abc = "a\nb\nc\n"
	for _, c := range []struct {
		name, content string
		part          Part
		limit         int
		want          string
		whole, cut    bool
		next          int64
	}{
		{"whole", abc, Whole(), 0, abc, true, false, 0},
		{"empty", "", Whole(), 0, "", true, false, 0},
		{"no final newline", "a\nb", Whole(), 0, "a\nb", true, false, 0},
		{"line endings and mark kept", "\uFEFFa\r\nb\r\n", Whole(), 0, "\uFEFFa\r\nb\r\n", true, false, 0},
		{"cut between lines", abc, Whole(), 5, "a\nb\n", false, true, 3},
		{"exactly the limit", abc, Whole(), 6, abc, true, false, 0},
		{"cut within a line", "abcdef", Whole(), 4, "abcd", false, true, 0},
		{"cut between characters", "aあい", Whole(), 5, "aあ", false, true, 0},
		{"head", abc, Head(2), 0, "a\nb\n", false, false, 0},
		{"head of all", abc, Head(3), 0, abc, true, false, 0},
		{"head beyond", "a\nb", Head(9), 0, "a\nb", true, false, 0},
		{"head 0", abc, Head(0), 0, "", false, false, 0},
		{"head 0 of nothing", "", Head(0), 0, "", true, false, 0},
		{"head huge", abc, Head(1 << 62), 0, abc, true, false, 0},
		{"head over a block", strings.Repeat("a", 1023) + "あ\nlast\n", Head(1), 0, strings.Repeat("a", 1023) + "あ\n", false, false, 0},
		{"head cut", abc, Head(3), 3, "a\n", false, true, 2},
		{"tail 1", abc, Tail(1), 0, "c\n", false, false, 0},
		{"tail 2", abc, Tail(2), 0, "b\nc\n", false, false, 0},
		{"tail of all", abc, Tail(3), 0, abc, true, false, 0},
		{"tail beyond", abc, Tail(1 << 62), 0, abc, true, false, 0},
		{"tail without newline", "a\nb", Tail(1), 0, "b", false, false, 0},
		{"tail of empty lines", "a\n\n\n", Tail(2), 0, "\n\n", false, false, 0},
		{"tail 0", abc, Tail(0), 0, "", false, false, 0},
		{"tail keeps returns", "a\r\nb\r\n", Tail(1), 0, "b\r\n", false, false, 0},
		{"tail cut keeps the end", "aaaa\nbbbb\ncc\n", Tail(3), 9, "bbbb\ncc\n", false, true, 0},
		{"lines", abc, Lines(2, 1), 0, "b\n", false, false, 0},
		{"lines to the end", abc, Lines(2, ToEnd), 0, "b\nc\n", false, false, 0},
		{"lines all", abc, Lines(1, ToEnd), 0, abc, true, false, 0},
		{"lines beyond", abc, Lines(7, 2), 0, "", false, false, 0},
		{"lines cut", abc, Lines(2, 2), 3, "b\n", false, true, 3},
		{"bytes", "abcdef", Bytes(2, 3), 0, "cde", false, false, 0},
		{"bytes to the end", "abcdef", Bytes(2, ToEnd), 0, "cdef", false, false, 0},
		{"bytes all", "abcdef", Bytes(0, 1<<62), 0, "abcdef", true, false, 0},
		{"bytes beyond", "abc", Bytes(1<<62, 5), 0, "", false, false, 0},
		{"bytes within characters", "あいう", Bytes(1, 6), 0, "い", false, false, 0},
		{"bytes cut", "abcdef", Bytes(1, 5), 2, "bc", false, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readPart(t, c.content, c.part, c.limit)
			if string(got.Data) != c.want {
				t.Errorf("data %q, want %q", got.Data, c.want)
			}
			if got.Whole != c.whole || got.Truncated != c.cut {
				t.Errorf("whole %v cut %v, want %v %v", got.Whole, got.Truncated, c.whole, c.cut)
			}
			if got.Truncated && got.NextLine != c.next {
				t.Errorf("next line %d, want %d", got.NextLine, c.next)
			}
			if partial := ParseVersion(got.Version).partial; partial == c.whole {
				t.Errorf("version %q, whole %v", got.Version, c.whole)
			}
		})
	}
}

func TestReadPastTheEndCountsLines(t *testing.T) {
	for content, want := range map[string]int64{"": 0, "a": 1, "a\n": 1, "a\nb": 2} {
		if got := readPart(t, content, Lines(9, 1), 0); got.Lines != want {
			t.Errorf("%q has %d lines, got %d", content, want, got.Lines)
		}
	}
}

func TestReadRefusesArguments(t *testing.T) {
	for _, p := range []Part{Head(-1), Tail(-1), Lines(0, 1), Lines(1, -2), Bytes(-1, 1), Bytes(0, -2)} {
		_, err := ReadText(context.Background(), strings.NewReader("a\n"), infoOf([]byte("a\n")), p, 0)
		if rootbound.ReasonOf(err) != rootbound.ArgumentInvalid {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestReadSaysWhatIsNotText(t *testing.T) {
	utf16le := "6100620063006400"
	for _, c := range []struct{ hex, detail string }{
		{"fffe" + utf16le, "detected UTF-16 little endian"},
		{"feff0061", "detected UTF-16 big endian"},
		{"fffe000061000000", "detected UTF-32 little endian"},
		{"0000feff00000061", "detected UTF-32 big endian"},
		{utf16le, "detected UTF-16 little endian without a byte-order mark"},
		{"0061006200630064", "detected UTF-16 big endian without a byte-order mark"},
		{"616200ff", "detected binary data, a NUL at byte 2"},
		{"61e4620a", "detected an encoding that is not UTF-8, at byte 1"},
		{"61c3", "detected an encoding that is not UTF-8, at byte 1"},
		{"eda080", "detected an encoding that is not UTF-8, at byte 0"},
	} {
		data, _ := hex.DecodeString(c.hex)
		_, err := ReadText(context.Background(), bytes.NewReader(data), infoOf(data), Whole(), 0)
		var e *rootbound.Error
		if !errors.As(err, &e) || e.Reason != rootbound.NotText || e.Detail != c.detail {
			t.Errorf("%s: %v, want %s", c.hex, err, c.detail)
		}
	}
	// a mark is found from any part
	data, _ := hex.DecodeString("fffe" + "610a" + "620a" + "630a")
	for _, p := range []Part{Head(1), Tail(1), Lines(2, 1), Bytes(3, 2)} {
		if _, err := ReadText(context.Background(), bytes.NewReader(data), infoOf(data), p, 0); rootbound.ReasonOf(err) != rootbound.NotText {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// endless is a file that is always longer than it was.
type endless struct{ read int64 }

func (e *endless) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		p[i] = "abcdefg\n"[(off+int64(i))%8]
	}
	e.read = max(e.read, off+int64(len(p)))
	return len(p), nil
}

func TestReadStopsAtTheLimitWhileTheFileGrows(t *testing.T) {
	for _, p := range []Part{Whole(), Head(1 << 40), Lines(3, ToEnd), Bytes(0, ToEnd), Bytes(8, 1<<40)} {
		src := &endless{}
		got, err := ReadText(context.Background(), src, beneath.Info{Size: 10}, p, 4096)
		if err != nil || len(got.Data) > 4096 || src.read > 3*block {
			t.Errorf("%+v: %d bytes, %d read, %v", p, len(got.Data), src.read, err)
		}
	}
	if _, err := readAll(context.Background(), &endless{}, 10, 4096); rootbound.ReasonOf(err) != rootbound.TooLarge {
		t.Errorf("media: %v", err)
	}
}

// hole is a sparse file.
type hole struct{ size, read int64 }

func (h *hole) ReadAt(p []byte, off int64) (int, error) {
	h.read += int64(len(p))
	n := int(min(max(h.size-off, 0), int64(len(p))))
	clear(p[:n])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func TestSparseFilesAreRefusedAtOnce(t *testing.T) {
	for _, p := range []Part{Whole(), Head(1), Tail(5), Lines(1<<40, 1), Bytes(1<<39, 10)} {
		h := &hole{size: 1 << 40}
		_, err := ReadText(context.Background(), h, beneath.Info{Size: h.size}, p, 0)
		if rootbound.ReasonOf(err) != rootbound.NotText || h.read > 2*DefaultText {
			t.Errorf("%+v: %d bytes read, %v", p, h.read, err)
		}
	}
	h := &hole{size: 1 << 40}
	if _, err := ReadMedia(context.Background(), h, beneath.Info{Size: h.size}, "x.png", 0); rootbound.ReasonOf(err) != rootbound.TooLarge || h.read > 0 {
		t.Errorf("media: %d bytes read, %v", h.read, err)
	}
}

type shrunk struct{ *strings.Reader }

func TestTailOfAFileThatShrank(t *testing.T) {
	got, err := ReadText(context.Background(), shrunk{strings.NewReader("a\nb\nc\n")}, beneath.Info{Size: 4000}, Tail(2), 0)
	if err != nil || string(got.Data) != "b\nc\n" {
		t.Errorf("%q %v", got.Data, err)
	}
}

func TestReadIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := ReadText(ctx, strings.NewReader("a"), beneath.Info{Size: 1}, Whole(), 0)
	if rootbound.ReasonOf(err) != rootbound.Cancelled {
		t.Error(err)
	}
}

// model of what a part is, on the whole content.
func model(content string, p Part) string {
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	upto := func(n int64) int64 {
		if n == ToEnd {
			return int64(len(content))
		}
		return n
	}
	switch p.kind {
	case headLines:
		lines = lines[:min(int64(len(lines)), p.count)]
	case tailLines:
		lines = lines[max(0, int64(len(lines))-p.count):]
	case lineRange:
		lines = lines[min(int64(len(lines)), p.first-1):]
		lines = lines[:min(int64(len(lines)), upto(p.count))]
	case byteRange:
		from := min(int64(len(content)), p.first)
		return content[from:min(int64(len(content)), from+upto(p.count))]
	}
	return strings.Join(lines, "")
}

func TestPartsAgreeWithTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "bb", "\n", "\r\n", "あ", "𝒳", "\n\n", ""}), 0, 40).Draw(t, "content"), "")
		n := rapid.Int64Range(0, 12).Draw(t, "n")
		m := rapid.Int64Range(-1, 12).Draw(t, "m")
		part := rapid.SampledFrom([]Part{Whole(), Head(n), Tail(n), Lines(n+1, m), Bytes(n, m)}).Draw(t, "part")
		limit := rapid.IntRange(1, 60).Draw(t, "limit")
		r := &reader{ctx: context.Background(), src: strings.NewReader(content), limit: limit, block: rapid.IntRange(1, 9).Draw(t, "block")}
		got, err := r.text(infoOf([]byte(content)), part)
		if err != nil {
			t.Fatal(err)
		}
		want := model(content, part)
		data := string(got.Data)
		if len(data) > limit || !utf8.ValidString(data) {
			t.Fatalf("%d bytes, limit %d: %q", len(data), limit, data)
		}
		if data != "" && content[got.Offset:got.NextByte] != data {
			t.Fatalf("offset %d next %d do not frame %q", got.Offset, got.NextByte, data)
		}
		if got.Whole != (data == content && got.Offset == 0) && part.kind != byteRange {
			t.Fatalf("whole %v: %q of %q", got.Whole, data, content)
		}
		if got.Whole && data != content {
			t.Fatalf("whole: %q of %q", data, content)
		}
		if got.Truncated != (len(want) > limit) {
			t.Fatalf("cut %v: %q, wanted %q, limit %d", got.Truncated, data, want, limit)
		}
		switch {
		case part.kind == byteRange:
			if !strings.Contains(want, data) || len(want)-len(data) > 6 && !got.Truncated {
				t.Fatalf("%q of %q", data, want)
			}
		case !got.Truncated && data != want:
			t.Fatalf("%q, want %q", data, want)
		case got.Truncated && part.kind == tailLines && !strings.HasSuffix(want, data):
			t.Fatalf("%q is not the end of %q", data, want)
		case got.Truncated && part.kind != tailLines && !strings.HasPrefix(want, data):
			t.Fatalf("%q is not the start of %q", data, want)
		}
		if got.NextLine > 0 { // going on there gives the rest
			rest := model(content, Lines(got.NextLine, ToEnd))
			if content[got.NextByte:] != rest {
				t.Fatalf("line %d is %q, want %q", got.NextLine, rest, content[got.NextByte:])
			}
		}
	})
}

// TestPagesOfTextAreTheWhole goes on as an answer that was cut says, from lines to bytes within a line, and from the end to the
// front: the pages are what was asked for, nothing twice, nothing missing.
func TestPagesOfTextAreTheWhole(t *testing.T) {
	many := 0
	for _, content := range []string{"", "a", "a\nbb\nccc\n", "\n\n\n", "one line that is longer than any page\nb\n", "é€😀\r\nx\n\nend", "a\n" + strings.Repeat("é", 40) + "\nb\nc",
		strings.Repeat("x", 61), strings.Repeat("line\n", 20), strings.Repeat("\n", 30) + strings.Repeat("y", 30) + "\nz"} {
		for n := range int64(9) {
			for m := int64(-1); m < 9; m++ {
				for i, part := range []Part{Whole(), Head(n), Tail(n), Lines(n+1, m)} {
					if m > -1 && i < 3 {
						continue
					}
					for _, limit := range []int{4, 5, 7, 16} {
						want, got, pages := model(content, part), "", 0
						bounded := part.kind != wholeFile && part.count != ToEnd
						for p := part; ; pages++ {
							r := &reader{ctx: context.Background(), src: strings.NewReader(content), limit: limit, block: 3}
							page, err := r.text(infoOf([]byte(content)), p)
							if err != nil {
								t.Fatal(err)
							}
							if page.Front || part.kind == tailLines {
								got = string(page.Data) + got
							} else {
								got += string(page.Data)
							}
							if !page.Truncated {
								break
							}
							if len(page.Data) == 0 || bounded != (page.Left > 0) {
								t.Fatalf("%q %+v, limit %d: a page %+v", content, p, limit, page)
							}
							switch {
							case page.Front:
								p = TailBefore(page.Offset, page.Left)
							case page.NextLine > 0 && bounded:
								p = Lines(page.NextLine, page.Left)
							case page.NextLine > 0:
								p = Lines(page.NextLine, ToEnd)
							case bounded:
								p = LinesFrom(page.NextByte, page.Left)
							default:
								p = Bytes(page.NextByte, ToEnd)
							}
						}
						if got != want {
							t.Errorf("%q %+v, limit %d: %q, want %q", content, part, limit, got, want)
						}
						if pages > 0 {
							many++
						}
					}
				}
			}
		}
	}
	if many < 500 {
		t.Errorf("only %d answers had pages", many)
	}
}

func FuzzReadText(f *testing.F) {
	f.Add([]byte("a\nb\r\n\xef\xbb\xbf"), uint8(1), int64(2), int64(1))
	f.Fuzz(func(t *testing.T, data []byte, kind uint8, a, b int64) {
		p := Part{kind: partKind(kind % 7), first: a, count: b}
		got, err := ReadText(context.Background(), bytes.NewReader(data), infoOf(data), p, 64)
		if err == nil && (len(got.Data) > 64 || !utf8.Valid(got.Data) || bytes.IndexByte(got.Data, 0) >= 0) {
			t.Fatalf("%q", got.Data)
		}
	})
}

func TestMedia(t *testing.T) {
	for name, want := range map[string]string{"a.PNG": "image/png", "a.jpeg": "image/jpeg", "a.svg": "image/svg+xml", "a.mp3": "audio/mpeg",
		"a.flac": "audio/flac", "x.xlsx": "application/octet-stream", "png": "application/octet-stream", ".png": "application/octet-stream"} {
		if got := MediaType(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	m, err := ReadMedia(context.Background(), strings.NewReader("PK\x03\x04"), beneath.Info{Size: 4}, "x.xlsx", 4)
	if err != nil || string(m.Data) != "PK\x03\x04" {
		t.Errorf("%q %v", m.Data, err)
	}
	if _, err := ReadMedia(context.Background(), strings.NewReader("12345"), beneath.Info{Size: 5}, "x", 4); rootbound.ReasonOf(err) != rootbound.TooLarge {
		t.Error(err)
	}
}

// With marks of earlier reads a read gives what it gives without, and the marks are true.
func TestMarksChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"", "x", strings.Repeat("long ", 3000), "あ", strings.Repeat("y", 70_000)})
		content := strings.Join(rapid.SliceOfN(line, 0, 60).Draw(t, "lines"), "\n")
		var known []Mark
		for range 8 {
			first, count := rapid.Int64Range(1, 70).Draw(t, "first"), rapid.SampledFrom([]int64{ToEnd, 0, 1, 20}).Draw(t, "count")
			limit := rapid.SampledFrom([]int{0, 5, 100_000}).Draw(t, "limit")
			info := infoOf([]byte(content))
			want, err := ReadText(context.Background(), strings.NewReader(content), info, Lines(first, count), limit)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ReadTextFrom(context.Background(), strings.NewReader(content), info, Lines(first, count), limit, known)
			if err != nil {
				t.Fatal(err)
			}
			found := got.Marks
			same := bytes.Equal(want.Data, got.Data)
			got.Marks, want.Marks, got.Data, want.Data = nil, nil, nil, nil // a difference of long texts takes long to show
			if d := cmp.Diff(want, got); d != "" || !same {
				t.Fatalf("line %d, %d lines, limit %d with %v: same text %t, %s", first, count, limit, known, same, d)
			}
			known = append(known, found...)
			slices.SortFunc(known, func(a, b Mark) int { return int(a.Line - b.Line) })
			for i, m := range known {
				if m.Line != 1+int64(strings.Count(content[:m.Offset], "\n")) || m.Offset > 0 && content[m.Offset-1] != '\n' || i > 0 && known[i-1] == m {
					t.Fatalf("%v is not where a line begins, or is told twice: %v", m, known)
				}
			}
		}
	})
}

// counted counts what is read.
type counted struct {
	io.ReaderAt
	n int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += n
	return n, err
}

// Who goes through a long text page by page reads it once, and not what is before again and again.
func TestMarksSaveReading(t *testing.T) {
	content := strings.Repeat("0123456789abcde\n", 1<<18) // 4 MiB
	for _, part := range []func(int64) Part{func(line int64) Part { return Lines(line, ToEnd) }, func(line int64) Part { return Lines(line, 8192) }} {
		src := &counted{ReaderAt: strings.NewReader(content)}
		var known []Mark
		var got strings.Builder
		for line := int64(1); line > 0; {
			r, err := ReadTextFrom(context.Background(), src, infoOf([]byte(content)), part(line), 128<<10, known)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(r.Data)
			known = append(known, r.Marks...)
			if line = r.FirstLine + int64(bytes.Count(r.Data, []byte{'\n'})); len(r.Data) == 0 {
				break
			}
		}
		if got.String() != content {
			t.Fatal("not the whole text")
		}
		if src.n > 5*len(content) {
			t.Errorf("%d bytes are read for %d", src.n, len(content))
		}
	}
}
