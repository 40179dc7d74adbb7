package beneath

import (
	"fmt"
	"maps"
	"testing"
)

func TestMountsOf(t *testing.T) {
	got := mountsOf("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n" +
		`40 35 0:5 / /with\040space\134and\011tab rw - tmpfs none rw` + "\n" + "41 35 0:6 / /odd\\9 rw - tmpfs none rw\nno line\n")
	want := map[string]string{"36 35 98:0 /mnt1": "/mnt2", "40 35 0:5 /": "/with space\\and\ttab", "41 35 0:6 /": `/odd\9`}
	if !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestNear(t *testing.T) {
	w := newWorld(t)
	o, err := w.set(false).Open(Ref{0, "d"}, Dir)
	must(t, err)
	defer o.Close()
	p := o.Place()
	defer p.Close()
	for path, near := range map[string]bool{"/": true, w.dir: true, w.dir + "/ws": true, w.dir + "/ws/d": true, w.dir + "/ws/d/sub": true,
		w.dir + "/ws/d2": false, w.dir + "/ws/a": false, w.dir + "/out": false, w.dir + "/w": false, "/proc": false} {
		if p.Near([]string{"/nowhere", path}) != near {
			t.Errorf("%s: %v", path, !near)
		}
	}
	if p.Near(nil) {
		t.Error("near nothing")
	}
}

// A mark is told behind what happened before it, and before what happens after.
func TestMark(t *testing.T) {
	w := newWorld(t)
	o, err := w.set(false).Open(Ref{0, "d"}, Dir)
	must(t, err)
	defer o.Close()
	n, err := NewNotifier()
	must(t, err)
	defer n.Close()
	_, err = n.Add(o)
	must(t, err)
	at := map[string]int{} // in what order made files and marks are told
	for round := range 3 {
		w.do(fmt.Sprintf("mkdir ws/d/before%d", round))
		mark, err := n.Mark()
		must(t, err)
		w.do(fmt.Sprintf("mkdir ws/d/after%d", round))
		for after := fmt.Sprint("after", round); at[after] == 0; {
			must(t, n.Next(func(e Notice) {
				switch {
				case e.What&Made != 0:
					at[e.Name] = len(at) + 1
				case e.ID == mark && e.What&Forgotten != 0:
					at[fmt.Sprint("mark", round)] = len(at) + 1
				}
			}))
		}
	}
	for round := range 3 {
		for i, what := range []string{"before", "mark", "after"} {
			if got := at[fmt.Sprint(what, round)]; got != 3*round+i+1 {
				t.Errorf("%s%d is number %d: %v", what, round, got, at)
			}
		}
	}
}
