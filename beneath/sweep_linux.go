package beneath

import (
	"io"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

const sideBySide = true

// queueLength bounds the directories that wait for a worker, so that sweeps leave descriptors to others.
func queueLength() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return maxQueue
	}
	return int(min(max(l.Cur/32, 2*MaxWorkers), maxQueue))
}

// heldDir is a reference to the directory of a run.
type heldDir struct {
	h  *handle
	id ObjectID
}

func (d heldDir) held() bool { return d.h != nil }

func (d heldDir) release() {
	if d.h != nil {
		d.h.drop()
	}
}

// share makes a level's descriptor one that runs may keep when the walk has left it.
func (l *listing) share() (*handle, error) {
	if l.fd < 0 {
		return nil, released()
	}
	if l.h == nil {
		l.h = newHandle(l.fd)
	}
	l.h.hold()
	return l.h, nil
}

func (l *listing) close() {
	switch {
	case l.h != nil:
		l.h.drop()
	case l.fd >= 0:
		unix.Close(l.fd)
	}
	l.fd, l.h = -1, nil
}

// begin makes a run for files of the directory n is in.
func (s *sweeper) begin(n *Node) (*Run, error) {
	h, err := n.level.share()
	if err != nil {
		return nil, err
	}
	r := s.fresh()
	r.dir, r.mark = heldDir{h, n.level.id}, n.level.mark
	r.rel = below(s.o.at.Path, string(n.t.path[:n.level.cut]))
	return r, nil
}

// single reads the object itself, which is a file.
func (s *sweeper) single() error {
	if err := s.o.hold(); err != nil {
		return err
	}
	defer s.o.h.drop()
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
	fd   int
	own  bool // fd is closed with the file
	off  int64
	info Info
}

// Size is the file's size when it was opened.
func (f *Swept) Size() int64 { return f.info.Size }

// Read reads on and on, like io.Reader. It fails as soon as the sweep ends.
func (f *Swept) Read(p []byte) (int, error) {
	for {
		if err := f.s.asked(); err != nil {
			return 0, err
		}
		n, err := unix.Pread(f.fd, p, f.off)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, fail(err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		f.off += int64(n)
		return n, nil
	}
}

func (f *Swept) close() {
	if f.own {
		unix.Close(f.fd)
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
	if !r.dir.held() {
		return r.top()
	}
	fd, err := openAt(r.dir.h.fd, r.names[i], asRead, 0)
	if err != nil {
		return nil, fail(err)
	}
	r.file = Swept{s: s, fd: fd, own: true}
	if err := r.check(); err != nil {
		r.file.close()
		return nil, fail(err)
	}
	return &r.file, nil
}

// top is the object that is swept.
func (r *Run) top() (*Swept, error) {
	o := r.s.o
	info, err := statFd(o.h.fd)
	if err != nil {
		return nil, fail(err)
	}
	if r.s.May != nil {
		if err := r.s.May(o.mark, info); err != nil {
			return nil, err
		}
	}
	r.file = Swept{s: r.s, fd: o.h.fd, info: info}
	return &r.file, nil
}

// check judges what was opened. What shares the device of its directory, which was checked, is on the same file system.
func (r *Run) check() error {
	f, set, root := &r.file, r.s.o.set, r.s.o.at.Root
	var err error
	if set.members[root].denyMounts {
		f.info, err = statFd(f.fd)
	} else {
		err = f.look()
	}
	if err != nil {
		return err
	}
	if !f.info.Mode.IsRegular() || f.info.ID.Dev != r.dir.id.Dev {
		if _, err := set.checkKind(root, f.fd, f.info, Handle); err != nil {
			return err
		}
		if !f.info.Mode.IsRegular() {
			return refuse(rootbound.IsADirectory, "", nil)
		}
	}
	if err := set.mayCross(root, r.dir.id, f.info.ID); err != nil {
		return err
	}
	if r.s.May != nil {
		return r.s.May(r.mark, f.info)
	}
	return nil
}

// look is statFd for what a sweep needs to know, at half the price: no times, no mount.
func (f *Swept) look() error {
	var st unix.Stat_t
	for {
		err := unix.Fstat(f.fd, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		f.info.ID = ObjectID{Dev: uint64(st.Dev), Ino: st.Ino}
		f.info.Mode, f.info.Size, f.info.Links = modeOf(st.Mode), st.Size, uint64(st.Nlink)
		return nil
	}
}

// Inside climbs from the directory of the run to the root by identity: moved_out if it left the root meanwhile.
func (r *Run) Inside() error {
	if !r.dir.held() {
		return nil
	}
	return r.s.o.set.inside(r.s.o.at.Root, r.dir.h.fd)
}
