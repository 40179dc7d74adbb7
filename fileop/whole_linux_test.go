package fileop

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/internal/rig"
)

// A kill in front of any call leaves a file that is deleted, and one that is copied, whole: under its name, or, once the
// deletion is in force, under a temporary one that recovery knows; a copy under its name is complete.
func TestDeletionsAndCopiesAreWhole(t *testing.T) {
	for _, op := range []string{"delete", "copy"} {
		dir := prepare(t, op)
		calls := rig.Trace(t, rig.Child(op, dir))
		whole(t, op, dir, true)
		killed := 0
		for _, c := range calls {
			if !c.Changes() {
				continue
			}
			if dir := prepare(t, op); rig.Kill(t, rig.Child(op, dir), c) {
				killed++
				whole(t, op, dir, false)
			}
		}
		t.Logf("%s: killed at %d calls", op, killed)
		if killed < 3 {
			t.Errorf("%s: killed at %d calls only", op, killed)
		}
	}
}

func whole(t *testing.T, op, dir string, done bool) {
	t.Helper()
	read := func(name string) (string, bool) {
		b, err := os.ReadFile(dir + "/" + name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		return string(b), err == nil
	}
	f, there := read("f")
	g, copied := read("g")
	aside := leftovers(t, dir)
	switch {
	case there && f != oldBytes():
		t.Errorf("%s: f holds %d bytes", op, len(f))
	case op == "copy" && (!there || copied && g != oldBytes() || done && !copied):
		t.Errorf("%s: f there %v, the copy there %v with %d bytes", op, there, copied, len(g))
	case op == "delete" && done && (there || len(aside) > 0):
		t.Errorf("%s: still there", op)
	}
	for _, name := range aside {
		if !strings.HasPrefix(name, beneath.TempPrefix) || done {
			t.Errorf("%s: %s is left", op, name)
		}
	}
}
