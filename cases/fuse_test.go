//go:build linux

package cases

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Requests of the FUSE protocol that are answered here (include/uapi/linux/fuse.h).
const (
	fuseLookup     = 1
	fuseForget     = 2
	fuseGetattr    = 3
	fuseOpen       = 14
	fuseRead       = 15
	fuseStatfs     = 17
	fuseRelease    = 18
	fuseInit       = 26
	fuseOpendir    = 27
	fuseReaddir    = 28
	fuseReleasedir = 29
	fuseInterrupt  = 36
	fuseDestroy    = 38
	fuseManyForget = 42
)

// fuseNode is a file, or a directory if text is nil.
type fuseNode struct {
	name   string
	parent uint64
	text   []byte
	lost   bool // listed without its type, and cannot be looked at
}

// fuseTree serves a few nodes, numbered from 1, and holds some requests back until it is told to answer.
type fuseTree struct {
	dev   int
	nodes []fuseNode
	holds func(op uint32, node uint64) bool

	Held   chan struct{} // closed when a request is held back for the first time
	Freed  chan struct{} // closed by whoever lets all answers go
	gone   chan struct{} // closed when it is unmounted: nobody waits for answers any more
	once   sync.Once
	mu     sync.Mutex
	opened int
	quiet  chan struct{} // closed and replaced whenever nothing is open any more
}

// mountFUSE mounts the tree at dir in the test's own namespace.
func (w *world) mountFUSE(dir string, nodes []fuseNode, holds func(op uint32, node uint64) bool) (*fuseTree, error) {
	if !mounts() {
		return nil, errNoEffect{"no private mount namespace"}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	dev, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errNoEffect{"/dev/fuse cannot be opened"}
	}
	if err := unix.Mount("none", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dev)); err != nil {
		unix.Close(dev)
		return nil, errNoEffect{"FUSE cannot be mounted: " + err.Error()}
	}
	f := &fuseTree{dev: dev, nodes: nodes, holds: holds, Held: make(chan struct{}), Freed: make(chan struct{}), gone: make(chan struct{}), quiet: make(chan struct{})}
	var served sync.WaitGroup
	served.Go(func() { f.serve(w.t, &served) })
	w.after(func() {
		// It ends the connection, and with it every call that waits and the reading of them.
		if err := unix.Unmount(dir, unix.MNT_DETACH|unix.MNT_FORCE); err != nil {
			w.t.Errorf("FUSE is not unmounted: %v", err)
			return
		}
		close(f.gone)
		served.Wait()
		unix.Close(dev) // not before: the number would be another file's, of another test, while it is read and written
	})
	return f, nil
}

func (f *fuseTree) serve(t *testing.T, all *sync.WaitGroup) {
	for {
		in := make([]byte, 1<<17)
		n, err := unix.Read(f.dev, in)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil: // unmounted
			return
		}
		in = in[:n]
		op, node := binary.LittleEndian.Uint32(in[4:]), binary.LittleEndian.Uint64(in[16:])
		if !f.holds(op, node) {
			f.answer(t, op, node, in)
			continue
		}
		f.once.Do(func() { close(f.Held) })
		all.Go(func() {
			select {
			case <-f.Freed:
			case <-f.gone:
				return
			}
			f.answer(t, op, node, in)
		})
	}
}

func (f *fuseTree) answer(t *testing.T, op uint32, node uint64, in []byte) {
	body, errno := f.reply(op, node, in[40:])
	switch op {
	case fuseForget, fuseManyForget, fuseInterrupt:
		return
	}
	out := make([]byte, 16, 16+len(body))
	if errno == 0 {
		out = append(out, body...)
	}
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	binary.LittleEndian.PutUint32(out[4:], uint32(-int32(errno)))
	copy(out[8:16], in[8:16])
	// ENOENT: nobody waits for the answer any more.
	if _, err := unix.Write(f.dev, out); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENODEV) {
		t.Errorf("FUSE answer to request %d: %v", op, err)
	}
}

func (f *fuseTree) reply(op uint32, node uint64, in []byte) ([]byte, unix.Errno) {
	le := binary.LittleEndian
	switch op {
	case fuseInit:
		b := make([]byte, 64)
		le.PutUint32(b, 7)
		le.PutUint32(b[4:], 31)
		le.PutUint32(b[20:], 1<<16) // largest write
		return b, 0
	case fuseLookup:
		for i, n := range f.nodes {
			if n.parent == node && n.name+"\x00" == string(in) {
				if n.lost {
					return nil, unix.EIO
				}
				b := make([]byte, 40)
				le.PutUint64(b, uint64(i+1))
				return append(b, f.attr(uint64(i+1))...), 0
			}
		}
		return nil, unix.ENOENT
	case fuseGetattr:
		return append(make([]byte, 16), f.attr(node)...), 0
	case fuseOpen, fuseOpendir:
		f.count(1)
		return make([]byte, 16), 0
	case fuseRelease, fuseReleasedir:
		f.count(-1)
		return nil, 0
	case fuseRead:
		at, size := le.Uint64(in[8:]), le.Uint32(in[16:])
		text := f.nodes[node-1].text
		text = text[min(at, uint64(len(text))):]
		return text[:min(int(size), len(text))], 0
	case fuseReaddir:
		return f.entries(node, le.Uint64(in[8:])), 0
	case fuseStatfs:
		return make([]byte, 80), 0
	case fuseDestroy:
		return nil, 0
	}
	return nil, unix.ENOSYS
}

func (f *fuseTree) attr(node uint64) []byte {
	b := make([]byte, 88)
	le := binary.LittleEndian
	n := f.nodes[node-1]
	le.PutUint64(b, node)
	le.PutUint64(b[8:], uint64(len(n.text)))
	mode := uint32(unix.S_IFREG | 0o644)
	if n.text == nil {
		mode = unix.S_IFDIR | 0o755
	}
	le.PutUint32(b[60:], mode)
	le.PutUint32(b[64:], 1) // links
	le.PutUint32(b[80:], 4096)
	return b
}

// entries are those of a directory behind number after.
func (f *fuseTree) entries(dir, after uint64) (b []byte) {
	le := binary.LittleEndian
	for i, n := range f.nodes {
		if n.parent != dir || uint64(i+1) <= after {
			continue
		}
		e := make([]byte, 24)
		le.PutUint64(e, uint64(i+1))
		le.PutUint64(e[8:], uint64(i+1))
		le.PutUint32(e[16:], uint32(len(n.name)))
		kind := uint32(unix.DT_REG)
		if n.text == nil {
			kind = unix.DT_DIR
		}
		if n.lost {
			kind = unix.DT_UNKNOWN
		}
		le.PutUint32(e[20:], kind)
		e = append(e, n.name...)
		for len(e)%8 != 0 {
			e = append(e, 0)
		}
		b = append(b, e...)
	}
	return b
}

func (f *fuseTree) count(by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened += by; f.opened == 0 {
		close(f.quiet)
		f.quiet = make(chan struct{})
	}
}

// open tells how many files and directories are open, and gives a channel that is closed when none is any more.
func (f *fuseTree) open() (int, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened, f.quiet
}
