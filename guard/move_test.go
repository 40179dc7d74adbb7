//go:build unix

package guard_test

import (
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
)

// A file that is too large for the project it would move to stays, alone and inside a tree; inside one project a move writes
// nothing, and is not bounded.
func TestMoveHonoursTheDestinationsLimit(t *testing.T) {
	small := rootbound.Project{ID: "small", Dir: "s", Rights: rootbound.Full, MovesAcross: true, MaxWrite: 4}
	wide := rootbound.Project{ID: "wide", Dir: "w", Rights: rootbound.Full, MovesAcross: true}
	h := build(t, guard.Options{NoSlow: true}, nil, small, wide)
	h.file("w/f", "12345")
	h.file("w/fits", "1234")
	h.file("w/d/in/f", "12345")
	h.file("w/e/in/f", "1234")
	h.file("s/old", "12345")
	move := func(from, path, to, dest string) error {
		t.Helper()
		return h.move(guard.Request{Root: from, Path: path, DestRoot: to, Dest: dest})
	}
	refused(t, "a file", move("wide", "f", "small", "f"), rootbound.TooLarge)
	refused(t, "a tree", move("wide", "d", "small", "d"), rootbound.TooLarge)
	for _, f := range []string{"f", "d/in/f"} {
		h.has("w/"+f, "12345")
		h.gone("s/" + f)
	}
	refused(t, "one that fits", move("wide", "fits", "small", "fits"), "")
	refused(t, "a tree that fits", move("wide", "e", "small", "e"), "")
	refused(t, "inside the project", move("small", "old", "small", "new"), "")
	refused(t, "out of it", move("small", "new", "wide", "new"), "")
	h.has("s/fits", "1234")
	h.has("s/e/in/f", "1234")
	h.has("w/new", "12345")
}
