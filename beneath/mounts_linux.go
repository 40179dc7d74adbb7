package beneath

import (
	"strings"
	"sync/atomic"

	"github.com/rootbound/rootbound"
	"golang.org/x/sys/unix"
)

// Mounts tells where mounts of this process appear and go, of which inotify(7) says nothing: proc(5), /proc/pid/mountinfo.
// Next is called by one goroutine at a time; Close is safe beside it.
type Mounts struct {
	info *handle
	wake *handle // an eventfd
	shut atomic.Bool
	seen map[string]string // where, by what tells one mount from another
}

// NewMounts begins to follow the mounts. io_error, Detail "no /proc", where the system does not show them.
func NewMounts() (*Mounts, error) {
	info, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, refuse(rootbound.IOError, "no /proc", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(info)
		return nil, fail(err)
	}
	m := &Mounts{info: newHandle(info), wake: newHandle(wake)}
	if m.seen, err = m.read(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Close ends Next. A second Close does nothing.
func (m *Mounts) Close() {
	if !m.shut.Swap(true) {
		_, _ = unix.Write(m.wake.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		m.info.drop()
		m.wake.drop()
	}
}

// Next waits until mounts appear, go or move, and tells their absolute paths. An error means that no more will be told.
func (m *Mounts) Next() (changed []string, err error) {
	if !m.info.hold() {
		return nil, released()
	}
	defer m.info.drop()
	if !m.wake.hold() {
		return nil, released()
	}
	defer m.wake.drop()
	for len(changed) == 0 {
		fds := []unix.PollFd{{Fd: int32(m.info.fd), Events: unix.POLLPRI}, {Fd: int32(m.wake.fd), Events: unix.POLLIN}}
		switch _, err := unix.Poll(fds, -1); {
		case m.shut.Load():
			return nil, released()
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, fail(err)
		}
		now, err := m.read()
		if err != nil {
			return nil, err
		}
		for id, at := range now {
			if m.seen[id] != at {
				changed = append(changed, at)
			}
		}
		for id, at := range m.seen {
			if now[id] != at {
				changed = append(changed, at)
			}
		}
		m.seen = now
	}
	return changed, nil
}

func (m *Mounts) read() (map[string]string, error) {
	var all []byte
	for buf := make([]byte, 64<<10); ; {
		n, err := unix.Pread(m.info.fd, buf, int64(len(all)))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, fail(err)
		case n == 0:
			return mountsOf(string(all)), nil
		default:
			all = append(all, buf[:n]...)
		}
	}
}

// mountsOf reads lines of mountinfo: id, parent, device, what of it is mounted, where, and what is of no interest here.
func mountsOf(lines string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(lines) {
		if f := strings.SplitN(line, " ", 6); len(f) == 6 {
			all[strings.Join(f[:4], " ")] = unescaped(f[4])
		}
	}
	return all
}

// unescaped undoes the \ooo of a path in mountinfo.
func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if o := s[i:]; len(o) > 3 && o[0] == '\\' && o[1] <= '3' && octal(o[1]) && octal(o[2]) && octal(o[3]) {
			b = append(b, (o[1]-'0')<<6|(o[2]-'0')<<3|(o[3]-'0'))
			i += 3
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

func octal(c byte) bool { return '0' <= c && c <= '7' }
