package fileop

import (
	"bytes"
	"context"
	"io"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/fileop/effect"
	"github.com/rootbound/rootbound/fileop/text"
)

// DefaultText is the most bytes of text one read gives (contract §6).
const DefaultText = 1 << 20

// block is the unit of reading, and all that is held of what is only counted.
const block = 64 << 10

type partKind uint8

const (
	wholeFile partKind = iota
	headLines
	tailLines
	lineRange
	linesFrom
	tailBefore
	byteRange
)

// Part says which piece of a file is wanted. The zero value is the whole file.
type Part struct {
	kind         partKind
	first, count int64
}

// Whole is the file from its first to its last byte.
func Whole() Part { return Part{} }

// Head is the first n lines, 0 is nothing.
func Head(n int64) Part { return Part{kind: headLines, first: 1, count: n} }

// Tail is the last n lines as tail(1) counts them: a final newline ends a line and does not start an empty one.
func Tail(n int64) Part { return Part{kind: tailLines, count: n} }

// ToEnd as a count means as many as there are.
const ToEnd int64 = -1

// Lines is count lines from line first, counted from 1.
func Lines(first, count int64) Part { return Part{kind: lineRange, first: first, count: count} }

// LinesFrom is what is left of count lines from a byte on, counted from 0, with which a line or a part of one begins.
func LinesFrom(offset, count int64) Part { return Part{kind: linesFrom, first: offset, count: count} }

// TailBefore is the last n lines of what stands before a byte, counted from 0.
func TailBefore(offset, n int64) Part { return Part{kind: tailBefore, first: offset, count: n} }

// Bytes is count bytes from offset, counted from 0; characters cut at its ends are left out.
func Bytes(offset, count int64) Part { return Part{kind: byteRange, first: offset, count: count} }

func (p Part) check() error {
	bad := func(what string) error {
		return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: what}
	}
	switch {
	case (p.kind == headLines || p.kind == tailLines || p.kind == tailBefore) && p.count < 0:
		return bad("a number of lines is 0 or more")
	case p.kind == lineRange && p.first < 1:
		return bad("lines are counted from 1")
	case (p.kind == byteRange || p.kind == linesFrom || p.kind == tailBefore) && p.first < 0:
		return bad("bytes are counted from 0")
	case p.count < ToEnd:
		return bad("a count is 0 or more")
	}
	return nil
}

// Text is a piece of a file. Its bytes are those of the file: line endings and a byte-order mark are kept.
type Text struct {
	Data      []byte // valid UTF-8 without NUL
	Offset    int64  // of Data in the file
	FirstLine int64  // number of Data's first line, counted from 1; 0 where it was not counted (Tail, Bytes)
	Size      int64  // of the file when it was opened
	Version   string // of the file; partial unless Data is all of it
	Whole     bool   // Data is the file from its first to its last byte

	Lines int64 // of the whole file where it was read to its end by lines; else 0

	Truncated bool  // the limit cut what was asked for; go on at NextLine, or at NextByte where NextLine is 0
	NextLine  int64 // first line that is not in Data; 0 if the cut is within a line, or in front (Tail)
	NextByte  int64 // offset behind Data
	Front     bool  // Tail: what was cut lies in front of Offset
	Left      int64 // lines that are still to come, the one that was begun included; 0 where no number was asked for

	Marks []Mark // beginnings of lines that were found on the way and were not known, ascending
}

// ReadText reads part of src, at most limit bytes (0: DefaultText). A cut falls between lines where it can, else between
// characters. info is what was known when src was opened. Memory is bounded by limit, whatever is asked for; a file that
// grows while it is read ends at the limit.
//
// Errors: argument_invalid, not_text (Detail says what was detected), cancelled, io_error, and those of src.
func ReadText(ctx context.Context, src io.ReaderAt, info beneath.Info, part Part, limit int) (Text, error) {
	return ReadTextFrom(ctx, src, info, part, limit, nil)
}

// ReadTextFrom is ReadText that need not read from the start to find a line. known are marks that earlier reads found in
// this very version of the file, ascending; what they say is believed
// where a line begins.
func ReadTextFrom(ctx context.Context, src io.ReaderAt, info beneath.Info, part Part, limit int, known []Mark) (Text, error) {
	if err := part.check(); err != nil {
		return Text{}, err
	}
	if limit <= 0 {
		limit = DefaultText
	}
	return (&reader{ctx: ctx, src: src, limit: limit, block: block, known: known}).text(info, part)
}

func (r *reader) text(info beneath.Info, part Part) (Text, error) {
	t := Text{Size: info.Size}
	var err error
	switch part.kind {
	case tailLines:
		err = r.tail(&t, t.Size, part.count)
	case tailBefore:
		err = r.tail(&t, min(part.first, t.Size), part.count)
	case linesFrom:
		err = r.linesFrom(&t, part.first, part.count)
	case byteRange:
		err = r.bytes(&t, part.first, part.count)
	case headLines, lineRange:
		err = r.lines(&t, part.first, part.count)
	default:
		err = r.lines(&t, 1, ToEnd)
	}
	if err != nil {
		return Text{}, err
	}
	if err := text.Check(t.Data, t.Offset); err != nil {
		return Text{}, err
	}
	if t.Offset > 0 {
		// a mark at the front tells the encoding of what lies behind it
		var mark [4]byte
		n, err := r.at(mark[:], 0)
		if err != nil && err != io.EOF {
			return Text{}, err
		}
		if err := text.CheckMark(mark[:n]); err != nil {
			return Text{}, err
		}
	}
	t.Version = info.Version()
	if !t.Whole {
		t.Version = PartialVersion(t.Version)
	}
	t.NextByte = t.Offset + int64(len(t.Data))
	if t.NextLine > 0 {
		r.mark(Mark{t.NextLine, t.NextByte}, spacing(t.Size))
	}
	t.Marks = r.found
	return t, nil
}

type reader struct {
	ctx   context.Context
	src   io.ReaderAt
	limit int
	block int
	known []Mark
	found []Mark
}

// at fills p; io.EOF comes with what was there. Other errors are ready for the caller.
func (r *reader) at(p []byte, off int64) (int, error) {
	if err := effect.Cancelled(r.ctx); err != nil {
		return 0, err
	}
	n, err := r.src.ReadAt(p, off)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, effect.Failed(err)
}

// lines takes count lines from line first.
func (r *reader) lines(t *Text, first, count int64) error {
	buf := make([]byte, min(int64(r.block), max(t.Size+1, 512))) // one byte more shows the end with the last read
	off, skipped, err := r.skip(buf, first-1, spacing(t.Size))
	if err != nil {
		return err
	}
	t.FirstLine, t.Offset = first, off
	if skipped < first-1 { // it ends before
		t.Lines, t.Whole = skipped, off == 0
		return nil
	}
	return r.take(t, buf, off, count)
}

func (r *reader) linesFrom(t *Text, off, count int64) error {
	t.Offset = off
	return r.take(t, make([]byte, r.block), off, count)
}

// take reads count lines from off on.
func (r *reader) take(t *Text, buf []byte, off, count int64) error {
	if count == ToEnd {
		t.Data = make([]byte, 0, min(int64(r.limit), max(t.Size-off, 0))+1)
	}
	taken := int64(0)
	for {
		n, err := r.at(buf, off)
		if err != nil && err != io.EOF {
			return err
		}
		p := buf[:n]
		keep, lines := leading(p, count-taken)
		if count == ToEnd {
			keep = n
		}
		if room := r.limit - len(t.Data); keep > room {
			t.Data = append(t.Data, p[:room]...)
			r.cut(t)
			if count != ToEnd {
				t.Left = count - int64(bytes.Count(t.Data, []byte{'\n'}))
			}
			return nil
		}
		t.Data = append(t.Data, p[:keep]...)
		off += int64(keep)
		taken += lines
		switch {
		case keep == n && (err == io.EOF || n == 0):
			t.Whole = t.Offset == 0
			if t.FirstLine > 0 {
				t.Lines = t.FirstLine - 1 + countLines(t.Data)
			}
			return nil
		case taken == count && keep < n:
			if t.FirstLine > 0 {
				r.mark(Mark{t.FirstLine + taken, off}, spacing(t.Size))
			}
			return nil
		}
	}
}

// leading is the length of the first count lines of p, and how many of them end in it.
func leading(p []byte, count int64) (end int, lines int64) {
	for lines < count {
		i := bytes.IndexByte(p[end:], '\n')
		if i < 0 {
			return len(p), lines
		}
		end += i + 1
		lines++
	}
	return end, lines
}

func countLines(p []byte) int64 {
	n := int64(bytes.Count(p, []byte{'\n'}))
	if len(p) > 0 && p[len(p)-1] != '\n' {
		n++
	}
	return n
}

// cut ends Data, which is full, between lines where it can.
func (r *reader) cut(t *Text) {
	t.Truncated = true
	if i := bytes.LastIndexByte(t.Data, '\n'); i >= 0 {
		t.Data = t.Data[:i+1]
		if t.FirstLine > 0 {
			t.NextLine = t.FirstLine + int64(bytes.Count(t.Data, []byte{'\n'}))
		}
		return
	}
	t.Data = t.Data[:text.WholeRunes(t.Data)]
}

func (r *reader) bytes(t *Text, off, count int64) error {
	t.Offset = off
	want := int64(r.limit) + 1
	if count != ToEnd {
		want = min(want, count)
	}
	want = min(want, max(t.Size-off, 0)+int64(r.block)) // a file that grew gives a little more, never what was asked
	data := make([]byte, want)
	n := 0
	var err error
	for n < len(data) && err == nil {
		var m int
		m, err = r.at(data[n:min(len(data), n+r.block)], off+int64(n))
		n += m
	}
	if err != nil && err != io.EOF {
		return err
	}
	t.Data = data[:n]
	switch {
	case n > r.limit:
		t.Data = t.Data[:r.limit]
		r.cut(t)
	case err == nil: // more may follow
		t.Data = t.Data[:text.WholeRunes(t.Data)]
	case off == 0:
		t.Whole = true
	}
	if off > 0 {
		for i := 0; i < utf8.UTFMax-1 && len(t.Data) > 0 && !utf8.RuneStart(t.Data[0]); i++ {
			t.Data, t.Offset = t.Data[1:], t.Offset+1
		}
	}
	return nil
}

// tail reads backwards from end, which is not behind the one the file had when it was opened.
func (r *reader) tail(t *Text, end, count int64) error {
	if count == 0 {
		t.Offset = end
		t.Whole = t.Size == 0
		return nil
	}
	all, asked := end == t.Size, count
	var blocks [][]byte // last first
	held := 0
	pos := end
	start := int64(-1)
	for pos > 0 && start < 0 && held <= r.limit {
		size := min(int64(r.block), pos)
		p := make([]byte, size)
		n, err := r.at(p, pos-size)
		if err != nil && err != io.EOF {
			return err
		}
		if int64(n) < size { // it shrank: begin again from where it ends now
			end, pos, blocks, held = pos-size+int64(n), pos-size+int64(n), nil, 0
			continue
		}
		if err := text.CheckBinary(p, pos-size); err != nil {
			return err
		}
		for i := len(p); ; {
			i = bytes.LastIndexByte(p[:i], '\n')
			if i < 0 {
				break
			}
			at := pos - size + int64(i)
			if at == end-1 {
				continue
			}
			if count--; count == 0 {
				start = at + 1
				break
			}
		}
		pos -= size
		blocks = append(blocks, p)
		held += len(p)
	}
	data := make([]byte, 0, held)
	for i := len(blocks) - 1; i >= 0; i-- {
		data = append(data, blocks[i]...)
	}
	if start < 0 {
		start = pos
	}
	t.Offset = start
	t.Data = data[start-pos:]
	t.Whole = start == 0 && all
	if len(t.Data) > r.limit {
		t.Truncated, t.Front, t.Whole = true, true, false
		over := len(t.Data) - r.limit
		rest, begun := t.Data[over:], int64(0)
		if t.Data[over-1] != '\n' {
			if i := bytes.IndexByte(rest, '\n'); i >= 0 && i+1 < len(rest) {
				rest = rest[i+1:]
			} else {
				for len(rest) > 0 && !utf8.RuneStart(rest[0]) {
					rest = rest[1:]
				}
				begun = 1
			}
		}
		t.Offset += int64(len(t.Data) - len(rest))
		t.Data = rest
		t.Left = asked - countLines(rest) + begun
	}
	return nil
}
