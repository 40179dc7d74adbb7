package guard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/rig"
)

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
	before := rig.Inventory(t, h.dir+"/out")
	calls, ok := 0, 0
	swaps := rig.Swap(t, h.dir+"/p", []string{"d", "evil"})
	rounds := 20
	if os.Getenv("RB_LONG") != "" {
		rounds = 5000
	}
	var inner int64
	for n := 0; n < rounds || ok < rounds*3/10 || ok == calls; n++ { // how many succeed depends on the machine
		top := fmt.Sprintf("t%d", n)
		fill("p/work/"+top, "inside")
		h.link("p/work/"+top+"/evil", h.dir+"/out")
		h.link("p/work/"+top+"/s/evil", "../../../../out/s")
		more := rig.Swap(t, h.dir+"/p/work/"+top, []string{"s", "evil"}, []string{"f", "z"})
		for i, r := range []guard.Request{
			{Op: rootbound.OpCopy, Path: "work/" + top, Dest: "d/" + top},
			{Op: rootbound.OpCopy, Path: "work/" + top + "/s/u", Dest: "c" + top},
			{Op: rootbound.OpCopy, Path: "work/" + top + "/s", Dest: "cs" + top},
			{Op: rootbound.OpDelete, Path: "work/" + top + "/s/u", Recursive: true},
			{Op: rootbound.OpDelete, Path: "d/t", Recursive: true},
			{Op: rootbound.OpDelete, Path: "work/" + top, Recursive: true},
		} {
			calls++
			swaps.Await()
			more.Await()
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
		more.Stop()
		inner += more.Count()
	}
	swaps.Stop()
	if now := rig.Inventory(t, h.dir+"/out"); now != before {
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
	t.Logf("%d calls, %d succeeded, %d and %d swaps", calls, ok, swaps.Count(), inner)
	if swaps.Count() < int64(calls) || inner < int64(calls) {
		t.Errorf("no storm: %d calls, %d succeeded, %d and %d swaps", calls, ok, swaps.Count(), inner)
	}
}
