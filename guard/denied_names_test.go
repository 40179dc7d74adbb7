//go:build unix

package guard_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/search"
	"github.com/rootbound/rootbound/search/match"
)

// shownFiles are what both trees hold; deniedFiles only one of them, each behind another control.
var (
	shownFiles = map[string]string{"a/one": "needle\nneedle", "a/b/two": "needle", "c.txt": "needle", ".env.example": "needle", "d/e/three": "a needle and\na needle",
		".gitignore": "*.log\n", "a/x.log": "needle", "inner/n": "needle", "z": "needle"}
	deniedFiles = []string{
		".env", "a/.env", "a/b/id_rsa", ".ssh/config", // presets
		"secret/x", "a/secret/deep/x", "b.denied", "d/.gitignore", "d/.ignore", // the operator's patterns
		"state/journal", "d/e/log", // our own files, by path
		"closed/x", "closed/secret/x", // a project without the right
		"inner/.env", "inner/private/x", // by the presets and patterns of a nested project
	}
)

// grown is a guard over the shown files, with the denied ones or without.
func grown(t *testing.T, denied bool) *house {
	t.Helper()
	outer := one(rootbound.ReadOnly)
	outer.Deny = []string{"**/secret/**", "**/*.denied", "**/d/.gitignore", "**/d/.ignore"}
	var h *house
	own := func() (files []guard.Own) {
		for _, p := range []string{"p/state", "p/d/e/log"} {
			files = append(files, guard.Own{Path: filepath.Join(h.dir, p)})
		}
		if denied { // our own file by another name, which only opening tells
			files = append(files, guard.Own{ID: h.id("p/state/journal")})
		}
		return files
	}
	h = build(t, guard.Options{Own: own, Sink: decision.Discard{}}, func(dir string) {
		for p, text := range shownFiles {
			put(t, filepath.Join(dir, "p", p), text)
		}
		if !denied {
			must(t, os.RemoveAll(filepath.Join(dir, "p/closed")))
			return
		}
		for _, p := range deniedFiles {
			text := "needle DENIED\n"
			if strings.HasSuffix(p, "ignore") {
				text = "three\nDENIED\n" // honoured, it would show
			}
			put(t, filepath.Join(dir, "p", p), text)
		}
	}, outer, rootbound.Project{ID: "inner", Dir: "p/inner", Rights: rootbound.ReadOnly, Deny: []string{"private/**"}},
		rootbound.Project{ID: "closed", Dir: "p/closed", Rights: rootbound.Write})
	return h
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// everyAnswer is all that walks, lists and searches tell of a project, page by page, counts and cursors included.
func everyAnswer(t *testing.T, h *house) (answers []any) {
	t.Helper()
	m, err := match.Compile("needle|DENIED", match.Options{})
	must(t, err)
	all, err := search.Compile("**")
	must(t, err)
	ask := func(op rootbound.Operation, path string, work func(context.Context, *guard.Target) (any, error)) {
		t.Helper()
		var a any
		err := h.do(guard.Request{Op: op, Root: "p", Path: path}, func(ctx context.Context, on *guard.Target) (err error) {
			a, err = work(ctx, on)
			return err
		})
		must(t, err)
		answers = append(answers, a)
	}
	for _, o := range []search.ContentOptions{{}, {IncludeIgnored: true}, {IncludeIgnored: true, Limit: 1, Context: 2}, {Limit: 2}, {MaxFiles: 1}, {MaxBytes: 20},
		{Cursor: "0:.env"}, {Cursor: "-:a/secret/deep/x"}, {Cursor: "0:secret/x"}} {
		for more := true; more; {
			ask(rootbound.OpSearchContent, ".", func(ctx context.Context, on *guard.Target) (any, error) {
				r, err := search.Content(ctx, on, m, o)
				o.Cursor, more = r.Next, r.Truncated
				if r.Truncated {
					r.Visited = 0 // the walk runs ahead of the page
				}
				return r, err
			})
		}
	}
	late := func() bool { return true }
	for _, o := range []search.Options{{}, {Limit: 3}, {Late: late}, {Cursor: "a/b/id_rsa"}} {
		for more := true; more; {
			ask(rootbound.OpSearch, ".", func(ctx context.Context, on *guard.Target) (any, error) {
				r, err := search.Files(ctx, on, all, o)
				o.Cursor, more = r.Next, r.Truncated
				return r, err
			})
		}
	}
	for _, path := range []string{".", "d/e"} { // what is above counts too
		for _, o := range []fileop.TreeOptions{{}, {Nodes: 2}, {Late: late}, {Depth: 1}, {After: "a/b/id_rsa"}, {After: "secret/x"}} {
			for more := true; more; {
				ask(rootbound.OpTree, path, func(ctx context.Context, on *guard.Target) (any, error) {
					by, err := search.NewIgnores(ctx, on)
					must(t, err)
					o.Along = by.Course
					r, err := fileop.Grow(ctx, on, o)
					o.After, more = r.Next, r.Truncated
					return []any{r, by.Unread()}, err
				})
			}
		}
		ask(rootbound.OpSearch, path, func(ctx context.Context, on *guard.Target) (any, error) {
			by, err := search.NewIgnores(ctx, on)
			must(t, err)
			return search.Files(ctx, on, all, search.Options{Ignores: by})
		})
		ask(rootbound.OpSearchContent, path, func(ctx context.Context, on *guard.Target) (any, error) {
			return search.Content(ctx, on, m, search.ContentOptions{})
		})
	}
	for _, dir := range []string{".", "a", "d", "d/e", "inner"} {
		ask(rootbound.OpList, dir, func(ctx context.Context, on *guard.Target) (any, error) {
			var names []string
			err := on.List(ctx, "", func(n *beneath.Node) (beneath.Step, error) {
				names = append(names, n.Name())
				return beneath.Over, nil
			})
			return names, err
		})
	}
	ask(rootbound.OpTree, ".", func(ctx context.Context, on *guard.Target) (any, error) {
		var seen []string
		err := on.Tour(ctx, beneath.Course{
			Visit: func(n *beneath.Node) (beneath.Step, error) {
				seen = append(seen, n.Rel())
				return beneath.Into, nil
			},
			Enter: func(d *beneath.Directory) {
				for _, p := range deniedFiles {
					if o, err := d.Open(filepath.Base(p)); err == nil {
						b := make([]byte, 20)
						n, _ := o.ReadAt(b, 0)
						o.Close()
						seen = append(seen, string(b[:n]))
					}
				}
			},
			Failed: func(rel string, err error) { seen = append(seen, rel) },
		})
		return seen, err
	})
	return answers
}

// G41: what rights, rules and own files hide appears in no answer of a walk, list or search, not in its counts or cursors
// either: each answer is that of a tree which never held it.
func TestG41DeniedNamesAppearNowhere(t *testing.T) {
	with, without := everyAnswer(t, grown(t, true)), everyAnswer(t, grown(t, false))
	if len(with) != len(without) || len(with) < 20 {
		t.Fatalf("%d answers, %d without", len(with), len(without))
	}
	hits := 0
	for i := range with {
		if !reflect.DeepEqual(with[i], without[i]) {
			t.Errorf("answer %d:\n%+v\nwithout what is denied:\n%+v", i, with[i], without[i])
		}
		text := fmt.Sprintf("%+v", with[i])
		for _, p := range append([]string{"DENIED", "secret"}, deniedFiles...) {
			if strings.Contains(text, p) && !strings.HasPrefix(p, "d/.") && p != ".env" { // .env.example is shown
				t.Errorf("answer %d holds %s: %s", i, p, text)
			}
		}
		hits += strings.Count(text, "needle")
	}
	if hits < 50 {
		t.Errorf("%d hits in all: too few to tell anything", hits)
	}
}

// TestOwnFilesByOtherNames: a hard link to a file of ours is listed, as its name is the project's, and never read.
func TestOwnFilesByOtherNames(t *testing.T) {
	h := grown(t, true)
	must(t, os.Link(filepath.Join(h.dir, "p/state/journal"), filepath.Join(h.dir, "p/a/copy")))
	m, err := match.Compile("DENIED", match.Options{})
	must(t, err)
	for _, path := range []string{".", "a"} {
		must(t, h.do(guard.Request{Op: rootbound.OpSearchContent, Root: "p", Path: path}, func(ctx context.Context, on *guard.Target) error {
			r, err := search.Content(ctx, on, m, search.ContentOptions{IncludeIgnored: true})
			if r.Hits != 0 || r.Skips != 0 {
				t.Errorf("%s: %+v", path, r)
			}
			return err
		}))
	}
}
