package authority

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rootbound/rootbound"
)

func TestOpenRefuses(t *testing.T) {
	top := tree(t, "a", "b")
	if err := os.WriteFile(top+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(top+"/a", top+"/link"); err != nil {
		t.Fatal(err)
	}
	rw := rootbound.ReadWrite
	for name, c := range map[string]struct {
		projects []rootbound.Project
		reason   rootbound.Reason
		has      string
	}{
		"no id":         {[]rootbound.Project{project("", top+"/a", rw)}, rootbound.ArgumentInvalid, "without id"},
		"duplicate id":  {[]rootbound.Project{project("a", top+"/a", rw), project("a", top+"/b", rw)}, rootbound.ArgumentInvalid, "two projects"},
		"no rights":     {[]rootbound.Project{project("a", top+"/a", 0)}, rootbound.ArgumentInvalid, "no rights"},
		"relative":      {[]rootbound.Project{project("a", "a", rw)}, rootbound.ArgumentInvalid, "not absolute"},
		"a file":        {[]rootbound.Project{project("a", top+"/file", rw)}, rootbound.RootUnusable, "not_a_directory"},
		"special":       {[]rootbound.Project{project("a", "/proc/self", rw)}, rootbound.RootUnusable, "special"},
		"other rights":  {[]rootbound.Project{project("a", top+"/a", rw), project("b", top+"/link", rootbound.ReadOnly)}, rootbound.ArgumentInvalid, "a and b are one directory"},
		"one with rule": {[]rootbound.Project{project("a", top+"/a", rw), {ID: "b", Dir: top + "/a", Rights: rw, Deny: []string{"x"}}}, rootbound.ArgumentInvalid, "different rights"},
	} {
		_, err := Open(c.projects, CeilingOptions{})
		var e *rootbound.Error
		if !errors.As(err, &e) || e.Reason != c.reason || !strings.Contains(e.Detail, c.has) || strings.Contains(e.Detail, top) {
			t.Errorf("%s: %v", name, err)
		}
		if e.Reason == rootbound.ArgumentInvalid && e.Next == "" { // the registry's line is for who calls a tool
			t.Errorf("%s: says nothing to who wrote the program: %v", name, err)
		}
	}
	if _, err := Open([]rootbound.Project{project("a", ".", rw)}, CeilingOptions{}); err == nil || !strings.Contains(err.Error(), "filepath.Abs") {
		t.Errorf("a relative directory: %v", err)
	}
	twice := ceiling(t, project("a", top+"/a", rw), project("b", top+"/link", rw))
	if p := twice.Projects(); len(p) != 1 || p[0].ID != "a" {
		t.Errorf("%+v", p)
	}
}

func TestCovers(t *testing.T) {
	top := tree(t, "real/a")
	if err := os.Symlink(top+"/real", top+"/link"); err != nil {
		t.Fatal(err)
	}
	c := ceiling(t, project("a", top+"/link/a", rootbound.ReadOnly), project("m", top+"/missing", rootbound.ReadOnly))
	for p, want := range map[string]bool{
		"link/a": true, "link/a/x": true, "real/a/x/y": true, "real": false, "link/ab": false, "missing/x": true, "": false, "real/b": false,
	} {
		if got := c.Covers(top + "/" + p); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
}

func TestMissingProjectsArePinnedWhenTheyAppear(t *testing.T) {
	top := tree(t, "a")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite), project("m", top+"/m", rootbound.ReadOnly))
	a := (&client{}).authority(t, ceil)
	u := acquire(t, a, false)
	defer u.Release()
	if got := paths(u); len(got) != 1 || len(ceil.Missing()) != 1 || ceil.Root("m") != nil {
		t.Fatalf("%v, missing %v", got, ceil.Missing())
	}
	if err := os.Mkdir(top+"/m", 0o755); err != nil {
		t.Fatal(err)
	}
	v := acquire(t, a, false)
	defer v.Release()
	if got := paths(v); len(got) != 2 || v.Snapshot().Generation != 2 || len(ceil.Missing()) != 0 || ceil.Root("m") == nil {
		t.Errorf("%v, generation %d, missing %v", got, v.Snapshot().Generation, ceil.Missing())
	}
	isReason(t, u.Stale(), rootbound.GenerationStale, "")

	// A second name of a pinned directory is not pinned: which rights hold would be a guess.
	ceil = ceiling(t, project("a", top+"/a", rootbound.ReadWrite), project("l", top+"/l", rootbound.ReadOnly))
	if err := os.Symlink(top+"/a", top+"/l"); err != nil {
		t.Fatal(err)
	}
	if got := granted(t, (&client{}).authority(t, ceil), false); len(got) != 1 || len(ceil.Missing()) != 1 {
		t.Errorf("%v, missing %v", got, ceil.Missing())
	}
	// Nothing there at all.
	denied(t, (&client{}).authority(t, ceiling(t, project("x", top+"/x", rootbound.Full))), rootbound.NoScope, "no configured folder exists")
}

// replace puts another directory at the path of dir.
func replace(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
}

func TestReplacedProjectsStayReplaced(t *testing.T) {
	top := tree(t, "a/in")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite))
	c := declared(uri(top, "a"))
	a := c.authority(t, ceil)
	u := acquire(t, a, true)
	defer u.Release()
	if err := u.CheckRoot(0, true); err != nil {
		t.Fatal(err)
	}
	replace(t, top+"/a")
	isReason(t, u.CheckRoot(0, true), rootbound.RootReplaced, "")
	a.Invalidate(rootbound.GenerationStale)
	if v, err := a.Acquire(context.Background(), true); err == nil { // the new directory is not the project
		defer v.Release()
		isReason(t, v.CheckRoot(0, true), rootbound.RootReplaced, "")
	}
	if err := ceil.Retarget("a"); err != nil {
		t.Fatal(err)
	}
	v := acquire(t, a, true)
	defer v.Release()
	if err := v.CheckRoot(0, true); err != nil || v.Snapshot().Grants[0].Root.ID() == u.Snapshot().Grants[0].Root.ID() {
		t.Error(err)
	}
	if u.Snapshot().Grants[0].Root.ID() == v.Snapshot().Grants[0].Root.ID() {
		t.Error("not retargeted")
	}
	// Gone, and back again as the very same object.
	if err := os.Rename(top+"/a", top+"/away"); err != nil {
		t.Fatal(err)
	}
	isReason(t, v.CheckRoot(0, true), rootbound.RootReplaced, "")
	if err := ceil.Retarget("a"); err == nil {
		t.Error("retargeted to nothing")
	}
	if err := os.Rename(top+"/away", top+"/a"); err != nil {
		t.Fatal(err)
	}
	if err := v.CheckRoot(0, true); err != nil {
		t.Error(err)
	}
}

func TestAcceptRetarget(t *testing.T) {
	top := tree(t, "a")
	ceil, err := Open([]rootbound.Project{project("a", top+"/a", rootbound.ReadWrite)}, CeilingOptions{AcceptRetarget: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ceil.Close()
	a := (&client{}).authority(t, ceil)
	u := acquire(t, a, true)
	defer u.Release()
	replace(t, top+"/a")
	isReason(t, u.CheckRoot(0, true), rootbound.RootReplaced, "")
	v := acquire(t, a, true)
	defer v.Release()
	if err := v.CheckRoot(0, true); err != nil || v.Snapshot().Generation != 2 {
		t.Error(err, v.Snapshot().Generation)
	}
}

// Roots are pinned at publication and heal with the next one; for reads a check may be one second old.
func TestReplacedRoots(t *testing.T) {
	top := tree(t, "p/a", "p/b", "out")
	synctest.Test(t, func(t *testing.T) {
		c := declared(uri(top, "p/a"))
		a := c.authority(t, ceiling(t, project("p", top+"/p", rootbound.ReadWrite)))
		u := ok(t, <-start(t.Context(), a, true))
		if err := u.CheckRoot(0, false); err != nil {
			t.Fatal(err)
		}
		replace(t, top+"/p/a")
		time.Sleep(time.Second - time.Millisecond)
		if err := u.CheckRoot(0, false); err != nil {
			t.Errorf("a read within the second: %v", err)
		}
		isReason(t, u.CheckRoot(0, true), rootbound.RootReplaced, "")
		time.Sleep(time.Millisecond)
		isReason(t, u.CheckRoot(0, false), rootbound.RootReplaced, "")
		isReason(t, u.CheckRoot(1, false), rootbound.InternalError, "no such grant")
		a.Invalidate(rootbound.GenerationStale)
		v := ok(t, <-start(t.Context(), a, true))
		if err := v.CheckRoot(0, true); err != nil {
			t.Error(err)
		}
		if v.Snapshot().Grants[0].ID == u.Snapshot().Grants[0].ID {
			t.Error("another object has the same root id")
		}
	})
}

// A root that was spelled through a link and moved out of its project is no part of it any more, although its spelling
// still reaches the very same object.
func TestRootMovedOutOfItsProject(t *testing.T) {
	top := tree(t, "p/a", "out")
	relink := func(to string) {
		if err := errors.Join(os.RemoveAll(top+"/link"), os.Symlink(to, top+"/link")); err != nil {
			t.Fatal(err)
		}
	}
	relink(top + "/p/a")
	a := declared(uri(top, "link")).authority(t, ceiling(t, project("p", top+"/p", rootbound.ReadWrite)))
	u := acquire(t, a, true)
	defer u.Release()
	if err := u.CheckRoot(0, true); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(top+"/p/a", top+"/out/a"); err != nil {
		t.Fatal(err)
	}
	relink(top + "/out/a")
	isReason(t, u.CheckRoot(0, true), rootbound.RootReplaced, "")
	a.Invalidate(rootbound.GenerationStale)
	denied(t, a, rootbound.NoOverlap, "configured 1 folders, client 1, no overlap")
}

// A root id belongs to the object: it comes back with it, and goes to no other.
func TestRootIDs(t *testing.T) {
	top := tree(t, "p/a", "p/b")
	if err := os.Symlink(top+"/p/a", top+"/link"); err != nil {
		t.Fatal(err)
	}
	c := declared()
	a := c.authority(t, ceiling(t, project("p", top+"/p", rootbound.ReadWrite)))
	id := func(u string) rootbound.RootID {
		t.Helper()
		c.set(func(c *client) { c.ans = answer(u) })
		a.Invalidate(rootbound.GenerationStale)
		use := acquire(t, a, false)
		defer use.Release()
		return use.Snapshot().Grants[0].ID
	}
	first, other := id(uri(top, "p/a")), id(uri(top, "p/b"))
	if first == other || id(uri(top, "link")) != first || id(uri(top, "p/b")) != other {
		t.Error("ids do not follow the objects")
	}
	if err := os.Rename(top+"/p/a", top+"/p/moved"); err != nil {
		t.Fatal(err)
	}
	if id(uri(top, "p/moved")) != first {
		t.Error("the id did not move with its object")
	}
	seen := map[rootbound.RootID]bool{first: true, other: true}
	for range 50 { // inodes are reused at once on many file systems
		if err := os.Mkdir(top+"/p/x", 0o755); err != nil {
			t.Fatal(err)
		}
		n := id(uri(top, "p/x"))
		if seen[n] {
			t.Fatalf("%s was given twice", n)
		}
		seen[n] = true
		if err := os.Remove(top + "/p/x"); err != nil {
			t.Fatal(err)
		}
	}
	if id(uri(top, "p/b")) != other {
		t.Error("an id was lost")
	}
}
