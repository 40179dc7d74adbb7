package follow

import (
	"os"
	"testing"

	"github.com/rootbound/rootbound/internal/config"
)

func TestWatch(t *testing.T) {
	dir := tree(t)
	file := write(t, dir+"/c.yaml", "relative: first\n")
	c, _, err := config.Load(config.Input{File: file, Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	other := dir + "/other"
	w := NewWatch(c, other)
	expect := func(what string, want ...bool) {
		t.Helper()
		for i, b := range want {
			if got := w.Changed(); got != b {
				t.Errorf("%s, look %d: %v", what, i, got)
			}
		}
	}
	expect("nothing", false, false)
	write(t, file, "relative: explicit\n")
	expect("in place", false, true, false)
	write(t, dir+"/new", "relative: explicit\n")
	os.Rename(dir+"/new", file)
	expect("replaced", false, true, false)
	write(t, file, "relative: uniqu")
	expect("being written", false)
	write(t, file, "relative: unique\n")
	expect("written", false, true, false)
	os.Remove(file)
	expect("removed", false, true, false)
	write(t, other, "")
	expect("another appeared", false, true, false)

	// What changed between the reading and the first look is told.
	write(t, file, "relative: first\n")
	if c, _, err = config.Load(config.Input{File: file, Getenv: env()}); err != nil {
		t.Fatal(err)
	}
	write(t, file, "relative: unique # longer\n")
	w = NewWatch(c)
	expect("before the watch", true, false)
}
