package mcpfs

import (
	"context"
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/search"
)

func (f *files) search(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	pattern, exclude, cursor, byIgnores := c.Text("pattern", true), c.Texts("excludePatterns", false, 0), c.cursor(), c.Truth("gitignore")
	if c.Err() != nil {
		return nil, c.Err()
	}
	p, err := search.Compile(pattern)
	if err != nil {
		return nil, badPattern(err, r, pattern)
	}
	x, err := search.CompileExcludes(exclude)
	if err != nil {
		return nil, badPattern(err, r, few(exclude))
	}
	progress := c.progress(ctx)
	defer progress.stop()
	var res search.Result
	var unread search.Unread
	err = f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		late, stop := c.limits.clock()
		defer stop()
		o := search.Options{Exclude: x, Limit: c.limits.Hits, Cursor: cursor, Step: progress.step, Late: late, Widen: f.widen,
			MaxText: c.limits.Text / 2, Prefix: len(show.Join(r.Path, "")) + 1} // the text comes twice
		if o.Ignores, err = ignores(ctx, on, byIgnores); err != nil {
			return err
		}
		res, err = search.Files(ctx, on, p, o)
		unread = o.Ignores.Unread()
		on.Stopped(string(res.Why))
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &wire.Reply{}
	var b strings.Builder
	for i, h := range res.Hits {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(show.Join(r.Path, h.Path))
	}
	if len(res.Hits) == 0 {
		b.WriteString(none(cursor, res.Truncated))
	}
	if res.Truncated {
		fmt.Fprintf(&b, "\n[cut after %s%s; go on with cursor: %s]", counted(len(res.Hits), "match", "matches"), whyCut(res.Why), c.cut(out, string(res.Why), res.Next))
	}
	if len(res.Hits) == 0 && cursor == "" && !res.Truncated {
		noteNoName(out, p, pattern)
	}
	noteExcludes(out, x, exclude)
	out.Text = b.String()
	noteUnread(out, unread)
	show.Skipped(out, r.Path, fileop.Skipped{Paths: res.Skipped, Count: res.Skips})
	return out, nil
}

// ignores goes along with a walk where a call wants ignore files to count; else nil.
func ignores(ctx context.Context, on *guard.Target, wanted bool) (*search.Ignores, error) {
	if !wanted {
		return nil, nil
	}
	return search.NewIgnores(ctx, on)
}

// few joins as many patterns as a message repeats.
func few(patterns []string) string {
	var b strings.Builder
	for i, p := range patterns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p[:min(len(p), rootbound.MaxEcho+1)])
		if b.Len() > rootbound.MaxEcho {
			break
		}
	}
	return b.String()
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
