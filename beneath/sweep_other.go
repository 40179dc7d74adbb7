//go:build !linux

package beneath

import (
	"io"
	"os"

	"github.com/rootbound/rootbound"
)

// Directories cannot be kept here when the walk leaves them: files are read where they are met.
const sideBySide = false

func queueLength() int { return maxQueue }

// heldDir is the directory of a run, which the walk holds.
type heldDir struct{ root *os.Root }

func (d heldDir) held() bool { return d.root != nil }

func (d heldDir) release() {}

// begin makes a run for files of the directory n is in.
func (s *sweeper) begin(n *Node) (*Run, error) {
	r := s.fresh()
	r.dir, r.mark = heldDir{n.dir}, n.mark
	r.rel = ""
	if rel := n.Rel(); len(rel) > len(n.Name()) {
		r.rel = rel[:len(rel)-len(n.Name())-1]
	}
	return r, nil
}

// single reads the object itself, which is a file.
func (s *sweeper) single() error {
	r := s.fresh()
	r.names, r.first = append(r.names, ""), true
	if err := s.number(r); err != nil {
		return err
	}
	s.work(0, r)
	return s.why()
}

// Swept is a regular file of a run, open until the run's next Open.
type Swept struct {
	s    *sweeper
	f    *os.File
	own  bool
	off  int64
	info Info
}

// Size is the file's size when it was opened.
func (f *Swept) Size() int64 { return f.info.Size }

// Read reads on and on, like io.Reader. It fails as soon as the sweep ends.
func (f *Swept) Read(p []byte) (int, error) {
	if err := f.s.asked(); err != nil {
		return 0, err
	}
	n, err := f.f.ReadAt(p, f.off)
	f.off += int64(n)
	if n > 0 || err == io.EOF {
		if n > 0 {
			err = nil
		}
		return n, err
	}
	return 0, fail(err)
}

func (f *Swept) close() {
	if f.own {
		f.f.Close()
	}
	*f = Swept{}
}

// Open opens file number i. What is not a regular file any more is refused like in Set.Open.
func (r *Run) Open(i int) (*Swept, error) {
	r.file.close()
	s := r.s
	if err := s.asked(); err != nil {
		return nil, err
	}
	f, own := s.o.f, false
	if r.dir.held() {
		fi, err := r.dir.root.Lstat(r.names[i])
		if err != nil {
			return nil, fail(err)
		}
		o, err := s.o.set.open(r.dir.root, r.names[i], fi, Ref{s.o.at.Root, join(s.o.at.Path, r.Rel(i))}, r.mark, File, s.o.passed)
		if err != nil {
			return nil, err
		}
		f, own = o.f, true
	}
	info, err := infoOfFile(f)
	if err == nil && !info.Mode.IsRegular() {
		err = refuse(rootbound.SpecialFile, "", nil)
	}
	if err == nil && s.May != nil {
		err = s.May(r.mark, info)
	}
	if err != nil {
		if own {
			f.Close()
		}
		return nil, fail(err)
	}
	r.file = Swept{s: s, f: f, own: own, info: info}
	return &r.file, nil
}

// Inside is not known here: os.Root keeps what was moved out.
func (r *Run) Inside() error { return nil }
