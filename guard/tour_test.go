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

// TestTourOpensWhatIsShown: what a directory opens for whoever goes along is judged like what is visited.
func TestTourOpensWhatIsShown(t *testing.T) {
	p := one(rootbound.ReadOnly)
	p.Deny, p.MaxRead, p.DenyHardlinks = []string{"**/secret/.ignore", "hidden/**"}, 20, true
	h := build(t, guard.Options{}, func(dir string) {
		must(t, os.MkdirAll(filepath.Join(dir, "outside"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "outside/.ignore"), []byte("outside"), 0o644))
	}, p, rootbound.Project{ID: "inner", Dir: "p/a/inner", Rights: rootbound.List})
	h.file("p/.ignore", "top")
	h.file("p/a/.ignore", "of a")
	h.file("p/a/inner/.ignore", "of another project")
	h.file("p/secret/.ignore", "secret")
	h.file("p/hidden/.ignore", "hidden")
	h.file("p/large/.ignore", strings.Repeat("x", 21))
	h.file("p/twice/.ignore", "two names")
	must(t, os.Link(filepath.Join(h.dir, "p/twice/.ignore"), filepath.Join(h.dir, "p/twice/other")))
	must(t, os.Mkdir(filepath.Join(h.dir, "p/linked"), 0o755))
	h.link("p/linked/.ignore", h.dir+"/outside/.ignore")
	must(t, os.MkdirAll(filepath.Join(h.dir, "p/fifo"), 0o755))
	mkfifo(t, filepath.Join(h.dir, "p/fifo/.ignore"))

	var got []string
	depth := 0
	err := h.do(guard.Request{Op: rootbound.OpSearch, Root: "p", Path: "."}, func(ctx context.Context, tg *guard.Target) error {
		return tg.Tour(ctx, beneath.Course{
			Enter: func(d *beneath.Directory) {
				depth++
				text := "-"
				if o, err := d.Open(".ignore"); err == nil {
					b, _ := io.ReadAll(io.NewSectionReader(o, 0, 100))
					text = string(b)
					o.Close()
				} else if reason(err) != rootbound.NotFound {
					text = string(reason(err))
				}
				got = append(got, fmt.Sprintf("%d %s: %s", depth, d.Rel(), text))
			},
			Leave: func() { depth-- },
			Visit: func(*beneath.Node) (beneath.Step, error) { return beneath.Into, nil },
		})
	})
	must(t, err)
	want := []string{"1 : top", "2 a: of a", "2 fifo: special_file", "2 large: too_large", "2 linked: path_unresolvable", "2 secret: -", "2 twice: rule_denied"}
	if !slices.Equal(got, want) || depth != 0 {
		t.Errorf("%q, depth %d, want %q", got, depth, want)
	}
}

// TestIgnoreFilesTakeTheRightRead: what a walk by the right list or search opens on its way tells what it holds, so that it
// takes the right read too, of the project it lies in.
func TestIgnoreFilesTakeTheRightRead(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.List|rootbound.Search),
		rootbound.Project{ID: "open", Dir: "p/open", Rights: rootbound.ReadOnly}, rootbound.Project{ID: "shut", Dir: "p/open/shut", Rights: rootbound.List | rootbound.Search})
	for _, dir := range []string{"p", "p/d", "p/open", "p/open/d", "p/open/shut", "p/open/shut/d"} {
		h.file(dir+"/.ignore", "")
		h.file(dir+"/e/f", "")
	}
	opened := func(r guard.Request) (got []string) {
		must(t, h.do(r, func(ctx context.Context, tg *guard.Target) error {
			if _, err := tg.Above(func(dir string, open func(string) (*beneath.Object, error)) error {
				if o, err := open(".ignore"); err == nil {
					o.Close()
					got = append(got, "above:"+dir)
				}
				return nil
			}); err != nil {
				return err
			}
			return tg.Tour(ctx, beneath.Course{
				Enter: func(d *beneath.Directory) {
					if o, err := d.Open(".ignore"); err == nil {
						o.Close()
						got = append(got, d.Rel())
					}
				},
				Visit: func(*beneath.Node) (beneath.Step, error) { return beneath.Into, nil },
			})
		}))
		return got
	}
	for path, want := range map[string][]string{".": {"open", "open/d"}, "d/e": nil, "open/d/e": {"above:", "above:d"}, "open": {"", "d"}, "open/shut": nil, "open/shut/d/e": nil} {
		for _, op := range []rootbound.Operation{rootbound.OpTree, rootbound.OpSearch} {
			if got := opened(guard.Request{Op: op, Root: "p", Path: path}); !slices.Equal(got, want) {
				t.Errorf("%s %s opened %q, want %q", op, path, got, want)
			}
		}
	}
}
