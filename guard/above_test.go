//go:build unix

package guard_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard"
)

// TestAboveOpensWhatIsShown: what lies above the object is opened by the rules a walk from there would be shown by, from the
// top of the innermost project on, never through a link.
func TestAboveOpensWhatIsShown(t *testing.T) {
	p := one(rootbound.ReadOnly)
	p.Deny, p.MaxRead = []string{"a/denied/.ignore"}, 20
	h := build(t, guard.Options{}, func(dir string) {
		must(t, os.MkdirAll(filepath.Join(dir, "outside"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "outside/.ignore"), []byte("outside"), 0o644))
		must(t, os.WriteFile(filepath.Join(dir, ".ignore"), []byte("above all"), 0o644))
	}, p, rootbound.Project{ID: "inner", Dir: "p/a/inner", Rights: rootbound.ReadOnly})
	h.file("p/.ignore", "top")
	h.file("p/a/.ignore", "of a")
	h.file("p/a/b/c/f", "")
	h.file("p/a/denied/.ignore", "denied")
	h.file("p/a/denied/large/.ignore", strings.Repeat("x", 21))
	h.link("p/a/denied/large/linked/.ignore", filepath.Join(h.dir, "p/.ignore"))
	h.link("p/a/denied/large/linked/out/.ignore", filepath.Join(h.dir, "outside/.ignore"))
	h.file("p/a/denied/large/linked/out/dir/.ignore/f", "")
	must(t, os.MkdirAll(filepath.Join(h.dir, "p/a/denied/large/linked/out/dir/fifo/end"), 0o755))
	mkfifo(t, filepath.Join(h.dir, "p/a/denied/large/linked/out/dir/fifo/.ignore"))
	h.file("p/a/inner/.ignore", "inner")
	h.file("p/a/inner/d/.ignore", "of d")
	h.file("p/a/inner/d/e/f", "")
	h.link("p/short", "a/b")

	for path, want := range map[string]string{
		".":       " |",
		"a":       "a | :top",
		"a/b/c":   "a/b/c | :top a:of a a/b:-",
		"short/c": "a/b/c | :top a:of a a/b:-",
		"a/denied/large/linked/out/dir/fifo/end": "a/denied/large/linked/out/dir/fifo/end | :top a:of a a/denied:- a/denied/large:- a/denied/large/linked:- " +
			"a/denied/large/linked/out:- a/denied/large/linked/out/dir:- a/denied/large/linked/out/dir/fifo:-",
		"a/inner/d/e": "d/e | :inner d:of d",
	} {
		var got []string
		err := h.do(guard.Request{Op: rootbound.OpTree, Root: "p", Path: path}, func(_ context.Context, tg *guard.Target) error {
			rel, err := tg.Above(func(dir string, open func(string) (*beneath.Object, error)) error {
				text := "-"
				if o, err := open(".ignore"); err == nil {
					b, _ := io.ReadAll(io.NewSectionReader(o, 0, 100))
					text = string(b)
					o.Close()
				}
				got = append(got, fmt.Sprintf("%s:%s", dir, text))
				return nil
			})
			got = slices.Insert(got, 0, rel+" |")
			return err
		})
		must(t, err)
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", path, s, want)
		}
	}
}

// TestAboveEndsWithTheGeneration: nothing above is opened for a generation that ended.
func TestAboveEndsWithTheGeneration(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.ReadOnly))
	h.file("p/.ignore", "top")
	h.file("p/d/f", "")
	err := h.do(guard.Request{Op: rootbound.OpTree, Root: "p", Path: "d"}, func(_ context.Context, tg *guard.Target) error {
		h.auth.Invalidate(rootbound.GenerationStale)
		_, err := tg.Above(func(_ string, open func(string) (*beneath.Object, error)) error {
			o, err := open(".ignore")
			if err == nil {
				o.Close()
			}
			return err
		})
		refused(t, "after the generation ended", err, rootbound.GenerationStale)
		return err
	})
	refused(t, "the call", err, rootbound.GenerationStale)
}
