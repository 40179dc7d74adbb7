package match

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is how a file's text is written, as its first bytes say.
type Encoding string

// The encodings.
const (
	Bytes   Encoding = ""         // UTF-8, or anything that is ASCII for the most part
	UTF8BOM Encoding = "utf-8"    // UTF-8 that begins with a byte order mark
	UTF16LE Encoding = "utf-16le" // UTF-16 with a byte order mark
	UTF16BE Encoding = "utf-16be"
)

const rawSize = 32 << 10 // bytes of UTF-16 read at once

// source reads a file as UTF-8.
type source struct {
	r     io.Reader
	left  int64 // bytes until the end that was told, negative if none was
	read  int64 // bytes taken from r
	order binary.ByteOrder
	raw   []byte  // UTF-16 that is not yet decoded
	room  *[]byte // where it is read to, of rawSize
	eof   bool
	err   error
}

// more reads into p, which has room for at least utf8.UTFMax bytes, and reports how many bytes came. After the last it sets eof.
func (s *source) more(p []byte) int {
	if s.order == nil {
		return s.take(p)
	}
	n := 0
	for {
		for n+utf8.UTFMax <= len(p) {
			r, used := s.unit()
			if used == 0 {
				break
			}
			s.raw = s.raw[used:]
			n += utf8.EncodeRune(p[n:], r)
		}
		if n > 0 || s.eof && len(s.raw) == 0 || s.err != nil {
			return n
		}
		s.refill()
	}
}

// unit decodes the next character, used 0 if it is not complete and more may come.
func (s *source) unit() (r rune, used int) {
	switch {
	case len(s.raw) == 1 && s.eof:
		return utf8.RuneError, 1
	case len(s.raw) < 2:
		return 0, 0
	}
	r = rune(s.order.Uint16(s.raw))
	if !utf16.IsSurrogate(r) {
		return r, 2
	}
	if len(s.raw) < 4 {
		if !s.eof {
			return 0, 0
		}
		return utf8.RuneError, 2
	}
	if both := utf16.DecodeRune(r, rune(s.order.Uint16(s.raw[2:]))); both != utf8.RuneError {
		return both, 4
	}
	return utf8.RuneError, 2
}

func (s *source) refill() {
	if *s.room == nil {
		*s.room = make([]byte, rawSize)
	}
	n := copy(*s.room, s.raw) // what is left of a character
	got := s.take((*s.room)[n:])
	s.raw = (*s.room)[:n+got]
}

// take is one read; it never returns 0 bytes before the end.
func (s *source) take(p []byte) int {
	for tries := 0; !s.eof; tries++ {
		if s.left >= 0 && int64(len(p)) > s.left {
			p = p[:s.left]
		}
		n, err := 0, io.EOF
		if len(p) > 0 {
			n, err = s.r.Read(p)
		}
		s.read += int64(n)
		if s.left >= 0 {
			s.left -= int64(n)
		}
		switch {
		case errors.Is(err, io.EOF) || s.left == 0:
			s.eof = true
		case err != nil:
			s.eof, s.err = true, err
		case n == 0 && tries > 100:
			s.eof, s.err = true, io.ErrNoProgress
		}
		if n > 0 {
			return n
		}
	}
	return 0
}

// sniff looks at the first bytes of a file for a byte order mark, and gives its length.
func sniff(p []byte) (Encoding, int) {
	switch {
	case bytes.HasPrefix(p, []byte("\xef\xbb\xbf")):
		return UTF8BOM, 3
	case bytes.HasPrefix(p, []byte("\xff\xfe")):
		return UTF16LE, 2
	case bytes.HasPrefix(p, []byte("\xfe\xff")):
		return UTF16BE, 2
	}
	return Bytes, 0
}
