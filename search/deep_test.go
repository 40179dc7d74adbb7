package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// deepest makes n directories, one in the other, each of that name, and files by their path in it. No path of one call leads
// there, so all is made and removed by handles.
func deepest(t *testing.T, dir string, n int, name string, files map[string]string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	t.Cleanup(func() { flatten(t, dir, name) })
	if err := root.MkdirAll(strings.TrimSuffix(strings.Repeat(name+"/", n), "/"), 0o755); err != nil {
		t.Fatal(err)
	}
	for p, text := range files {
		if err := root.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// flatten removes such a directory level by level: os.RemoveAll holds one descriptor for each.
func flatten(t *testing.T, dir, name string) {
	top, next := dir+"/"+name, dir+"/.next"
	for {
		err := os.Rename(top+"/"+name, next)
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
			return
		}
		if err != nil { // the last level
			return
		}
		if err := os.Rename(next, top); err != nil {
			t.Error(err)
			return
		}
	}
}

// TestDeepTree: what lies deeper than a path may be long is found page by page, each of which goes on behind the one
// before.
func TestDeepTree(t *testing.T) {
	n, name := 140, strings.Repeat("n", 200)
	if os.Getenv("RB_LONG") != "" {
		n, name = 40_000, "s"
	}
	dir := t.TempDir()
	var want []string
	files := map[string]string{}
	for level := 0; level <= n; level += n / 9 {
		p := strings.Repeat(name+"/", level) + "a"
		files[p], want = "needle\n", append(want, p+":1")
	}
	for i := range 50 {
		p := fmt.Sprintf("%sb%02d", strings.Repeat(name+"/", n), i)
		files[p], want = "a needle\nanother needle\n", append(want, p+":1", p+":2")
	}
	deepest(t, dir, n, name, files)
	o, m := open(t, dir, ""), needle(t, "needle")
	var got []string
	pages := 0
	for cursor, more := "", true; more; pages++ {
		r, err := Content(context.Background(), o, m, ContentOptions{Limit: 7, Cursor: cursor})
		if err != nil {
			t.Fatalf("page %d: %v", pages+1, err)
		}
		for _, f := range r.Files {
			for _, h := range f.Hits {
				got = append(got, fmt.Sprintf("%s:%d", f.Path, h.Line))
			}
		}
		cursor, more = r.Next, r.Truncated
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("content: %d of %d lines on %d pages", len(got), len(want), pages)
	}

	p, err := Compile("**/b*")
	if err != nil {
		t.Fatal(err)
	}
	const most = 256 << 10
	names := 0
	for cursor, more := "", true; more; {
		r, err := Files(context.Background(), o, p, Options{Limit: 20, Cursor: cursor, MaxText: most, Prefix: 100})
		if err != nil {
			t.Fatal(err)
		}
		text := 0
		for _, h := range r.Hits {
			text += 100 + len(h.Path) + 1
		}
		if text > most || r.Truncated && r.Why != CutText {
			t.Errorf("names: a page of %d bytes, cut by %s", text, r.Why)
		}
		names += len(r.Hits)
		cursor, more = r.Next, r.Truncated
	}
	if names != 50 {
		t.Errorf("names: %d of 50", names)
	}
}

// TestOrder compares with the names one by one.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	path := func() string {
		b := []byte(strings.Repeat("n/", r.IntN(2)*40))
		for range r.IntN(6) {
			b = append(b, "a/.~/"[r.IntN(5)])
		}
		return string(b)
	}
	seen := map[int]int{}
	for range 20_000 {
		a, b := path(), path()
		got := order(a, b)
		if want := slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
		seen[got]++
	}
	if len(seen) != 3 {
		t.Errorf("%v", seen)
	}
}
