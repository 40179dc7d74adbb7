package authority

import (
	"os"
	"testing"

	"github.com/rootbound/rootbound"
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
