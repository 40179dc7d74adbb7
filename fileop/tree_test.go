package fileop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/beneath"
)

// pathsOf gives the paths of the nodes that were on no page before, and of those that are there again.
func pathsOf(nodes []Branch) (fresh, again []string) {
	var at []string
	for _, n := range nodes {
		at = append(at[:n.Depth-1], n.Name)
		if p := strings.Join(at, "/"); n.Before {
			again = append(again, p)
		} else {
			fresh = append(fresh, p)
		}
	}
	return fresh, again
}

// TestTreePages puts pages of every size together: they are the whole tree, nothing twice, nothing missing, and a directory
// that is there again holds something.
func TestTreePages(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 6 {
		dir := t.TempDir()
		dirs := []string{""}
		for range 30 {
			p := filepath.Join(dirs[r.IntN(len(dirs))], string(rune('a'+r.IntN(6)))+[]string{"", "-", ".x"}[r.IntN(3)])
			if i, err := os.Lstat(filepath.Join(dir, p)); err == nil && !i.IsDir() {
				continue
			}
			if r.IntN(2) == 0 {
				dirs = append(dirs, p)
				if err := os.MkdirAll(filepath.Join(dir, p), 0o755); err != nil {
					t.Fatal(err)
				}
			} else if _, err := os.Lstat(filepath.Join(dir, p)); err != nil {
				put(t, filepath.Join(dir, p), "")
			}
		}
		o := openDir(t, dir)
		excluded := func(rel string) bool { return strings.HasSuffix(rel, "c") }
		for _, opt := range []TreeOptions{{}, {Depth: 2}, {Excluded: excluded}} {
			whole, err := Grow(bg, o, opt)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := pathsOf(whole.Nodes)
			if len(want) < 5 {
				t.Fatalf("a tree of %q", want)
			}
			for size := 1; size <= len(want)+1; size++ {
				var got []string
				opt.Nodes, opt.After = size, ""
				for more := true; more; {
					page, err := Grow(bg, o, opt)
					if err != nil {
						t.Fatal(err)
					}
					fresh, again := pathsOf(page.Nodes)
					for _, d := range again {
						if !slices.ContainsFunc(fresh, func(p string) bool { return strings.HasPrefix(p, d+"/") }) {
							t.Errorf("%s is there again for nothing: %q", d, fresh)
						}
						if !slices.Contains(got, d) {
							t.Errorf("%s is said to be there again", d)
						}
					}
					if len(fresh) == 0 && len(want) > 0 || len(fresh) > size {
						t.Fatalf("a page of %d of %d", len(fresh), size)
					}
					got = append(got, fresh...)
					if more = page.Truncated; more {
						opt.After = fresh[len(fresh)-1]
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("pages of %d: %q, the whole is %q", size, got, want)
				}
			}
		}
	}
}

// TestTreePagesInTime: pages that end because it is late are the whole tree too, each behind the one before, where nodes are left
// out as well; and what was on a page before is not asked about again.
func TestTreePagesInTime(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"a/b/c/d", "a/b/c/e", "a/b/f.x", "a/g.x/h/i", "a/j", "k.x", "l.x/m", "n/o.x", "n/p.x", "q", "r/s.x/t", "u.y/v/w", "x.y", "z.x"} {
		put(t, dir+"/"+f, "")
	}
	o := openDir(t, dir)
	hide := func(c beneath.Course) beneath.Course {
		visit := c.Visit
		c.Visit = func(n *beneath.Node) (beneath.Step, error) {
			if strings.HasSuffix(n.Name(), ".x") {
				return beneath.Over, nil
			}
			return visit(n)
		}
		return c
	}
	for _, opt := range []TreeOptions{{}, {Depth: 2}, {Nodes: 2}, {Along: hide}, {Along: hide, Excluded: func(rel string) bool { return strings.HasSuffix(rel, ".y") }},
		{Excluded: func(string) bool { return true }}} {
		all := opt
		all.Nodes = 0
		whole, err := Grow(bg, o, all)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := pathsOf(whole.Nodes)
		for every := 1; every < 30; every++ {
			var got []string
			asked, pages, empty := 0, 0, 0
			one := opt
			one.Late = func() bool { asked++; return asked%every == 0 }
			if one.Excluded != nil {
				seen := map[string]int{}
				one.Excluded = func(rel string) bool {
					if seen[rel]++; seen[rel] > 2 || seen[rel] > 1 && rel != one.After {
						t.Errorf("every %d: asked about %s again", every, rel)
					}
					return opt.Excluded(rel)
				}
			}
			for ; pages < 100; pages++ {
				page, err := Grow(bg, o, one)
				if err != nil {
					t.Fatal(err)
				}
				fresh, again := pathsOf(page.Nodes)
				if got = append(got, fresh...); len(fresh) == 0 {
					if empty++; len(again) > 0 {
						t.Errorf("%q are there again for nothing", again)
					}
				}
				if page.Truncated != (page.Next != "") || page.Late && !page.Truncated {
					t.Fatalf("%+v", page)
				}
				if !page.Truncated {
					break
				}
				one.After = page.Next
			}
			if !slices.Equal(got, want) || pages == 100 || opt.Nodes == 0 && pages != asked/every {
				t.Errorf("every %d: %d pages with %q, the whole is %q", every, pages, got, want)
			}
			if every == 1 && opt.Along != nil && empty < 5 {
				t.Errorf("%d pages without a node", empty)
			}
		}
	}
}

// TestTreeGoesOnBehindWhatIsGone: the node a page ended with may be deleted, made anew as another kind, or never have been.
func TestTreeGoesOnBehindWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"a/x", "b/c/d", "b/c/f", "b/g", "h", "i/j"} {
		put(t, dir+"/"+f, "")
	}
	o := openDir(t, dir)
	for after, want := range map[string]string{
		"b/c/e":      "b/c/f b/g h i i/j |b b/c",
		"b/c":        "b/c/d b/c/f b/g h i i/j |b b/c",
		"b/c/f":      "b/g h i i/j |b",
		"b/d/x/y":    "b/g h i i/j |b",
		"b/g/x":      "h i i/j |",
		"aa":         "b b/c b/c/d b/c/f b/g h i i/j |",
		"h/none/at":  "i i/j |",
		"z":          " |",
		"i/j":        " |",
		"/":          "a a/x b b/c b/c/d b/c/f b/g h i i/j |",
		"a//x":       "a/x b b/c b/c/d b/c/f b/g h i i/j |a",
		"../secrets": "a a/x b b/c b/c/d b/c/f b/g h i i/j |",
	} {
		tr, err := Grow(bg, o, TreeOptions{After: after})
		fresh, again := pathsOf(tr.Nodes)
		if got := fmt.Sprintf("%s |%s", strings.Join(fresh, " "), strings.Join(again, " ")); err != nil || got != want {
			t.Errorf("after %s: %q, want %q (%v)", after, got, want, err)
		}
	}
}

func TestTreeAtTheBoundOnDepth(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/a/b/c", "")
	put(t, dir+"/d", "")
	tr, err := Grow(bg, openDir(t, dir), TreeOptions{Depth: 1, Along: func(c beneath.Course) beneath.Course {
		visit := c.Visit
		c.Visit = func(n *beneath.Node) (beneath.Step, error) {
			if n.Name() == "d" {
				return beneath.Over, nil
			}
			return visit(n)
		}
		return c
	}})
	if err != nil || !tr.Deep || len(tr.Nodes) != 1 || !tr.Nodes[0].Closed {
		t.Errorf("%+v, %v", tr, err)
	}
}
