package authority

import (
	"fmt"
	"os"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"pgregory.net/rapid"
)

func replaceWith(t *testing.T, c *Ceiling, projects ...rootbound.Project) {
	t.Helper()
	if err := c.Replace(projects); err != nil {
		t.Fatal(err)
	}
}

// G37: whatever happens to directories and configuration, an id never silently means another directory to an authority
// that held it.
func TestG37RetiredNeverRetargets(t *testing.T) {
	top := tree(t, "a", "b", "other")
	a, b := project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite)
	moved := project("a", top+"/other", rootbound.ReadWrite)
	recreate := func(t *testing.T) {
		if err := os.Rename(top+"/a", top+"/a.old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(top+"/a", 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(top + "/a"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(top+"/a.old", top+"/a"); err != nil {
				t.Fatal(err)
			}
		})
	}
	for name, happens := range map[string]func(t *testing.T, c *Ceiling){
		"removed":                     func(t *testing.T, c *Ceiling) { replaceWith(t, c, b) },
		"another path":                func(t *testing.T, c *Ceiling) { replaceWith(t, c, moved, b) },
		"removed and another path":    func(t *testing.T, c *Ceiling) { replaceWith(t, c, b); replaceWith(t, c, moved, b) },
		"another object":              func(t *testing.T, c *Ceiling) { recreate(t); replaceWith(t, c, a, b) },
		"another object while absent": func(t *testing.T, c *Ceiling) { replaceWith(t, c, b); recreate(t); replaceWith(t, c, a, b) },
		"the other's directory": func(t *testing.T, c *Ceiling) {
			replaceWith(t, c, project("a", b.Dir, b.Rights), project("b", a.Dir, a.Rights), project("c", top+"/other", b.Rights))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := ceiling(t, a, b)
			holder, stranger := New(c, Options{}), New(c, Options{})
			defer holder.Close()
			defer stranger.Close()
			u := acquire(t, holder, false)
			defer u.Release()
			object := u.Snapshot().Grants[0].Root.ID()
			happens(t, c)
			if u.Stale() == nil {
				t.Error("the generation goes on")
			}
			for _, who := range []*Authority{holder, stranger} {
				now := acquire(t, who, false)
				defer now.Release()
				for _, g := range now.Snapshot().Grants {
					if g.ID == "a" && g.Root.ID() != object {
						t.Error("the id means another directory")
					}
					if g.ID == "a" {
						t.Error("the id is in force")
					}
				}
				if _, retired := now.Snapshot().Retired("a"); retired != (who == holder) {
					t.Errorf("retired %v, holder %v", retired, who == holder)
				}
			}
		})
	}
}

// Whatever a configuration says and whoever exchanges directories: what is granted under an id is the object it meant when it
// was granted first, and right after a reload the path that is configured for it reaches that object.
func TestIDsKeepTheirMeaning(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		top, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		dir := func(i int) string { return fmt.Sprintf("%s/d%d", top, i) }
		const dirs = 4
		for i := range dirs {
			if err := os.Mkdir(dir(i), 0o755); err != nil {
				rt.Fatal(err)
			}
		}
		config := func() (out []rootbound.Project) {
			free := rapid.Permutation([]int{0, 1, 2, 3}).Draw(rt, "dirs")
			for i, id := range []string{"x", "y", "z"} {
				if rapid.IntRange(0, 3).Draw(rt, id) > 0 {
					out = append(out, project(id, dir(free[i]), rootbound.ReadWrite))
				}
			}
			return out
		}
		ceil, err := Open(config(), CeilingOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		defer ceil.Close()
		who := New(ceil, Options{Mode: Narrow})
		defer who.Close()
		means := map[rootbound.RootID]beneath.ObjectID{}
		check := func(reloaded bool) {
			u, err := who.Acquire(t.Context(), true)
			if err != nil {
				return // nothing is in force
			}
			defer u.Release()
			for i, g := range u.Snapshot().Grants {
				if was, ok := means[g.ID]; !ok {
					means[g.ID] = g.Root.ID()
				} else if was != g.Root.ID() {
					rt.Fatalf("%s means another directory", g.ID)
				}
				if err := u.CheckRoot(i, true); reloaded && err != nil {
					if _, there := os.Stat(g.Project.Dir); there == nil {
						rt.Fatalf("%s is in force, and its path leads elsewhere: %v", g.ID, err)
					}
				}
				if reloaded && g.Root.Spelled() != g.Project.Dir {
					rt.Fatalf("%s is pinned by %s, configured is %s", g.ID, g.Root.Spelled(), g.Project.Dir)
				}
			}
		}
		check(true)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0: // two directories change places
				i, j := rapid.IntRange(0, dirs-1).Draw(rt, "i"), rapid.IntRange(0, dirs-1).Draw(rt, "j")
				if os.Rename(dir(i), top+"/between") == nil {
					_ = os.Rename(dir(j), dir(i)) // one of them may be missing
					if err := os.Rename(top+"/between", dir(j)); err != nil {
						rt.Fatal(err)
					}
				}
				check(false)
			case 1: // one is made anew, perhaps with the same inode number
				i := rapid.IntRange(0, dirs-1).Draw(rt, "i")
				_ = os.Remove(dir(i))
				if rapid.Bool().Draw(rt, "again") {
					if err := os.Mkdir(dir(i), 0o755); err != nil {
						rt.Fatal(err)
					}
				}
				check(false)
			default:
				if err := ceil.Replace(config()); err != nil {
					rt.Fatal(err)
				}
				check(true)
			}
		}
	})
}

// A project that was revoked and is then taken out of force changes nothing of what is granted, and yet who held it may be
// told where it went.
func TestRetiredWhileRevoked(t *testing.T) {
	top := tree(t, "a", "b")
	ceil := ceiling(t, project("a", top+"/a", rootbound.ReadWrite), project("b", top+"/b", rootbound.ReadWrite))
	c := declared(uri(top, "a"), uri(top, "b"))
	c.cap.ListChanged = false // so that each change is asked for
	a := c.authority(t, ceil)
	granted(t, a, true)
	c.set(func(c *client) { c.ans = answer(uri(top, "b")) })
	a.Revoke("a")
	granted(t, a, true)
	if err := ceil.Activate([]rootbound.RootID{"b"}); err != nil {
		t.Fatal(err)
	}
	u, err := a.Acquire(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Release()
	if how, ok := u.Snapshot().Retired("a"); !ok || how != "not active" {
		t.Errorf("%q %v", how, ok)
	}
}
