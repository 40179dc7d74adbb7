package guard_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
)

// TestNothingHiddenIsReadAhead: of directories that are not shown none is opened before its turn either, nor any when the
// generation has ended. The kernel tells what is opened.
func TestNothingHiddenIsReadAhead(t *testing.T) {
	p := one(rootbound.ReadOnly)
	p.Deny = []string{"**/hidden/**", "**/hidden"}
	h := build(t, guard.Options{NoSlow: true}, nil, p, rootbound.Project{ID: "inner", Dir: "p/inner", Rights: rootbound.Read})
	for _, d := range []string{".ssh", "a", "hidden", "inner", "shown"} {
		h.file("p/"+d+"/f", "")
	}
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	must(t, err)
	defer unix.Close(watch)
	names := map[int32]string{}
	for _, d := range []string{".ssh", "hidden", "inner", "shown"} {
		wd, err := unix.InotifyAddWatch(watch, h.dir+"/p/"+d, unix.IN_OPEN)
		must(t, err)
		names[int32(wd)] = d
	}
	opened := func() (all []string) {
		var buf [4 << 10]byte
		n, err := unix.Read(watch, buf[:])
		if err == unix.EAGAIN {
			return nil
		}
		must(t, err)
		for b := buf[:n]; len(b) > 0; {
			all = append(all, names[int32(b[0])|int32(b[1])<<8])
			b = b[unix.SizeofInotifyEvent+int(b[12]):]
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	for _, ends := range []bool{false, true} {
		var asked []string
		err := h.do(guard.Request{Op: rootbound.OpTree, Root: "p", Path: "."}, func(ctx context.Context, tg *guard.Target) error {
			return tg.Tour(ctx, beneath.Course{
				Readers: 2,
				Ahead: func(n *beneath.Node) bool {
					if asked = append(asked, n.Name()); ends && n.Name() == "a" {
						<-h.auth.Invalidate(rootbound.GenerationStale)
					}
					return true
				},
				Visit: func(n *beneath.Node) (beneath.Step, error) {
					if n.Name() != "a" {
						return beneath.Over, nil
					}
					const minute = 60_000
					if n, err := unix.Poll([]unix.PollFd{{Fd: int32(watch), Events: unix.POLLIN}}, minute); n != 1 {
						t.Errorf("nothing was read ahead: %v", err)
					} else if got := opened(); fmt.Sprint(got) != "[shown]" {
						t.Errorf("%q were opened", got)
					}
					return beneath.Stop, nil
				},
			})
		})
		if got := fmt.Sprint(asked); got != "[a shown]" {
			t.Errorf("asked of %s", got)
		}
		if got := opened(); len(got) > 0 {
			t.Errorf("%q were opened", got)
		}
		if ends && rootbound.ReasonOf(err) != rootbound.GenerationStale || !ends && err != nil {
			t.Errorf("ended: %v, %v", ends, err)
		}
	}
}
