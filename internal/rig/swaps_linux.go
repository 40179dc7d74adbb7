package rig

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// Swaps exchange names in a directory over and over, by a goroutine of their own.
type Swaps struct {
	done atomic.Int64
	seen int64
	stop func()
}

// Swap begins to exchange the first name of each list with the others of it, in an order that is the same in every run: of
// the first list in each round, of the second in every other one, and so on, so that they meet in every combination. A name
// that is missing is passed over.
func Swap(tb testing.TB, dir string, lists ...[]string) *Swaps {
	tb.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	s := &Swaps{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		r := rand.New(rand.NewPCG(1, 1))
		for n := 0; ctx.Err() == nil; n++ {
			for i, l := range lists {
				if n%(i+1) == 0 && unix.Renameat2(fd, l[0], fd, l[1+r.IntN(len(l)-1)], unix.RENAME_EXCHANGE) == nil {
					s.done.Add(1)
				}
			}
		}
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		unix.Close(fd)
	})
	tb.Cleanup(s.stop)
	return s
}

// Count is how many exchanges there were.
func (s *Swaps) Count() int64 { return s.done.Load() }

// Await waits until something was exchanged since it was called last: a busy machine may leave the exchanges no time. Not
// safe for concurrent use.
func (s *Swaps) Await() {
	for s.done.Load() == s.seen {
		runtime.Gosched()
	}
	s.seen = s.done.Load()
}

// Stop ends the exchanges and waits for the last one; the names stay as it left them. The end of the test stops them too.
func (s *Swaps) Stop() { s.stop() }

// Inventory is all that lies at and below the places: names, identities, times and contents, so that no change is missed.
func Inventory(tb testing.TB, places ...string) string {
	tb.Helper()
	var b strings.Builder
	for _, top := range places {
		err := filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			var st unix.Stat_t
			if err := unix.Lstat(p, &st); err != nil {
				return err
			}
			var text []byte
			if e.Type().IsRegular() {
				if text, err = os.ReadFile(p); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintln(&b, p, st.Mode, st.Ino, st.Nlink, st.Mtim, st.Ctim, string(text))
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return b.String()
}
