package beneath

import (
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
