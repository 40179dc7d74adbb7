package mcpfs

import (
	"context"
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/search"
)

func (f *files) search(ctx context.Context, c call) (*reply, error) {
	r := c.request(rootbound.OpSearch)
	pattern, exclude, cursor := c.text("pattern", true), c.texts("excludePatterns", false, 0), c.cursor()
	if c.err != nil {
		return nil, c.err
	}
	p, err := search.Compile(pattern)
	if err != nil {
		return nil, badPattern(err, r, pattern)
	}
	x, err := search.CompileExcludes(exclude)
	if err != nil {
		return nil, badPattern(err, r, strings.Join(exclude, ", "))
	}
	progress := c.progress(ctx)
	defer progress.stop()
	var res search.Result
	err = f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		res, err = search.Files(ctx, on, p, search.Options{Exclude: x, Limit: f.limits.Hits, Cursor: cursor, Step: progress.step})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &reply{}
	var b strings.Builder
	for i, h := range res.Hits {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(join(r.Path, h.Path))
	}
	if len(res.Hits) == 0 {
		b.WriteString("No matches found")
	}
	if res.Truncated {
		next := cursorOf(res.Next)
		fmt.Fprintf(&b, "\n[cut after %d matches; go on with cursor: %s]", len(res.Hits), next)
		out.cut, out.next = true, map[string]any{"cursor": next}
	}
	out.text = b.String()
	out.skipped(r.Path, fileop.Skipped{Paths: res.Skipped, Count: res.Skips})
	return out, nil
}

// badPattern completes a refusal that never came to the guard; its path is the pattern, which is what was wrong.
func badPattern(err error, r guard.Request, pattern string) error {
	if e, ok := err.(*rootbound.Error); ok && e.Op == "" {
		full := *e
		full.Op, full.Path = r.Op, pattern
		return &full
	}
	return err
}
