package fileop

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/rig/early"
)

// TestTreeReadAhead: a tree is the same page by page, whoever reads the directories, and none is read ahead that it does not
// go into.
func TestTreeReadAhead(t *testing.T) {
	dir := t.TempDir()
	for n := range 60 {
		put(t, fmt.Sprintf("%s/%d/%d/%d/f%d", dir, n%5, n%7, n%4, n), "")
	}
	o, said := openDir(t, dir), 0
	for _, opt := range []TreeOptions{{}, {Nodes: 7}, {Depth: 2, Nodes: 11}, {Nodes: 9, Excluded: func(rel string) bool { return strings.HasSuffix(rel, "3") }}} {
		pages := func(readers int) (all []Tree) {
			for opt.After = ""; ; {
				page, err := Grow(bg, early.Walk{Object: o, T: t, Readers: readers, Said: &said}, opt)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, page)
				if opt.After = page.Next; opt.After == "" {
					return all
				}
			}
		}
		want := pages(-1)
		for readers := 1; readers <= 2; readers++ {
			if got := pages(readers); !reflect.DeepEqual(got, want) {
				t.Errorf("%d readers: %v, want %v", readers, got, want)
			}
		}
	}
	if said == 0 {
		t.Error("nothing was read ahead")
	}
}
