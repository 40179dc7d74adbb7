package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

func put(t testing.TB, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, dir, rel string) *beneath.Object {
	t.Helper()
	root, err := beneath.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	o, err := beneath.NewSet([]beneath.Member{{Root: root}}, nil).Open(beneath.Ref{Path: rel}, beneath.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close(); root.Release() })
	return o
}

func find(t testing.TB, w Walker, pattern string, o Options) Result {
	t.Helper()
	p, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Files(context.Background(), w, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func paths(r Result) string {
	var out []string
	for _, h := range r.Hits {
		if h.Dir {
			h.Path += "/"
		}
		out = append(out, h.Path)
	}
	return strings.Join(out, " ")
}

func tree(t testing.TB) string {
	dir := t.TempDir()
	put(t, dir+"/a.py", dir+"/sub/m.py", dir+"/sub/.hidden.py", dir+"/sub-2/x.py", dir+"/node_modules/a/package.json", dir+"/package.json", dir+"/p/node_modules/b/package.json")
	return dir
}

func TestFiles(t *testing.T) {
	dir := tree(t)
	for _, c := range []struct {
		pattern  string
		excludes []string
		want     string
		visited  int // 0: any number
	}{
		{"*.py", nil, "a.py", 6},
		{"**/*.py", nil, "a.py sub/.hidden.py sub/m.py sub-2/x.py", 0},
		{"sub", nil, "sub/", 0},
		{"sub/**", nil, "sub/.hidden.py sub/m.py", 0},
		{"**/package.json", []string{"**/node_modules/**"}, "package.json", 0},
		{"**/package.json", []string{"node_modules"}, "p/node_modules/b/package.json package.json", 12},
		{"**/*.py", []string{"sub*"}, "a.py", 0},
		{"nothing", nil, "", 0},
		{"#a", nil, "", 0},
	} {
		x, err := CompileExcludes(c.excludes)
		if err != nil {
			t.Fatal(err)
		}
		r := find(t, open(t, dir, ""), c.pattern, Options{Exclude: x})
		if paths(r) != c.want || c.visited > 0 && r.Visited != c.visited {
			t.Errorf("%q without %q: %q, %d visited", c.pattern, c.excludes, paths(r), r.Visited)
		}
	}
}

func TestFilesBelowADirectory(t *testing.T) {
	dir := tree(t)
	o := open(t, dir, "p")
	if got := paths(find(t, o, "node_modules/**/*.json", Options{})); got != "node_modules/b/package.json" {
		t.Error(got)
	}
}

func TestFilesPages(t *testing.T) {
	dir := tree(t)
	o := open(t, dir, "")
	for limit := 1; limit < 6; limit++ {
		var all []string
		cursor := ""
		for {
			r := find(t, o, "**/*.py", Options{Limit: limit, Cursor: cursor})
			for _, h := range r.Hits {
				all = append(all, h.Path)
			}
			if r.Truncated != (r.Next != "") || len(r.Hits) > limit {
				t.Errorf("cut %v, next %q, %d hits", r.Truncated, r.Next, len(r.Hits))
			}
			if cursor = r.Next; cursor == "" {
				break
			}
		}
		if got := strings.Join(all, " "); got != "a.py sub/.hidden.py sub/m.py sub-2/x.py" {
			t.Errorf("pages of %d: %s", limit, got)
		}
	}
	// directories that lie in front of the cursor are not read again
	if r := find(t, o, "**/*.py", Options{Cursor: "sub/.hidden.py"}); r.Visited > 9 || paths(r) != "sub/m.py sub-2/x.py" {
		t.Errorf("%q, %d visited", paths(r), r.Visited)
	}
}

// TestFilesPagesInTime: pages that end because it is late are together what one page is, each behind the one before, also where
// entries are left out or nothing matches.
func TestFilesPagesInTime(t *testing.T) {
	dir := tree(t)
	write(t, dir+"/p/.gitignore", "/node_modules/b\n")
	o := open(t, dir, "")
	for _, pattern := range []string{"*.py", "**/*.py", "sub/**", "**/package.json", "**", "none", "p/none"} {
		for _, excludes := range [][]string{nil, {"sub*"}, {"**/node_modules/**"}, {"**"}} {
			for _, ignored := range []bool{false, true} {
				page := func(cursor string, late func() bool) Result {
					x, err := CompileExcludes(excludes)
					if err != nil {
						t.Fatal(err)
					}
					opt := Options{Exclude: x, Cursor: cursor, Late: late}
					if ignored {
						if opt.Ignores, err = NewIgnores(context.Background(), nil); err != nil {
							t.Fatal(err)
						}
					}
					return find(t, o, pattern, opt)
				}
				whole := page("", nil)
				for every := 1; every < 20; every++ {
					asked, pages := 0, 0
					var all Result
					for cursor := ""; pages < 100; pages++ {
						r := page(cursor, func() bool { asked++; return asked%every == 0 })
						all.Hits = append(all.Hits, r.Hits...)
						if r.Truncated != (r.Next != "") || r.Truncated && r.Why != CutTime {
							t.Fatalf("%+v", r)
						}
						if cursor = r.Next; cursor == "" {
							break
						}
					}
					if paths(all) != paths(whole) || pages != asked/every || asked > whole.Visited {
						t.Errorf("%q without %q, every %d: %d pages with %q, the whole is %q", pattern, excludes, every, pages, paths(all), paths(whole))
					}
				}
			}
		}
	}
}

func TestLinksAreFoundOnlyIfTheyLeadInside(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	put(t, dir+"/sub/f.txt", out+"/f.txt")
	for name, to := range map[string]string{"in.txt": "sub/f.txt", "dir.txt": "sub", "out.txt": out + "/f.txt", "gone.txt": "nothing"} {
		if err := os.Symlink(to, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if got := paths(find(t, open(t, dir, ""), "**/*.txt", Options{})); got != "dir.txt in.txt sub/f.txt" {
		t.Error(got)
	}
}

func TestFilesIsCancelled(t *testing.T) {
	dir := tree(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, _ := Compile("**")
	_, err := Files(ctx, open(t, dir, ""), p, Options{})
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Reason != rootbound.Cancelled {
		t.Error(err)
	}
}

// BenchmarkFiles50k searches 49,500 files in 400 directories.
func BenchmarkFiles50k(b *testing.B) {
	dir := b.TempDir()
	for d := range 400 {
		sub := fmt.Sprintf("%s/d%02d/s%02d", dir, d/20, d%20)
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 124 {
			name := fmt.Sprintf("%s/file%03d.go", sub, f)
			if f == 7 && d%10 == 0 {
				name += ".txt"
			}
			if err := os.WriteFile(name, nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	o := open(b, dir, "")
	for _, c := range []struct {
		name, pattern string
		exclude       []string
	}{{"suffix", "**/*.txt", nil}, {"name", "**/file007.go.txt", nil}, {"class", "**/*[0-9].go.t?t", nil}, {"braces", "**/*.{txt,md}", nil}, {"excludes", "**/*.txt", []string{"**/node_modules/**", ".git"}}} {
		b.Run(c.name, func(b *testing.B) {
			x, err := CompileExcludes(c.exclude)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if r := find(b, o, c.pattern, Options{Exclude: x}); len(r.Hits) != 40 {
					b.Fatal(len(r.Hits))
				}
			}
		})
	}
}
