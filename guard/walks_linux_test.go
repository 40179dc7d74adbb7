package guard_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/search"
	"github.com/rootbound/rootbound/search/match"
)

// walkers say what a walk below the project shows; step is called for each entry that is met.
var walkers = map[string]func(h *house, step func()) (string, error){
	"content": func(h *house, step func()) (shown string, err error) {
		m, err := match.Compile("needle", match.Options{})
		if err != nil {
			return "", err
		}
		err = h.do(guard.Request{Op: rootbound.OpSearchContent, Path: "."}, func(ctx context.Context, t *guard.Target) error {
			r, err := search.Content(ctx, t, m, search.ContentOptions{Step: step})
			for _, f := range r.Files {
				for _, hit := range f.Hits {
					shown += fmt.Sprintf("%s: %s\n", f.Path, hit.Text)
				}
			}
			shown += fmt.Sprintln("searched", r.Searched, "binary", r.Binary)
			return err
		})
		return shown, err
	},
	"names": func(h *house, step func()) (shown string, err error) {
		p, err := search.Compile("**")
		if err != nil {
			return "", err
		}
		err = h.do(guard.Request{Op: rootbound.OpSearch, Path: "."}, func(ctx context.Context, t *guard.Target) error {
			by, err := search.NewIgnores(ctx, t)
			if err != nil {
				return err
			}
			r, err := search.Files(ctx, t, p, search.Options{Step: step, Ignores: by, Limit: 1000})
			for _, hit := range r.Hits {
				shown += hit.Path + "\n"
			}
			return err
		})
		return shown, err
	},
	"tree": func(h *house, step func()) (shown string, err error) {
		err = h.do(guard.Request{Op: rootbound.OpTree, Path: "."}, func(ctx context.Context, t *guard.Target) error {
			by, err := search.NewIgnores(ctx, t)
			if err != nil {
				return err
			}
			r, err := fileop.Grow(ctx, t, fileop.TreeOptions{Along: by.Course, Late: func() bool { step(); return false }})
			for i := range r.Nodes {
				shown += r.Path(i) + "\n"
			}
			return err
		})
		return shown, err
	},
}

// A walk whose generation ends, at whichever entry it is then, looks at no other and ends with the refusal of that.
func TestWalksEndWithTheirGeneration(t *testing.T) {
	h := build(t, guard.Options{NoSlow: true}, nil, one(rootbound.ReadOnly))
	for i := range 4 {
		h.file(fmt.Sprintf("p/%d/a", i), "needle")
		h.file(fmt.Sprintf("p/%d/b/c", i), "needle")
	}
	for walk, run := range walkers {
		entries := 0
		for when := 0; when <= entries; when++ {
			count := 0
			_, err := run(h, func() {
				if count++; count == when {
					<-h.auth.Invalidate(rootbound.GenerationStale)
				}
			})
			if when == 0 {
				entries = count
				must(t, err)
				continue
			}
			if got := rootbound.ReasonOf(err); got != rootbound.GenerationStale || count != when {
				t.Errorf("%s, ended at entry %d of %d, looked at %d: %v", walk, when, entries, count, err)
			}
		}
		if entries < 12 {
			t.Errorf("%s: %d entries", walk, entries)
		}
	}
}
