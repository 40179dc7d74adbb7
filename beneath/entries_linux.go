package beneath

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// dirent is a name: part off>>partBits, from there on.
type dirent struct {
	off  uint32
	len  uint16
	kind uint8 // DT_*
}

// partBits: a part holds the names of one getdents64(2).
const partBits = 15

// maxParts bounds the bytes of the names of one directory: 1 GiB.
const maxParts = 1 << 15

// reader reads the entries of directories, one after the other. One goroutine at a time.
type reader struct {
	ctx   context.Context
	buf   []byte
	part  []byte
	spare []dirent // of the directory before
}

func newReader(ctx context.Context) reader { return reader{ctx: ctx, buf: make([]byte, 1<<partBits)} }

// read reads what is left of a directory and sorts it all, unless more, asked before each part with the bytes that were
// taken last, wants no more; nil wants all.
func (r *reader) read(l *listing, after string, more func() bool) (whole bool, err error) {
	for {
		if err := ended(r.ctx); err != nil {
			return false, err
		}
		if more != nil && !more() {
			return false, nil
		}
		n, err := unix.Getdents(l.fd, r.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false, fail(err)
		}
		if n == 0 {
			err := r.sort(l)
			return err == nil, err
		}
		part := r.part[:0]
		for b := r.buf[:n]; len(b) > 0; {
			size := binary.NativeEndian.Uint16(b[16:])
			kind := b[18]
			name := b[19:size]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			b = b[size:]
			if string(name) == "." || string(name) == ".." || string(name) <= after {
				continue
			}
			l.sorted = append(l.sorted, dirent{uint32(len(l.names)<<partBits | len(part)), uint16(len(name)), kind})
			part = append(part, name...)
		}
		if r.part = part; len(part) == 0 {
			continue
		}
		if len(l.names) == maxParts {
			return false, refuse(rootbound.LimitReached, "names", nil)
		}
		l.names = append(l.names, string(part))
	}
}

// sort puts the names in byte order. An end of the context makes all of them equal, so that it ends at once.
func (r *reader) sort(l *listing) error {
	var err error
	compared := 0
	slices.SortFunc(l.sorted, func(a, b dirent) int {
		if compared++; compared%4096 == 0 && err == nil {
			err = ended(r.ctx)
		}
		if err != nil {
			return 0
		}
		return strings.Compare(l.nameOf(&a), l.nameOf(&b))
	})
	return err
}
