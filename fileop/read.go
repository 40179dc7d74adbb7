package fileop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
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

// Bytes is count bytes from offset, counted from 0; characters cut at its ends are left out.
func Bytes(offset, count int64) Part { return Part{kind: byteRange, first: offset, count: count} }

func (p Part) check() error {
	bad := func(what string) error {
		return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: what}
	}
	switch {
	case (p.kind == headLines || p.kind == tailLines) && p.count < 0:
		return bad("a number of lines is 0 or more")
	case p.kind == lineRange && p.first < 1:
		return bad("lines are counted from 1")
	case p.kind == byteRange && p.first < 0:
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

	Truncated bool  // the limit cut what was asked for; go on at NextLine, or at NextByte where NextLine is 0
	NextLine  int64 // first line that is not in Data; 0 if the cut is within a line, or in front (Tail)
	NextByte  int64 // offset behind Data
}

// ReadText reads part of src, at most limit bytes (0: DefaultText). A cut falls between lines where it can, else between
// characters. info is what was known when src was opened. Memory is bounded by limit, whatever is asked for; a file that
// grows while it is read ends at the limit.
//
// Errors: argument_invalid, not_text (Detail says what was detected), cancelled, io_error, and those of src.
func ReadText(ctx context.Context, src io.ReaderAt, info beneath.Info, part Part, limit int) (Text, error) {
	if err := part.check(); err != nil {
		return Text{}, err
	}
	if limit <= 0 {
		limit = DefaultText
	}
	r := &reader{ctx: ctx, src: src, limit: limit}
	t := Text{Size: info.Size}
	var err error
	switch part.kind {
	case tailLines:
		err = r.tail(&t, part.count)
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
	if err := isText(t.Data, t.Offset); err != nil {
		return Text{}, err
	}
	if t.Offset > 0 {
		// a mark at the front tells the encoding of what lies behind it
		var mark [4]byte
		n, err := r.at(mark[:], 0)
		if err != nil && err != io.EOF {
			return Text{}, err
		}
		if e := marked(mark[:n]); e != "" {
			return Text{}, notText(e)
		}
	}
	t.Version = info.Version()
	if !t.Whole {
		t.Version = PartialVersion(t.Version)
	}
	t.NextByte = t.Offset + int64(len(t.Data))
	return t, nil
}

type reader struct {
	ctx   context.Context
	src   io.ReaderAt
	limit int
}

// at fills p; io.EOF comes with what was there. Other errors are ready for the caller.
func (r *reader) at(p []byte, off int64) (int, error) {
	if err := cancelled(r.ctx); err != nil {
		return 0, err
	}
	n, err := r.src.ReadAt(p, off)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, failed(err)
}

// lines skips to line first and takes count lines.
func (r *reader) lines(t *Text, first, count int64) error {
	t.FirstLine = first
	buf := make([]byte, min(int64(block), max(t.Size+1, 512)))
	var off, line int64 = 0, 1 // position, and number of the line it is in
	if count == 0 {
		n, err := r.at(buf[:1], 0)
		t.Whole = n == 0 && err == io.EOF
		return err2(err)
	}
	var taken int64
	for eof := false; !eof; {
		n, err := r.at(buf, off)
		if err != nil && err != io.EOF {
			return err
		}
		eof = err == io.EOF || n == 0
		p := buf[:n]
		if line < first {
			if off == 0 {
				if e := marked(p); e != "" {
					return notText(e)
				}
			}
			if err := binary(p, off); err != nil {
				return err
			}
			skip := 0
			for line < first && skip < n {
				i := bytes.IndexByte(p[skip:], '\n')
				if i < 0 {
					skip = n
					break
				}
				skip += i + 1
				line++
			}
			off += int64(skip)
			p = p[skip:]
			if line < first {
				continue
			}
			if len(p) == 0 {
				t.Offset = off
				continue
			}
			t.Offset = off
		}
		keep := len(p)
		if count != ToEnd {
			keep = 0
			for taken < count && keep < len(p) {
				i := bytes.IndexByte(p[keep:], '\n')
				if i < 0 {
					keep = len(p)
					break
				}
				keep += i + 1
				taken++
			}
		}
		if room := r.limit - len(t.Data); keep > room {
			t.Data = append(t.Data, p[:room]...)
			r.cut(t)
			return nil
		}
		if t.Data == nil && n > 0 {
			t.Data = make([]byte, 0, min(int64(r.limit), max(t.Size-off, int64(keep))))
		}
		t.Data = append(t.Data, p[:keep]...)
		off += int64(keep)
		if count != ToEnd && taken == count && keep <= len(p) {
			if keep < len(p) {
				return nil
			}
			n, err := r.at(buf[:1], off)
			t.Whole = t.Offset == 0 && n == 0 && err == io.EOF
			return err2(err)
		}
	}
	if line < first {
		t.Offset = off
	}
	t.Whole = t.Offset == 0 && first == 1
	return nil
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
	t.Data = t.Data[:wholeRunes(t.Data)]
}

func (r *reader) bytes(t *Text, off, count int64) error {
	t.Offset = off
	want := int64(r.limit) + 1
	if count != ToEnd {
		want = min(want, count)
	}
	want = min(want, max(t.Size-off, 0)+block) // a file that grew gives a little more, never what was asked
	data := make([]byte, want)
	n := 0
	var err error
	for n < len(data) && err == nil {
		var m int
		m, err = r.at(data[n:min(len(data), n+block)], off+int64(n))
		n += m
	}
	if err != nil && err != io.EOF {
		return err
	}
	t.Data = data[:n]
	switch {
	case n > r.limit:
		t.Data = t.Data[:r.limit]
		t.Data = t.Data[:wholeRunes(t.Data)]
		t.Truncated = true
	case err == nil: // more may follow
		t.Data = t.Data[:wholeRunes(t.Data)]
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

// tail reads backwards from the end the file had when it was opened.
func (r *reader) tail(t *Text, count int64) error {
	end := t.Size
	if count == 0 {
		t.Offset = end
		t.Whole = end == 0
		return nil
	}
	var blocks [][]byte // last first
	held := 0
	pos := end
	start := int64(-1)
	for pos > 0 && start < 0 && held <= r.limit {
		size := min(int64(block), pos)
		p := make([]byte, size)
		n, err := r.at(p, pos-size)
		if err != nil && err != io.EOF {
			return err
		}
		if int64(n) < size { // it shrank: begin again from where it ends now
			end, pos, blocks, held = pos-size+int64(n), pos-size+int64(n), nil, 0
			continue
		}
		if err := binary(p, pos-size); err != nil {
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
	t.Whole = start == 0
	if len(t.Data) > r.limit {
		t.Truncated, t.Whole = true, false
		over := len(t.Data) - r.limit
		rest := t.Data[over:]
		if t.Data[over-1] != '\n' {
			if i := bytes.IndexByte(rest, '\n'); i >= 0 && i+1 < len(rest) {
				rest = rest[i+1:]
			} else {
				for len(rest) > 0 && !utf8.RuneStart(rest[0]) {
					rest = rest[1:]
				}
			}
		}
		t.Offset += int64(len(t.Data) - len(rest))
		t.Data = rest
	}
	return nil
}

func err2(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &rootbound.Error{Reason: rootbound.Cancelled, Err: context.Cause(ctx)}
	}
	return nil
}

// failed makes an error of the operating system one for the caller; refusals pass as they are.
func failed(err error) error {
	var e *rootbound.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &rootbound.Error{Reason: rootbound.IOError, Err: err}
}

func tooLarge(size, limit int64) error {
	return &rootbound.Error{Reason: rootbound.TooLarge, Detail: fmt.Sprintf("%d bytes, the limit is %d", size, limit)}
}
