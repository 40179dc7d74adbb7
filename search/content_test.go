package search

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/search/match"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func needle(t testing.TB, text string) *match.Matcher {
	t.Helper()
	m, err := match.Compile(text, match.Options{Literal: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// grove is a tree with files of zero to five lines that hold "needle", some binary, some directories full.
func grove(t testing.TB) string {
	dir := t.TempDir()
	for d := range 23 {
		for f := range 1 + d*d%150 {
			var b strings.Builder
			for l := range (d*7 + f*3) % 6 {
				fmt.Fprintf(&b, "line %d\nhere a needle of %d\n", l, f)
			}
			if f%31 == 30 {
				b.WriteString("a needle and \x00\n")
			}
			write(t, fmt.Sprintf("%s/d%d/s%d/file %d", dir, d%4, d, f), b.String())
			if f%17 == 0 {
				write(t, fmt.Sprintf("%s/d%d/s%d/file %d.d/needle", dir, d%4, d, f), "one needle")
			}
		}
	}
	return dir
}

// lines are the hits in the tree as an other reader finds them.
func lines(t testing.TB, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		if strings.Contains(string(b), "\x00") {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		for i, l := range strings.Split(string(b), "\n") {
			if strings.Contains(l, "needle") {
				out = append(out, fmt.Sprintf("%s:%d:%s", rel, i+1, l))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func told(r ContentResult) (out []string) {
	for _, f := range r.Files {
		for _, h := range f.Hits {
			out = append(out, fmt.Sprintf("%s:%d:%s", f.Path, h.Line, h.Text))
		}
	}
	return out
}

// pages asks for page after page.
func pages(t testing.TB, w Sweeper, m *match.Matcher, o ContentOptions) (out []string, n int) {
	t.Helper()
	for {
		r, err := Content(context.Background(), w, m, o)
		if err != nil {
			t.Fatal(err)
		}
		got := told(r)
		if out = append(out, got...); len(got) != r.Hits {
			t.Fatalf("%d hits said, %d given", r.Hits, len(got))
		}
		if n++; !r.Truncated {
			if r.Why != "" || r.Next != "" {
				t.Errorf("not cut, but %q %q", r.Why, r.Next)
			}
			return out, n
		}
		if r.Why == "" || r.Next == "" || r.Next == o.Cursor || n > 10_000 {
			t.Fatalf("cut by %q, goes on with %q", r.Why, r.Next)
		}
		o.Cursor = r.Next
	}
}

func TestContentInOrder(t *testing.T) {
	dir := grove(t)
	want := lines(t, dir)
	o, m := open(t, dir, ""), needle(t, "needle")
	if len(want) < 2000 {
		t.Fatal(len(want))
	}
	for _, c := range []ContentOptions{{Limit: 1 << 30}, {Limit: 131}, {Limit: 97}, {Limit: 1 << 30, MaxText: 5000}, {Limit: 500, MaxFiles: 10}, {Limit: 1 << 30, MaxBytes: 20_000}} {
		got, n := pages(t, o, m, c)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d of %d hits on %d pages", c, len(got), len(want), n)
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("hit %d is %q, want %q", i, got[i], want[i])
					break
				}
			}
		}
	}
}

func TestContentLeavesOutWhatIsIgnored(t *testing.T) {
	dir := t.TempDir()
	for p, text := range map[string]string{".gitignore": "*.log\n/out/\n", "a": "needle", "a.log": "needle", "out/a": "needle", "sub/.ignore": "!*.log\nb\n",
		"sub/a.log": "needle", "sub/b": "needle", ".git/x": "needle"} {
		write(t, dir+"/"+p, text)
	}
	for want, o := range map[string]ContentOptions{
		"a sub/a.log": {}, ".git/x a a.log out/a sub/a.log sub/b": {IncludeIgnored: true}} {
		r, err := Content(context.Background(), open(t, dir, ""), needle(t, "needle"), o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Files {
			got = append(got, f.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestContentFilters(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"a.go", "b.txt", "x/a.go", "x/b.txt", "y/z/a.go"} {
		write(t, dir+"/"+p, "needle")
	}
	o, m := open(t, dir, ""), needle(t, "needle")
	filter := func(patterns ...string) Filter {
		x, err := CompileExcludes(patterns)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, c := range []struct {
		o    ContentOptions
		want string
	}{
		{ContentOptions{}, "a.go b.txt x/a.go x/b.txt y/z/a.go"},
		{ContentOptions{Include: filter("**/*.go")}, "a.go x/a.go y/z/a.go"},
		{ContentOptions{Include: filter("**/*.go"), Exclude: filter("y")}, "a.go x/a.go"},
		{ContentOptions{Exclude: filter("**/*.txt", "x/a.go")}, "a.go y/z/a.go"},
		{ContentOptions{Exclude: Excludes{}, Include: Excludes{}}, "a.go b.txt x/a.go x/b.txt y/z/a.go"},
		{ContentOptions{Cursor: "-:b.txt"}, "x/a.go x/b.txt y/z/a.go"},
		{ContentOptions{Cursor: "1:b.txt"}, "x/a.go x/b.txt y/z/a.go"},
		{ContentOptions{Cursor: "0:b.txt"}, "b.txt x/a.go x/b.txt y/z/a.go"},
		{ContentOptions{Cursor: "7:x"}, "x/a.go x/b.txt y/z/a.go"},
		{ContentOptions{Cursor: "-:x/a"}, "x/a.go x/b.txt y/z/a.go"},
		{ContentOptions{Cursor: "-:../../etc/passwd"}, "a.go b.txt x/a.go x/b.txt y/z/a.go"},
		{ContentOptions{Cursor: "-:zz"}, ""},
	} {
		r, err := Content(context.Background(), o, m, c.o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Files {
			got = append(got, f.Path)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
	for _, cursor := range []string{"x", ":", "-1:x", "1.5:x", "99999999999:x"} {
		_, err := Content(context.Background(), o, m, ContentOptions{Cursor: cursor})
		if rootbound.ReasonOf(err) != rootbound.ArgumentInvalid {
			t.Errorf("%.40q: %v", cursor, err)
		}
	}
}

// TestContentOfOneFile goes on inside a file, at the line the page before ended with.
func TestContentOfOneFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/f", strings.Repeat("a needle\nnone\n", 1000))
	o := openFile(t, dir, "f")
	got, n := pages(t, o, needle(t, "needle"), ContentOptions{Limit: 99, Context: 1})
	whole, m := int64(len(strings.Repeat("a needle\nnone\n", 1000))), needle(t, "needle")
	if all, pages := pages(t, o, m, ContentOptions{Limit: 1 << 20, MaxBytes: whole, Time: time.Hour}); len(all) != 1000 || pages != 2 {
		t.Errorf("as many bytes as may be read: %d hits on %d pages", len(all), pages)
	}
	if r, err := Content(context.Background(), o, m, ContentOptions{MaxBytes: whole - 1}); err != nil || r.Hits != 0 || r.Skips != 1 || r.Truncated {
		t.Errorf("more than may be read: %+v, %v", r, err)
	}
	if len(got) != 1000 || n != 11 || got[999] != ":1999:a needle" {
		t.Errorf("%d hits on %d pages, the last %q", len(got), n, got[len(got)-1])
	}
}

// TestContentTimeMakesProgress: however early the time ends, each page comes behind the one before, and nothing is lost.
func TestContentTimeMakesProgress(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		write(t, fmt.Sprintf("%s/d%d/f", dir, i), "needle")
	}
	o, m := open(t, dir, ""), needle(t, "needle")
	found := 0
	for n, cursor := 0, ""; ; n++ {
		r, err := Content(context.Background(), o, m, ContentOptions{Time: time.Nanosecond, Cursor: cursor, Step: func() { <-time.After(2 * time.Millisecond) }})
		if err != nil || n > 100 {
			t.Fatal(n, err)
		}
		found += r.Hits + r.Skips
		if !r.Truncated {
			break
		}
		if r.Why != CutTime {
			t.Fatal(r.Why)
		}
		cursor = r.Next
	}
	if found != 5 {
		t.Errorf("%d of 5 files were searched or named", found)
	}
}

// TestContentTimeEndsAWalk: also one that finds nothing to search ends in time, and goes on where it was.
func TestContentTimeEndsAWalk(t *testing.T) {
	dir := t.TempDir()
	for i := range 600 {
		write(t, fmt.Sprintf("%s/d%d/f%03d.log", dir, i%2, i), "")
	}
	write(t, dir+"/.gitignore", "*.log")
	write(t, dir+"/e", "needle")
	o, m := open(t, dir, ""), needle(t, "needle")
	none, err := CompileExcludes([]string{"e"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []ContentOptions{{}, {IncludeIgnored: true, Include: none}} {
		found, n, seen := 0, 0, 0
		for c.Time = time.Nanosecond; n < 100; n++ {
			late := make(chan struct{})
			c.onLate = func() { close(late) }
			c.Step = func() {
				if seen++; seen == 1 {
					<-late
				}
			}
			r, err := Content(context.Background(), o, m, c)
			if err != nil {
				t.Fatal(err)
			}
			found += r.Hits
			if c.Cursor = r.Next; !r.Truncated {
				break
			}
			c.Time = time.Hour
		}
		if found != 1 || n != 1 {
			t.Errorf("%d hits on %d pages", found, n+1)
		}
	}
}

// TestEntriesThatTakeLong: the time is looked at for each entry, as one may be dear to judge, and pages go on one entry behind
// the other at least.
func TestEntriesThatTakeLong(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 20 {
		write(t, fmt.Sprintf("%s/d%d/f%02d.txt", dir, i%2, i), "needle")
		write(t, fmt.Sprintf("%s/d%d/g%02d.log", dir, i%2, i), "needle")
		want = append(want, fmt.Sprintf("d%d/f%02d.txt", i%2, i))
	}
	slices.Sort(want)
	write(t, dir+"/.gitignore", "*.log")
	o, m := open(t, dir, ""), needle(t, "needle")
	every, err := Compile("**/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]func(cursor string, step, late func()) (got []string, visited int, why Cut, next string){
		"content": func(cursor string, step, late func()) (got []string, visited int, why Cut, next string) {
			r, err := Content(context.Background(), o, m, ContentOptions{Cursor: cursor, Time: time.Nanosecond, Step: step, onLate: late})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Files {
				got = append(got, f.Path)
			}
			for _, f := range r.Skipped { // that the time ended in
				got = append(got, f.Path)
			}
			return got, r.Visited, r.Why, r.Next
		},
		"names": func(cursor string, step, late func()) (got []string, visited int, why Cut, next string) {
			x, err := NewIgnores(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Files(context.Background(), o, every, Options{Cursor: cursor, Late: func() bool { return true }, Ignores: x})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range r.Hits {
				got = append(got, h.Path)
			}
			return got, r.Visited, r.Why, r.Next
		},
	} {
		var got []string
		cursor, pages := "", 0
		for ; pages < 100; pages++ {
			late := make(chan struct{})
			found, visited, why, next := page(cursor, func() { <-late }, func() { close(late) })
			got = append(got, found...)
			if next == "" {
				break
			}
			if why != CutTime || len(found) > 2 || pages == 0 && visited > 3 {
				t.Fatalf("%s: %v for %q after %d entries", name, found, why, visited)
			}
			cursor = next
		}
		got = slices.DeleteFunc(got, func(s string) bool { return s == ".gitignore" })
		if !slices.Equal(got, want) || pages < 10 {
			t.Errorf("%s: %d pages with %q", name, pages, got)
		}
	}
}

// counting keeps what a search says it has read.
type counting struct {
	*beneath.Object
	bytes int64
}

func (c *counting) Count(n int64) { c.bytes += n }

// TestIgnoreFilesAreRead: what is read of ignore files counts as read, where files are read too and where the walk meets none.
func TestIgnoreFilesAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		rules string
		hits  int
	}{"files": {"*.log\n", 8}, "no files": {"f\n", 0}} {
		dir := t.TempDir()
		rules := c.rules + strings.Repeat("#\n", 5000)
		for i := range 8 {
			write(t, fmt.Sprintf("%s/d%d/.gitignore", dir, i), rules)
			write(t, fmt.Sprintf("%s/d%d/f", dir, i), "needle\n")
		}
		o, m := &counting{Object: open(t, dir, "")}, needle(t, "needle")
		none, err := CompileExcludes([]string{"**/.gitignore"})
		if err != nil {
			t.Fatal(err)
		}
		hits, pages := 0, 0
		for cursor := ""; ; pages++ {
			// two and a half files of rules: three are read before the page ends
			r, err := Content(context.Background(), o, m, ContentOptions{Exclude: none, Cursor: cursor, MaxBytes: int64(len(rules) * 5 / 2)})
			if err != nil || pages > 100 {
				t.Fatal(err, pages)
			}
			hits += r.Hits
			if cursor = r.Next; !r.Truncated {
				break
			}
			if r.Why != CutBytes {
				t.Fatal(r.Why)
			}
		}
		if hits != c.hits || pages < 2 {
			t.Errorf("%s: %d hits on %d pages", name, hits, pages+1)
		}
		if least := int64(8*len(rules) + 7*hits); o.bytes < least {
			t.Errorf("%s: %d bytes are told to have been read, of at least %d", name, o.bytes, least)
		}
	}
}

func openFile(t testing.TB, dir, rel string) *beneath.Object {
	t.Helper()
	root, err := beneath.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	o, err := beneath.NewSet([]beneath.Member{{Root: root}}, nil).Open(beneath.Ref{Path: rel}, beneath.File)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close(); root.Release() })
	return o
}
