//go:build linux

package cases

import (
	"os"

	"golang.org/x/sys/unix"
)

// onOpen performs a step each time p is opened, until stop is called.
func (r *run) onOpen(p string, s step) (stop func(), err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if _, err := unix.InotifyAddWatch(fd, p, unix.IN_OPEN); err != nil {
		unix.Close(fd)
		return nil, err
	}
	f, done, times := os.NewFile(uintptr(fd), "inotify"), make(chan struct{}), 0
	go func() {
		defer close(done)
		for b := make([]byte, 4096); ; {
			if n, err := f.Read(b); n <= 0 || err != nil {
				return
			}
			if r.do(s) == nil {
				times++
			}
		}
	}()
	return func() {
		f.Close()
		<-done
		if times%2 == 1 {
			r.do(s)
		}
	}, nil
}
