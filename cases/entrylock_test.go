//go:build linux

package cases

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// holdEntry plays the second process that is changing an entry: it holds every entry's lock until release is called.
func (w *world) holdEntry() (release func()) {
	w.t.Helper()
	f, err := os.OpenFile(w.state+"/state/rootbound/locks", os.O_RDWR, 0)
	if err != nil {
		w.t.Fatalf("the server keeps no entry locks: %v", err)
	}
	w.after(func() { f.Close() })
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLKW, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		w.t.Fatal(err)
	}
	return func() { f.Close() }
}

// untilWaiting returns when the traced server has been refused a lock more than once since it was armed.
func (p *product) untilWaiting(w *world) {
	for range 2400 { // a minute
		fmt.Fprintln(p.in, "log")
		tries := 0
		for {
			line, err := p.out.ReadString('\n')
			if err != nil {
				w.t.Fatal(err)
			}
			if line = strings.TrimSpace(line); line == "." {
				break
			} else if line == "lock" {
				tries++
			}
		}
		if tries > 2 {
			return
		}
		wait(25 * time.Millisecond)
	}
	w.t.Fatal("nobody waits for the entry's lock")
}
