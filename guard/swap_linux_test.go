package guard_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"golang.org/x/sys/unix"
)

// swapping exchanges x and y in a directory, each over and over, until stop is called, which leaves them as they were.
func swapping(t *testing.T, dir string, pairs ...[2]string) (swaps *atomic.Int64, stop func()) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	swaps = &atomic.Int64{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		away := make([]bool, len(pairs))
		flip := func(i int) {
			if unix.Renameat2(fd, pairs[i][0], fd, pairs[i][1], unix.RENAME_EXCHANGE) == nil {
				away[i] = !away[i]
				swaps.Add(1)
			}
		}
		for n := 0; ctx.Err() == nil; n++ {
			for i := range pairs {
				if n%(i+1) == 0 {
					flip(i)
				}
			}
		}
		for i := range pairs {
			if away[i] {
				flip(i)
			}
		}
	}()
	return swaps, sync.OnceFunc(func() {
		cancel()
		<-done
		unix.Close(fd)
	})
}

// While directories inside a tree are exchanged with links to outside, and the tree's own parent too, the tree is deleted
// and copied over and over: nothing outside is removed, read or made.
func TestSwapsInsideATreeLeadNowhere(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.Full))
	fill := func(top, text string) {
		for _, f := range []string{"f", "s/f", "s/u/f", "s/u/v/f", "z"} {
			h.file(top+"/"+f, text)
		}
	}
	fill("out", "OUTSIDE")
	fill("out/t", "OUTSIDE")
	h.mkdirs("p/d")
	h.link("p/evil", "../out")
	h.link("p/d/evil", "../../out")
	before := outside(t, h.dir+"/out")
	calls, ok := 0, 0
	swaps, stop := swapping(t, h.dir+"/p", [2]string{"d", "evil"})
	defer stop()
	rounds := 20
	if os.Getenv("RB_LONG") != "" {
		rounds = 5000
	}
	var inner int64
	var seen int64
	// moved waits until attackers have exchanged something since it was called last: a busy machine may leave them no time.
	moved := func(swaps *atomic.Int64, since *int64) {
		for swaps.Load() == *since {
			runtime.Gosched()
		}
		*since = swaps.Load()
	}
	for n := 0; n < rounds || ok < rounds*3/10 || ok == calls; n++ { // how many succeed depends on the machine
		top := fmt.Sprintf("t%d", n)
		fill("p/work/"+top, "inside")
		h.link("p/work/"+top+"/evil", h.dir+"/out")
		h.link("p/work/"+top+"/s/evil", "../../../../out/s")
		more, halt := swapping(t, h.dir+"/p/work/"+top, [2]string{"s", "evil"}, [2]string{"f", "z"})
		var seenMore int64
		for i, r := range []guard.Request{
			{Op: rootbound.OpCopy, Path: "work/" + top, Dest: "d/" + top},
			{Op: rootbound.OpCopy, Path: "work/" + top + "/s/u", Dest: "c" + top},
			{Op: rootbound.OpCopy, Path: "work/" + top + "/s", Dest: "cs" + top},
			{Op: rootbound.OpDelete, Path: "work/" + top + "/s/u", Recursive: true},
			{Op: rootbound.OpDelete, Path: "d/t", Recursive: true},
			{Op: rootbound.OpDelete, Path: "work/" + top, Recursive: true},
		} {
			calls++
			moved(swaps, &seen)
			moved(more, &seenMore)
			var err error
			if r.Op == rootbound.OpCopy {
				_, err = h.copy(r)
			} else {
				_, err = h.delete(r)
			}
			if err == nil {
				ok++
			} else if reason(err) == "" || strings.HasPrefix(string(reason(err)), "not ours") || reason(err) == rootbound.InternalError {
				t.Errorf("%d: %v", i, err)
			}
		}
		inner += more.Load()
		halt()
	}
	stop()
	if now := outside(t, h.dir+"/out"); now != before {
		t.Errorf("outside became\n%s\nfrom\n%s", now, before)
	}
	for _, top := range []string{"p"} {
		must(t, filepath.WalkDir(filepath.Join(h.dir, top), func(p string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), "OUTSIDE") {
					t.Errorf("%s came from outside", p[len(h.dir):])
				}
			}
			return nil
		}))
	}
	t.Logf("%d calls, %d succeeded, %d and %d swaps", calls, ok, swaps.Load(), inner)
	if swaps.Load() < int64(calls) || inner < int64(calls) {
		t.Errorf("no storm: %d calls, %d succeeded, %d and %d swaps", calls, ok, swaps.Load(), inner)
	}
}

// outside describes a tree that must not change: names, inodes, times and contents.
func outside(t *testing.T, top string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(top, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		text, _ := os.ReadFile(p)
		fmt.Fprintln(&b, p[len(top):], st.Ino, st.Nlink, st.Mtim, st.Ctim, string(text))
		return nil
	}))
	return b.String()
}
