package authority

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rootbound/rootbound"
)

// What stays keeps its pin, its handle and, where nothing near it changed, its generation.
func TestReplaceKeepsWhatStays(t *testing.T) {
	top := tree(t, "a", "b", "b/in", "c")
	a, b := project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite)
	ceil := ceiling(t, a, b)
	roots := map[string]*Authority{}
	for _, d := range []string{"a", "b"} {
		roots[d] = declared(uri(top, d)).authority(t, ceil)
	}
	whole := New(ceil, Options{})
	defer whole.Close()
	narrow := b
	narrow.Rights = rootbound.ReadOnly
	spelled := a
	spelled.Dir = top + "/a/."
	for _, step := range []struct {
		what     string
		projects []rootbound.Project
		ended    string // of whole, a, b
	}{
		{"nothing", []rootbound.Project{a, b}, "---"},
		{"the order", []rootbound.Project{b, a}, "---"},
		{"one more elsewhere", []rootbound.Project{a, b, project("c", top+"/c", rootbound.ReadOnly)}, "x--"},
		{"rights of b", []rootbound.Project{a, narrow}, "x-x"},
		{"one more inside b", []rootbound.Project{a, b, project("in", top+"/b/in", rootbound.ReadOnly)}, "x-x"},
		{"another spelling of a", []rootbound.Project{spelled, b}, "xx-"},
		{"without a", []rootbound.Project{b}, "xx-"},
	} {
		if err := ceil.Replace([]rootbound.Project{a, b}); err != nil {
			t.Fatal(err)
		}
		handles := []any{ceil.Root("a"), ceil.Root("b")}
		var uses []*Use
		for _, who := range []*Authority{whole, roots["a"], roots["b"]} {
			uses = append(uses, acquire(t, who, false))
		}
		if err := ceil.Replace(step.projects); err != nil {
			t.Fatal(err)
		}
		ended := ""
		for i, u := range uses {
			if u.Stale() == nil {
				ended += "-"
			} else {
				ended += "x"
			}
			if err := u.Commit(func() error { return nil }); (err != nil) != (u.Stale() != nil) {
				t.Errorf("%s: commit %v", step.what, err)
			}
			who := []*Authority{whole, roots["a"], roots["b"]}[i]
			if now, err := who.Acquire(t.Context(), false); err == nil {
				if kept := now.Snapshot().Generation == u.Snapshot().Generation; kept != (ended[i] == '-') {
					t.Errorf("%s: generation %d, was %d", step.what, now.Snapshot().Generation, u.Snapshot().Generation)
				}
				now.Release()
			}
			u.Release()
		}
		if ended != step.ended {
			t.Errorf("%s: ended %s, want %s", step.what, ended, step.ended)
		}
		if ended == "---" && !slices.Equal(handles, []any{ceil.Root("a"), ceil.Root("b")}) {
			t.Errorf("%s: other handles", step.what)
		}
		if p := ceil.Projects(); len(p) != len(step.projects) || p[0].ID != step.projects[0].ID {
			t.Errorf("%s: %v", step.what, p)
		}
	}
}

// New rights and rules are those of the next snapshot, on the same handle.
func TestReplaceChangesRights(t *testing.T) {
	top := tree(t, "a")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite))
	who, handle := New(ceil, Options{}), ceil.Root("a")
	defer who.Close()
	before := acquire(t, who, false)
	defer before.Release()
	narrow := project("a", top+"/a", rootbound.ReadOnly)
	narrow.Deny = []string{"x"}
	replaceWith(t, ceil, narrow)
	after := acquire(t, who, false)
	defer after.Release()
	g := after.Snapshot().Grants[0]
	if g.Project.Rights != rootbound.ReadOnly || len(g.Project.Deny) != 1 || g.Root != handle || before.Snapshot().Grants[0].Project.Rights != rootbound.ReadWrite {
		t.Errorf("%+v on another handle: %v", g.Project, g.Root != handle)
	}
}

// A list with a mistake changes nothing.
func TestReplaceRefuses(t *testing.T) {
	top := tree(t, "a", "b")
	if err := os.WriteFile(top+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a, b := project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite)
	ceil := ceiling(t, a)
	who := New(ceil, Options{})
	defer who.Close()
	u := acquire(t, who, false)
	defer u.Release()
	for detail, list := range map[string][]rootbound.Project{
		"two projects with the id b": {b, b}, "not_a_directory": {b, project("f", top+"/file", rootbound.ReadOnly)},
		"project x has no rights":                                  {b, {ID: "x", Dir: top}},
		"projects b and c are one directory with different rights": {b, project("c", top+"/b", rootbound.ReadOnly)},
	} {
		err := ceil.Replace(list)
		if err == nil || !strings.Contains(err.Error(), detail) {
			t.Errorf("%v, want %s", err, detail)
		}
	}
	if u.Stale() != nil || len(ceil.Projects()) != 1 || ceil.Projects()[0].ID != "a" {
		t.Errorf("something changed: %v", ceil.Projects())
	}
	if err := ceil.Close(); err != nil {
		t.Fatal(err)
	}
	isReason(t, ceil.Replace([]rootbound.Project{a}), rootbound.ArgumentInvalid, "the ceiling is closed")
}

// A retired id comes back with the object it meant, and with another one only where a person accepts it.
func TestRetiredComesBack(t *testing.T) {
	top := tree(t, "a", "b", "other")
	a, b, moved := project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite), project("a", top+"/other", rootbound.ReadWrite)
	for _, accept := range []bool{false, true} {
		ceil, err := Open([]rootbound.Project{a, b}, CeilingOptions{AcceptRetarget: accept})
		if err != nil {
			t.Fatal(err)
		}
		who := New(ceil, Options{})
		granted(t, who, false)
		is := func(what string, want ...string) {
			t.Helper()
			if got := granted(t, who, false); !slices.Equal(got, want) {
				t.Errorf("accept %v, %s: granted %v, want %v", accept, what, got, want)
			}
		}
		replaceWith(t, ceil, b)
		is("removed", top+"/b")
		replaceWith(t, ceil, a, b)
		is("back", top+"/a", top+"/b")
		replaceWith(t, ceil, moved, b)
		if accept {
			is("accepted", top+"/other", top+"/b")
		} else {
			is("another directory", top+"/b")
			replaceWith(t, ceil, moved, b)
			is("another directory, read again", top+"/b")
			replaceWith(t, ceil, project("a", top+"/none", rootbound.ReadWrite), b)
			is("a missing directory", top+"/b")
			replaceWith(t, ceil, moved, b)
			if err := ceil.Retarget("a"); err != nil {
				t.Fatal(err)
			}
			is("accepted by a person", top+"/other", top+"/b")
		}
		who.Close()
		ceil.Close()
	}
}

// Only what a project has is ever chosen; a project inside another one stays out of reach when it is not active.
func TestActivate(t *testing.T) {
	top := tree(t, "a/in", "b")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite), project("in", top+"/a/in", rootbound.ReadOnly), project("b", top+"/b", rootbound.ReadWrite))
	held, fresh := New(ceil, Options{}), New(ceil, Options{})
	defer held.Close()
	defer fresh.Close()
	u := acquire(t, held, false)
	defer u.Release()
	isReason(t, ceil.Activate([]rootbound.RootID{"a", "x"}), rootbound.ArgumentInvalid, `no project "x"`)
	if u.Stale() != nil {
		t.Error("a refused choice ended a generation")
	}
	choose := func(ids ...rootbound.RootID) {
		t.Helper()
		if err := ceil.Activate(ids); err != nil {
			t.Fatal(err)
		}
	}
	choose("a")
	if u.Stale() == nil {
		t.Error("the generation goes on")
	}
	now := acquire(t, held, false)
	defer now.Release()
	if got := paths(now); !slices.Equal(got, []string{top + "/a"}) {
		t.Errorf("granted %v", got)
	}
	for _, m := range now.Snapshot().Marks {
		if (m.Project.Rights == 0) != (m.Root.Path() != top+"/a") {
			t.Errorf("%s has rights %s", m.Root.Path(), m.Project.Rights)
		}
	}
	if how, ok := now.Snapshot().Retired("in"); !ok || how != "not active" {
		t.Errorf("%q, %v", how, ok)
	}
	// A root inside what is not active meets nothing, and not the project around it.
	denied(t, declared(uri(top, "a/in")).authority(t, ceil), rootbound.NoOverlap, "configured 1 folders, client 1, no overlap")
	choose([]rootbound.RootID{}...)
	if err := ceil.Activate([]rootbound.RootID{}); err != nil {
		t.Fatal(err)
	}
	denied(t, held, rootbound.ProjectRetired, "")
	if _, err := held.Acquire(t.Context(), false); strings.Contains(err.Error(), "another project") || !strings.Contains(err.Error(), "bring a project back") {
		t.Errorf("no project is left, and the way out is: %v", err)
	}
	denied(t, fresh, rootbound.NoScope, "no project is active")
	if ceil.Covers(top+"/a/x") || len(ceil.Active()) != 0 {
		t.Error("something is covered")
	}
	if err := ceil.Activate(nil); err != nil {
		t.Fatal(err)
	}
	if got := granted(t, held, false); len(got) != 3 {
		t.Errorf("granted %v", got)
	}
}

// An answer that was judged by the ceiling before is not published after the change.
func TestReplaceOvertakesAnAnswer(t *testing.T) {
	top := tree(t, "a", "b")
	synctest.Test(t, func(t *testing.T) {
		a, b := project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite)
		ceil := ceiling(t, a, b)
		c := declared(uri(top))
		c.hold = make(chan struct{})
		who := c.authority(t, ceil)
		r := start(t.Context(), who, true)
		synctest.Wait()
		replaceWith(t, ceil, a)
		hold := c.hold
		c.set(func(c *client) { c.hold = nil })
		close(hold)
		u := ok(t, <-r)
		if got := paths(u); !slices.Equal(got, []string{top + "/a"}) || c.asked() != 2 {
			t.Errorf("granted %v after %d asks", got, c.asked())
		}
	})
}

// A commit under way holds up the next generation, not the change; nothing new of the old one begins.
func TestReplaceDoesNotWaitForCommits(t *testing.T) {
	top := tree(t, "a", "b")
	synctest.Test(t, func(t *testing.T) {
		a := project("a", top+"/a", rootbound.ReadWrite)
		ceil := ceiling(t, a, project("b", top+"/b", rootbound.ReadWrite))
		who := New(ceil, Options{})
		defer who.Close()
		u := acquire(t, who, true)
		defer u.Release()
		hang := make(chan struct{})
		done := make(chan error)
		go func() { done <- u.Commit(func() error { <-hang; return nil }) }()
		synctest.Wait()
		replaceWith(t, ceil, a)
		isReason(t, u.Commit(func() error { t.Error("an effect of an ended generation"); return nil }), rootbound.GenerationStale, "")
		r := start(t.Context(), who, true)
		synctest.Wait()
		select {
		case <-r:
			t.Error("the next generation is there before the last lease is back")
		default:
		}
		close(hang)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := paths(ok(t, <-r)); !slices.Equal(got, []string{top + "/a"}) {
			t.Errorf("granted %v", got)
		}
	})
}

// While projects come and go under load, nothing of what is out of force takes effect once the next generation is there.
func TestSwitchingUnderLoad(t *testing.T) {
	top := tree(t, "a", "b")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite))
	who := New(ceil, Options{})
	defer who.Close()
	var off atomic.Bool
	var effects atomic.Int64
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				u, err := who.Acquire(t.Context(), true)
				if err != nil {
					continue
				}
				_ = u.Commit(func() error {
					if len(u.Snapshot().Grants) == 2 {
						effects.Add(1)
						if off.Load() {
							t.Error("an effect in a project that is out of force")
						}
					}
					return nil
				})
				u.Release()
			}
		})
	}
	for i := range 60 {
		var err error
		if i%2 == 0 {
			err = ceil.Activate([]rootbound.RootID{"a"})
		} else {
			err = ceil.Replace(ceil.Projects()[:1])
		}
		if err != nil {
			t.Fatal(err)
		}
		granted(t, who, true)
		off.Store(true)
		granted(t, who, true)
		off.Store(false)
		for seen := effects.Load(); ; {
			if err := ceil.Activate(nil); err != nil {
				t.Fatal(err)
			}
			replaceWith(t, ceil, project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite))
			for effects.Load() == seen {
				granted(t, who, true)
			}
			break
		}
	}
	close(stop)
	load.Wait()
}

// What is given up is closed: reloads do not gather descriptors.
func TestReplaceClosesWhatIsGone(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc to count descriptors in")
	}
	top := tree(t)
	count := func() int {
		e, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(e)
	}
	list := func(from, n int) (out []rootbound.Project) {
		for i := range n {
			d := fmt.Sprintf("%s/%d", top, from+i)
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
			out = append(out, project(fmt.Sprint(from+i), d, rootbound.ReadOnly))
		}
		return out
	}
	start := count()
	ceil := ceiling(t, list(0, 20)...)
	for i := range 50 {
		replaceWith(t, ceil, list(i*20, 20)...)
	}
	if n := count() - start; n > 20+256 {
		t.Errorf("%d descriptors for 20 projects", n)
	}
	// An id whose object is not held any more stays retired.
	replaceWith(t, ceil, list(0, 20)...)
	if got := ceil.Active(); len(got) != 0 {
		t.Errorf("in force: %v", got)
	}
	if err := ceil.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count() - start; n > 0 {
		t.Errorf("%d descriptors left", n)
	}
}

// A directory that was missing is pinned when it appears, after a Replace as after Open; then the generation ends.
func TestReplaceWithMissing(t *testing.T) {
	top := tree(t, "a")
	a, b := project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite)
	ceil := ceiling(t, a)
	who := New(ceil, Options{})
	defer who.Close()
	replaceWith(t, ceil, a, b)
	if got := granted(t, who, false); len(got) != 1 || !slices.Equal(ceil.Missing(), []rootbound.RootID{"b"}) {
		t.Errorf("granted %v, missing %v", got, ceil.Missing())
	}
	if err := os.Mkdir(top+"/b", 0o755); err != nil {
		t.Fatal(err)
	}
	if got := granted(t, who, false); len(got) != 2 {
		t.Errorf("granted %v", got)
	}
	// Gone for a while is not retired: it heals.
	if err := os.Rename(top+"/b", top+"/x"); err != nil {
		t.Fatal(err)
	}
	replaceWith(t, ceil, a, b)
	u := acquire(t, who, false)
	defer u.Release()
	if err := u.CheckRoot(1, true); err == nil {
		t.Error("a directory that is gone can be changed")
	}
	if err := os.Rename(top+"/x", top+"/b"); err != nil {
		t.Fatal(err)
	}
	if err := u.CheckRoot(1, true); err != nil {
		t.Error(err)
	}
}
