package fileop

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

func names(items []Item) string {
	var out []string
	for _, i := range items {
		out = append(out, i.Name)
	}
	return strings.Join(out, " ")
}

func TestListPages(t *testing.T) {
	dir := t.TempDir()
	for i := range 25 {
		put(t, fmt.Sprintf("%s/f%02d", dir, i), strings.Repeat("x", i%7))
	}
	o := openDir(t, dir)
	for _, bySize := range []bool{false, true} {
		seen := map[string]bool{}
		var all []Item
		cursor := ""
		for pages := 1; ; pages++ {
			l, err := List(bg, o, ListOptions{Limit: 10, Cursor: cursor, BySize: bySize})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range l.Items {
				if seen[i.Name] {
					t.Errorf("%s twice", i.Name)
				}
				seen[i.Name] = true
			}
			all = append(all, l.Items...)
			if l.Truncated != (l.Next != "") {
				t.Errorf("cut %v, next %q", l.Truncated, l.Next)
			}
			if cursor = l.Next; cursor == "" {
				if pages != 3 || len(all) != 25 {
					t.Errorf("%d entries in %d pages", len(all), pages)
				}
				break
			}
		}
		for i := 1; i < len(all); i++ {
			a, b := all[i-1], all[i]
			if bySize && (a.Size < b.Size || a.Size == b.Size && a.Name > b.Name) || !bySize && a.Name > b.Name {
				t.Errorf("by size %v: %s %d in front of %s %d", bySize, a.Name, a.Size, b.Name, b.Size)
			}
		}
	}
	_, err := List(bg, o, ListOptions{BySize: true, Cursor: "nonsense"})
	wantReason(t, err, rootbound.ArgumentInvalid)
}

// TestListGoesOnBySizeAndByName: what is not sorted in by size is the rest of the list by name.
func TestListGoesOnBySizeAndByName(t *testing.T) {
	dir := t.TempDir()
	for i := range 25 {
		put(t, fmt.Sprintf("%s/f%02d", dir, i), strings.Repeat("x", i%7))
	}
	d := openDir(t, dir)
	seen := map[string]int{}
	o := ListOptions{Limit: 4, BySize: true, sorted: 10}
	for {
		l, err := List(bg, d, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range l.Items {
			seen[i.Name]++
		}
		switch {
		case l.Truncated:
			o.Cursor = l.Next
			continue
		case l.LeftOut:
			o.Cursor, o.BySize = l.Rest, false
			continue
		}
		break
	}
	for i := range 25 {
		if n := seen[fmt.Sprintf("f%02d", i)]; n != 1 {
			t.Errorf("f%02d is there %d times", i, n)
		}
	}
}

func TestListLinks(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	put(t, out+"/secret", strings.Repeat("s", 777))
	put(t, dir+"/sub/f", "12345")
	for name, to := range map[string]string{"d": "sub", "f": "sub/f", "out": out + "/secret", "outdir": out, "gone": "nothing"} {
		if err := os.Symlink(to, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	l, err := List(bg, openDir(t, dir), ListOptions{Details: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(l.Items); got != "d f gone out outdir sub" {
		t.Error(got)
	}
	for _, i := range l.Items {
		link := i.Name != "sub"
		if isLink := i.Type&os.ModeSymlink != 0; isLink != link {
			t.Errorf("%s: link %v", i.Name, isLink)
		}
		if dir := i.Name == "d" || i.Name == "sub"; i.Dir != dir {
			t.Errorf("%s: directory %v", i.Name, i.Dir)
		}
		if i.Size == 777 || i.Name == "f" && i.Size != 5 || i.Name == "out" && i.Size != int64(len(out+"/secret")) {
			t.Errorf("%s: size %d", i.Name, i.Size)
		}
	}
}

func flat(tr Tree) string {
	var b strings.Builder
	for _, n := range tr.Nodes {
		b.WriteString(strings.Repeat(">", n.Depth) + n.Name)
		if n.Dir {
			b.WriteByte('/')
		}
		if n.Reach {
			b.WriteByte('@')
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/a/b/c", "")
	put(t, dir+"/a/d", "")
	put(t, dir+"/e", "")
	put(t, dir+"/.h/x", "")
	if err := os.Symlink("a", dir+"/l"); err != nil {
		t.Fatal(err)
	}
	o := openDir(t, dir)
	for _, c := range []struct {
		name      string
		o         TreeOptions
		want      string
		cut, deep bool
	}{
		{"all", TreeOptions{}, ">.h/ >>x >a/ >>b/ >>>c >>d >e >l@", false, false},
		{"bound", TreeOptions{Nodes: 4}, ">.h/ >>x >a/ >>b/", true, false},
		{"exactly the bound", TreeOptions{Nodes: 8}, ">.h/ >>x >a/ >>b/ >>>c >>d >e >l@", false, false},
		{"depth", TreeOptions{Depth: 2}, ">.h/ >>x >a/ >>b/ >>d >e >l@", false, true},
		{"excluded", TreeOptions{Excluded: func(rel string) bool { return rel == "a/b" || rel == ".h" }}, ">a/ >>d >e >l@", false, false},
	} {
		tr, err := Grow(bg, o, c.o)
		if err != nil || flat(tr) != c.want || tr.Truncated != c.cut || tr.Deep != c.deep {
			t.Errorf("%s: %q cut %v deep %v, %v", c.name, flat(tr), tr.Truncated, tr.Deep, err)
		}
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err := Grow(ctx, o, TreeOptions{})
	wantReason(t, err, rootbound.Cancelled)
}

// TestTreeBelowADirectory excludes relative to the directory that was asked for, not to the root.
func TestTreeBelowADirectory(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/a/b/c", "")
	put(t, dir+"/a/d", "")
	root, err := beneath.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Release()
	o, err := beneath.NewSet([]beneath.Member{{Root: root}}, nil).Open(beneath.Ref{Path: "a"}, beneath.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var asked []string
	tr, err := Grow(bg, o, TreeOptions{Excluded: func(rel string) bool { asked = append(asked, rel); return rel == "b/c" }})
	if err != nil || flat(tr) != ">b/ >d" || strings.Join(asked, " ") != "b b/c d" {
		t.Errorf("%q %v %v", flat(tr), asked, err)
	}
}
