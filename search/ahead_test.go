package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/rig/early"
)

// TestFilesReadAhead: a search by name gives the same pages, whoever reads the directories, and has none read ahead that it
// does not go into.
func TestFilesReadAhead(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	said := 0
	for range 8 {
		dir := t.TempDir()
		dirs := []string{dir}
		for range 40 {
			d := fmt.Sprintf("%s/%c%d", dirs[r.IntN(len(dirs))], 'a'+rune(r.IntN(3)), r.IntN(9))
			dirs = append(dirs, d)
			put(t, d+"/x.go", d+"/y.txt")
		}
		write(t, dir+"/.gitignore", "a1/\n*2\n!b2\n")
		write(t, dirs[5]+"/.ignore", "c*/\n")
		put(t, dir+"/.git/HEAD")
		x, err := CompileExcludes([]string{"**/b3", "c4"})
		if err != nil {
			t.Fatal(err)
		}
		o := open(t, dir, "")
		for _, pattern := range []string{"**/*.go", "*", "a*/**", "**", "b1/*/x.go"} {
			for _, opt := range []Options{{Limit: 1000}, {Limit: 3}, {Limit: 7, Exclude: x}} {
				for _, ignores := range []bool{false, true} {
					pages := func(readers int) (all []any) {
						for opt.Cursor = ""; ; {
							if opt.Ignores = nil; ignores {
								if opt.Ignores, err = NewIgnores(context.Background(), nil); err != nil {
									t.Fatal(err)
								}
							}
							page := find(t, early.Walk{Object: o, T: t, Readers: readers, Said: &said}, pattern, opt)
							all = append(all, page, opt.Ignores.Unread())
							if opt.Cursor = page.Next; opt.Cursor == "" {
								return all
							}
						}
					}
					want := pages(-1)
					for readers := 1; readers <= 2; readers++ {
						if got := pages(readers); !reflect.DeepEqual(got, want) {
							t.Errorf("%s, %d readers: %v, want %v", pattern, readers, got, want)
						}
					}
				}
			}
		}
	}
	if said == 0 {
		t.Error("nothing was read ahead")
	}
}

// TestIgnoresReadAhead: what is asked before its turn takes nothing of what the patterns of an answer may take.
func TestIgnoresReadAhead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/.gitignore", strings.Repeat("*a???????????????c\n", 3000)+"A*\n") // more for the names of a than one file may take
	for n := range 20 {
		put(t, fmt.Sprintf("%s/A%d/f", dir, n%4), fmt.Sprintf("%s/d%02d/f", dir, n), fmt.Sprintf("%s/%s%02d/f", dir, strings.Repeat("a", 200), n))
	}
	o, said := open(t, dir, ""), 0
	var want []any
	for readers := -1; readers <= 2; readers++ {
		x, err := NewIgnores(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := []any{find(t, early.Walk{Object: o, T: t, Readers: readers, Said: &said}, "**", Options{Limit: 1000, Ignores: x}), x.Unread()}
		if x.Unread().Spent.Count == 0 {
			t.Error("the patterns took no time")
		}
		if hits := fmt.Sprint(got[0]); strings.Contains(hits, "A") {
			t.Errorf("%d readers: what is left out when its turn comes shows: %s", readers, hits)
		}
		if want == nil {
			want = got
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%d readers: %v, want %v", readers, got, want)
		}
	}
}
