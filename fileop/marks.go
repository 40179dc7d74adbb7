package fileop

import (
	"bytes"
	"cmp"
	"io"
	"slices"

	"github.com/rootbound/rootbound/fileop/text"
)

// Mark is the place in one version of a file where a line begins: line Line, counted from 1, at byte Offset. All that is
// before it was looked at and is text.
type Mark struct{ Line, Offset int64 }

// markEvery is the least distance of two marks, in bytes; a file has at most maxMarks of those that are set on the way.
const (
	markEvery = 256 << 10
	maxMarks  = 4096
)

func spacing(size int64) int64 { return max(markEvery, size/maxMarks) }

// before is the last mark known that is not behind a line.
func (r *reader) before(line int64) Mark {
	i, found := slices.BinarySearchFunc(r.known, line, func(m Mark, line int64) int { return cmp.Compare(m.Line, line) })
	if found {
		return r.known[i]
	}
	if i == 0 {
		return Mark{Line: 1}
	}
	return r.known[i-1]
}

// mark remembers m unless a mark is less than near bytes before it.
func (r *reader) mark(m Mark, near int64) {
	last := r.before(m.Line)
	if n := len(r.found); n > 0 && r.found[n-1].Line > last.Line {
		last = r.found[n-1]
	}
	if m.Offset-last.Offset >= near {
		r.found = append(r.found, m)
	}
}

// begun is m if a line begins there, else the first line: a program that writes through a memory mapping can move lines
// without another version of the file.
func (r *reader) begun(m Mark) (Mark, error) {
	if m.Offset == 0 {
		return m, nil
	}
	var end [1]byte
	n, err := r.at(end[:], m.Offset-1)
	switch {
	case err != nil && err != io.EOF:
		return m, err
	case n == 1 && end[0] == '\n':
		return m, nil
	}
	r.known = nil
	return Mark{Line: 1}, nil
}

// skip finds where the line after count lines begins, or where the file ends before, and sets marks on the way. What is
// skipped must be text too: it is where a file that has no lines at all is found out.
func (r *reader) skip(buf []byte, count, every int64) (off, skipped int64, err error) {
	from, err := r.begun(r.before(count + 1))
	if err != nil {
		return 0, 0, err
	}
	off, skipped = from.Offset, from.Line-1
	open := false // bytes behind the last newline
	for skipped < count {
		n, err := r.at(buf, off)
		if err != nil && err != io.EOF {
			return 0, 0, err
		}
		if off == 0 {
			if err := text.CheckMark(buf[:n]); err != nil {
				return 0, 0, err
			}
		}
		if err := text.CheckBinary(buf[:n], off); err != nil {
			return 0, 0, err
		}
		end, lines := leading(buf[:n], count-skipped)
		off += int64(end)
		skipped += lines
		if end > 0 {
			open = buf[end-1] != '\n'
		}
		if i := bytes.LastIndexByte(buf[:end], '\n'); i >= 0 {
			r.mark(Mark{skipped + 1, off - int64(end-i-1)}, every)
		}
		if end == n && (err == io.EOF || n == 0) {
			if open {
				skipped++
			}
			return off, skipped, nil
		}
	}
	return off, skipped, nil
}
