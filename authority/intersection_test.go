package authority

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/roots"
)

func TestIntersection(t *testing.T) {
	top := tree(t, "p/a/in", "p/a/nested/x", "p/b", "p/ab", "other")
	for name, to := range map[string]string{"link": "p/a", "linkin": "p/a/in", "plink": "p"} {
		if err := os.Symlink(top+"/"+to, top+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	ceil := ceiling(t,
		project("a", top+"/p/a", rootbound.ReadWrite), project("b", top+"/link/../b", rootbound.ReadOnly),
		project("n", top+"/p/a/nested", rootbound.ReadOnly))
	type grant struct {
		Path    string
		Project rootbound.RootID
		Prefix  string
		Own     bool // the grant's id is the project's
	}
	for _, c := range []struct {
		name   string
		roots  []string
		grants []grant
		detail string
	}{
		{"the project itself", []string{"p/a"}, []grant{{"p/a", "a", "", true}, {"p/a/nested", "n", "", true}}, ""},
		{"inside", []string{"p/a/in"}, []grant{{"p/a/in", "a", "in", false}}, ""},
		{"inside, through a link", []string{"linkin"}, []grant{{"p/a/in", "a", "in", false}}, ""},
		{"the project through a link", []string{"link"}, []grant{{"p/a", "a", "", true}, {"p/a/nested", "n", "", true}}, ""},
		{"around one", []string{"p"}, []grant{{"p/a", "a", "", true}, {"p/b", "b", "", true}, {"p/a/nested", "n", "", true}}, ""},
		{"around all, through a link", []string{"plink"}, []grant{{"p/a", "a", "", true}, {"p/b", "b", "", true}, {"p/a/nested", "n", "", true}}, ""},
		{"inside the nested one", []string{"p/a/nested/x"}, []grant{{"p/a/nested/x", "n", "x", false}}, ""},
		{"two spellings are one root", []string{"p/a/in", "linkin", "p/a/in/"}, []grant{{"p/a/in", "a", "in", false}}, ""},
		{"a sibling with the same beginning", []string{"p/ab", "p/b"}, []grant{{"p/b", "b", "", true}}, ""},
		{"none", []string{"other", "p/ab"}, nil, "configured 3 folders, client 2, no overlap"},
		{"the top", []string{"/"}, []grant{{"p/a", "a", "", true}, {"p/b", "b", "", true}, {"p/a/nested", "n", "", true}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list []string
			for _, r := range c.roots {
				if r == "/" {
					list = append(list, "file:///")
				} else {
					list = append(list, "file://"+top+"/"+r)
				}
			}
			a := declared(list...).authority(t, ceil)
			if c.grants == nil {
				denied(t, a, rootbound.NoOverlap, c.detail)
				return
			}
			u := acquire(t, a, false)
			defer u.Release()
			var got []grant
			for _, g := range u.Snapshot().Grants {
				rel, _ := filepath.Rel(top, g.Root.Path())
				got = append(got, grant{rel, g.Project.ID, g.Prefix, g.ID == g.Project.ID})
			}
			if d := cmp.Diff(c.grants, got); d != "" {
				t.Error(d)
			}
			for _, r := range list { // every spelling of a root leads into the set
				p := strings.TrimPrefix(r, "file://")
				if len(c.grants) == 1 && r != "file:///" {
					if _, ok := u.Snapshot().Set.Map(p + "/x"); !ok && p != top+"/p/ab" {
						t.Errorf("%s leads nowhere", p)
					}
				}
			}
			if len(u.Snapshot().Marks) != 3 {
				t.Errorf("%d marks", len(u.Snapshot().Marks))
			}
		})
	}
}

// The spellings of what is granted: the project's own, the root's own, and what follows from both.
func TestSpellings(t *testing.T) {
	top := tree(t, "p/a/in")
	for name, to := range map[string]string{"plink": "p", "rlink": "p/a/in"} {
		if err := os.Symlink(top+"/"+to, top+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	ceil := ceiling(t, project("a", top+"/plink/a", rootbound.ReadWrite))
	check := func(root string, yes, no []string) {
		t.Helper()
		u := acquire(t, declared(uri(top, root)).authority(t, ceil), false)
		defer u.Release()
		for _, p := range yes {
			if ref, ok := u.Snapshot().Set.Map(top + "/" + p); !ok || ref.Path != "f" {
				t.Errorf("root %s: %s is %v, %v", root, p, ref, ok)
			}
		}
		for _, p := range no {
			if ref, ok := u.Snapshot().Set.Map(top + "/" + p); ok {
				t.Errorf("root %s: %s is %v", root, p, ref)
			}
		}
	}
	check("rlink", []string{"rlink/f", "p/a/in/f", "plink/a/in/f"}, []string{"p/a/f", "plink/a/f", "p/f"})
	check("p", []string{"p/a/f", "plink/a/f"}, []string{"p/f", "rlink/f"})
}

func TestG03RootsNeverWiden(t *testing.T) {
	top := tree(t, "p/a/in/x", "p/a/nested/y", "p/b", "out/z", "p/secret")
	if err := os.Symlink(top+"/out", top+"/p/a/exit"); err != nil {
		t.Fatal(err)
	}
	ceil := ceiling(t, project("a", top+"/p/a", rootbound.ReadOnly), project("n", top+"/p/a/nested", rootbound.List))
	all := []string{"", "p", "p/a", "p/a/in", "p/a/in/x", "p/a/nested", "p/a/nested/y", "p/b", "out", "out/z", "p/secret", "p/a/exit", "p/a/exit/z", "missing"}
	for i := range all {
		for j := range all {
			a := declared(uri(top, all[i]), uri(top, all[j])).authority(t, ceil)
			u, err := a.Acquire(context.Background(), true)
			if err != nil {
				isReason(t, err, rootbound.NoOverlap, err.(*rootbound.Error).Detail)
				continue
			}
			for _, g := range u.Snapshot().Grants {
				p := g.Root.Path()
				want := rootbound.ReadOnly
				switch {
				case roots.Within(top+"/p/a/nested", p):
					want = rootbound.List
				case !roots.Within(top+"/p/a", p):
					t.Errorf("roots %s, %s: granted %s", all[i], all[j], p)
				}
				if g.Project.Rights != want {
					t.Errorf("roots %s, %s: %s has %s", all[i], all[j], p, g.Project.Rights)
				}
				if !roots.Within(top+"/"+all[i], p) && !roots.Within(top+"/"+all[j], p) {
					if real, _ := filepath.EvalSymlinks(top + "/" + all[i]); !roots.Within(real, p) {
						t.Errorf("roots %s, %s: granted %s, which neither holds", all[i], all[j], p)
					}
				}
			}
			u.Release()
		}
	}
}
