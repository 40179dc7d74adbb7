package watch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// A directory that is not at its place when something is heard of it was moved or removed, which a notice says that may be
// read much later: however long that takes, the end is told with the reason that is so.
func TestTheEndAwaitsItsReason(t *testing.T) {
	const rest = time.Minute // that the reader takes
	for _, c := range []struct {
		name, step string
		unmarked   bool
		notice     beneath.What // of the directory above, or of the mark if it is Forgotten
		want       rootbound.Reason
	}{
		{"moved", "mv ws/a out/a", false, beneath.SelfMoved, rootbound.MovedOut},
		{"removed", "rm ws/a", false, beneath.Forgotten, rootbound.NotFound},
		{"no mark to be had", "rm ws/a", true, 0, rootbound.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.do("file ws/a/b/f 1")
			synctest.Test(t, func(t *testing.T) {
				s := &script{notices: make(chan beneath.Notice), unmarked: c.unmarked}
				in := newWith(s, Options{Window: -1})
				defer in.Close()
				o := w.open("a/b")
				defer o.Close()
				var told []string // by one goroutine, that synctest.Wait waits for
				x, err := in.Add(t.Context(), o, false, nil, func(e Event) { told = append(told, fmt.Sprint(e.Kind, e.Why)) })
				must(t, err)
				w.do(c.step)
				s.notices <- beneath.Notice{ID: x.top(), What: beneath.Written, Name: "f"}
				time.Sleep(rest)
				synctest.Wait()
				if len(told) > 0 && !c.unmarked {
					t.Errorf("told %q before the reason was read", told)
				}
				switch c.notice {
				case beneath.SelfMoved:
					s.notices <- beneath.Notice{ID: x.above[1], What: c.notice}
				case beneath.Forgotten:
					s.notices <- beneath.Notice{ID: s.last, What: c.notice}
				}
				synctest.Wait()
				if want := fmt.Sprint(Ended, c.want); len(told) != 1 || told[0] != want {
					t.Errorf("told %q, want %q", told, want)
				}
			})
		})
	}
}
