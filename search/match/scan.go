package match

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"unicode/utf8"

	"github.com/rootbound/rootbound/search/match/automaton"
)

// Sizes of the buffer of one worker, in bytes.
const (
	firstBlock = 64 << 10  // what is looked at to tell a binary file
	maxBuffer  = 256 << 10 // a longer line is searched in parts
	overlap    = 32 << 10  // of two such parts
)

// DefaultMaxLine is how many bytes of a line are given where the options do not say, and MaxContext the most lines around a hit.
const (
	DefaultMaxLine = 1 << 10
	MaxContext     = 100
)

// ScanOptions bound one search.
type ScanOptions struct {
	Context int          // lines before and after each hit, 0 to MaxContext
	MaxHits int          // hits after which the search ends, 0 for no bound
	MaxLine int          // bytes of one line in a hit, 0 for DefaultMaxLine
	Size    int64        // size of the file if it is known: reading ends there, which saves a system call; 0 reads to the end
	Stop    func() error // asked before each block, and oftener where a block takes long; an error ends the search and is returned
}

// Stats tell how a search went.
type Stats struct {
	Binary   bool     // a NUL: in the first 64 KiB the file was skipped, later the search ended there
	Encoding Encoding // from the byte order mark
	Bytes    int64    // read from the file
	Hits     int
	Full     bool // MaxHits ended the search, or hit did: there may be more
	InParts  bool // a line above 256 KiB was searched in parts: a match longer than 32 KiB may be missed or end early
}

// Buffer is the memory of one worker: about 64 KiB, at most 2 MiB. The zero value is ready; it serves one Scan at a time.
type Buffer struct {
	data   []byte
	raw    []byte // of UTF-16
	finder finder
	scan   scan
	on     func(work int) bool // of scan
	sizes  sizes
}

// sizes are those above, or smaller ones in tests.
type sizes struct {
	first, most, overlap int
	bounds               automaton.Bounds
}

// Scan searches what r gives for m and calls hit for each line that matches, in order, until hit returns false. It reads
// in blocks and asks ctx and o.Stop before each, and within one every few milliseconds. Its errors are those of r, ctx and
// o.Stop, as they are.
func Scan(ctx context.Context, r io.Reader, m *Matcher, o ScanOptions, b *Buffer, hit func(Hit) bool) (Stats, error) {
	if o.MaxLine <= 0 {
		o.MaxLine = DefaultMaxLine
	}
	o.Context = min(max(o.Context, 0), MaxContext)
	if b.sizes == (sizes{}) {
		b.sizes = sizes{first: firstBlock, most: maxBuffer, overlap: overlap}
	}
	if b.data == nil {
		b.data = make([]byte, b.sizes.first)
	}
	s := &b.scan // here and not on the stack, since what it is asked must not cost an allocation for each file
	*s = scan{ctx: ctx, m: m, o: o, b: b, hit: hit, line: 1, src: source{r: r, left: -1}}
	if b.on == nil {
		b.on = s.on
	}
	b.finder.use(m, b.sizes, b.on)
	if o.Size > 0 {
		s.src.left = o.Size
	}
	err := s.run()
	st := s.stats
	st.Bytes = s.src.read
	*s = scan{}
	return st, err
}

// scan is the state of one search. Indices are into the buffer.
type scan struct {
	ctx   context.Context
	m     *Matcher
	o     ScanOptions
	b     *Buffer
	src   source
	hit   func(Hit) bool
	stats Stats
	done  bool // no more is wanted
	work  int  // steps since it was asked whether to go on
	err   error

	n    int   // bytes in the buffer
	low  int   // where the text begins that is not yet searched
	base int64 // offset of the buffer's first byte

	line    int // number of the line that holds counted
	counted int

	// A line that does not fit: low is inside of it.
	inLine    bool
	lineStart int64  // offset of its first byte
	skip      bool   // it is a hit already
	head      []byte // its first bytes, if they may be context

	// The last hit, while it waits for lines behind it.
	waiting bool
	last    Hit
	need    int // lines that it still takes
	next    int // where the next one begins
	given   int // up to here lines were given
	full    bool
}

func (s *scan) run() error {
	if err := s.open(); err != nil || s.done {
		return err
	}
	for {
		if s.src.eof && len(s.src.raw) == 0 {
			s.block(s.n, true)
		} else if end := bytes.LastIndexByte(s.b.data[s.low:s.n], '\n'); end >= 0 {
			s.block(s.low+end+1, false)
		} else if s.b.sizes.most-s.n < utf8.UTFMax {
			s.partOfLine(s.n, false)
		}
		if s.err != nil {
			return s.err
		}
		if s.done || s.src.eof && len(s.src.raw) == 0 {
			break
		}
		s.shift()
		if err := s.fill(); err != nil {
			return err
		}
	}
	if s.src.err != nil {
		return s.src.err
	}
	s.flush()
	return nil
}

// open reads the first block, finds the encoding and tells binary files.
func (s *scan) open() error {
	for s.n < s.b.sizes.first && !s.src.eof {
		if err := s.asked(); err != nil {
			return err
		}
		s.n += s.src.take(s.b.data[s.n:s.b.sizes.first])
	}
	enc, mark := sniff(s.b.data[:s.n])
	s.stats.Encoding = enc
	s.low = mark
	if enc == UTF16LE || enc == UTF16BE {
		s.src.order = binary.ByteOrder(binary.LittleEndian)
		if enc == UTF16BE {
			s.src.order = binary.BigEndian
		}
		s.src.room = &s.b.raw
		s.src.raw = bytes.Clone(s.b.data[mark:s.n])
		s.low, s.n = 0, 0
		for s.n+4 <= s.b.sizes.first && !(s.src.eof && len(s.src.raw) == 0) {
			if err := s.asked(); err != nil {
				return err
			}
			s.n += s.src.more(s.b.data[s.n:s.b.sizes.first])
		}
	}
	if s.src.err != nil {
		return s.src.err
	}
	s.counted, s.next, s.given = s.low, s.low, s.low
	if bytes.IndexByte(s.b.data[:s.n], 0) >= 0 {
		s.stats.Binary, s.done = true, true
	}
	return nil
}

func (s *scan) asked() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.o.Stop != nil {
		return s.o.Stop()
	}
	return nil
}

const patience = 1 << 20 // steps, a few milliseconds

// on is told how many steps were taken, and reports whether to go on.
func (s *scan) on(work int) bool {
	if s.work += work; s.work > patience {
		s.work = 0
		s.err = s.asked()
	}
	return s.err == nil
}

// fill reads more behind what the buffer holds.
func (s *scan) fill() error {
	if err := s.asked(); err != nil {
		return err
	}
	if len(s.b.data)-s.n < max(len(s.b.data)/4, utf8.UTFMax) && len(s.b.data) < s.b.sizes.most {
		data := make([]byte, min(2*len(s.b.data), s.b.sizes.most))
		copy(data, s.b.data[:s.n])
		s.b.data = data
	}
	got := s.src.more(s.b.data[s.n:])
	if i := bytes.IndexByte(s.b.data[s.n:s.n+got], 0); i >= 0 {
		s.stats.Binary = true
		s.src.eof, s.src.raw = true, nil
		s.skip = true // the line of the NUL, if it began in an earlier block
		s.n = max(s.low, bytes.LastIndexByte(s.b.data[:s.n+i], '\n')+1)
		return nil
	}
	s.n += got
	return nil
}

// block searches the lines in [low, end).
func (s *scan) block(end int, eof bool) {
	if s.inLine {
		i := bytes.IndexByte(s.b.data[s.low:end], '\n')
		if i < 0 {
			s.partOfLine(end, eof)
			return
		}
		s.partOfLine(s.low+i, true)
		s.low += i + 1
		s.inLine = false
		s.next, s.given = s.low, s.low
	}
	text := s.b.data[:end]
	s.b.finder.begin()
	for s.low < end && !s.done && !s.full && s.err == nil {
		start, stop, spans := s.find(text, s.low)
		if start < 0 {
			break
		}
		s.low = stop + 1
		s.found(text, start, stop, spans)
	}
	s.low = end
	s.after(text, end)
}

// find is the first line at or behind low with a match, start -1 for none.
func (s *scan) find(text []byte, low int) (start, end int, spans []Span) {
	for low < len(text) {
		if start, end = s.b.finder.next(text, low); start < 0 || !s.on((end-start)*s.m.cost) {
			break
		}
		if spans = s.m.spans(text[start:end], whole, nil, s.b.on); len(spans) > 0 {
			return start, end, spans
		}
		low = end + 1
	}
	return -1, 0, nil
}

// number is the number of the line that begins at start.
func (s *scan) number(start int) int {
	s.line += bytes.Count(s.b.data[s.counted:start], []byte{'\n'})
	s.counted = start
	return s.line
}

// partOfLine searches [low, end), which lies within one line that does not fit into the buffer; last tells that it ends the line.
func (s *scan) partOfLine(end int, last bool) {
	text := s.b.data[s.low:end]
	if !s.inLine {
		s.inLine, s.skip = true, s.full
		s.lineStart = s.base + int64(s.low)
		s.head = append(s.head[:0], head(text, s.o.MaxLine, true)...)
	}
	s.stats.InParts = true
	at := int(s.base + int64(s.low) - s.lineStart)
	b := borderAt(whole, at, at+len(text), at+len(text)+1)
	if last {
		b |= atEnd
	}
	if !s.skip && !s.done {
		var spans []Span
		if s.m.exact || s.b.finder.automaton().Accepts(text, b&atBegin != 0) {
			spans = s.m.spans(text, b, nil, s.b.on)
		}
		if len(spans) > 0 {
			s.skip = true
			h := Hit{Line: s.number(s.low), Offset: s.lineStart}
			s.show(&h, text, at, spans)
			h.Cut = true
			s.take(h, s.b.data[:s.low], s.low, end)
		}
	}
	if last {
		if !s.skip && s.waiting && s.need > 0 {
			s.last.After = append(s.last.After, string(s.head))
			if s.need--; s.need == 0 {
				s.flush()
			}
		}
		s.next, s.given = end+1, end+1
		return
	}
	keep := s.b.sizes.overlap
	if s.skip {
		keep = 0
	}
	s.low = max(end-keep, s.low)
	if s.low < end {
		s.low = quiet(s.b.data[:end], s.low, min(s.low+1024, end))
	}
}

// shift moves what is still needed to the front of the buffer.
func (s *scan) shift() {
	keep := s.low
	if s.inLine {
		s.number(s.low)
	} else if s.o.Context > 0 {
		for n := 0; n < s.o.Context && keep > s.given; n++ {
			at := bytes.LastIndexByte(s.b.data[s.given:keep-1], '\n') + 1 + s.given
			if s.low-at > len(s.b.data)/4 {
				break
			}
			keep = at
		}
	}
	if keep == 0 {
		return
	}
	s.number(keep)
	copy(s.b.data, s.b.data[keep:s.n])
	s.n -= keep
	s.low -= keep
	s.base += int64(keep)
	s.counted -= keep
	s.next = max(s.next-keep, 0)
	s.given = max(s.given-keep, 0)
}
