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
		o := search.Options{Exclude: x, Limit: c.limits.Hits, Cursor: cursor, Step: progress.step, Late: late,
			MaxText: c.limits.Text / 2, Prefix: len(show.Join(r.Path, "")) + 1} // the text comes twice
		if o.Ignores, err = ignores(on, byIgnores); err != nil {
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
	if len(res.Hits) == 0 {
		noteUnclosed(out, "the pattern", pattern)
	}
	noteUnclosed(out, "an exclude pattern", exclude...)
	out.Text = b.String()
	noteUnread(out, unread)
	show.Skipped(out, r.Path, fileop.Skipped{Paths: res.Skipped, Count: res.Skips})
	return out, nil
}

// ignores goes along with a walk where a call wants ignore files to count; else nil.
func ignores(on *guard.Target, wanted bool) (*search.Ignores, error) {
	if !wanted {
		return nil, nil
	}
	return search.NewIgnores(on)
}

// noteUnread tells of ignore files that do not show in what is left out.
func noteUnread(out *wire.Reply, u search.Unread) {
	note := func(some search.Some, one, more, what string) {
		if some.Count > 0 {
			out.Note(counted(some.Count, one, more) + " " + what + "; the first of them " + rootbound.Quote(show.Path(some.Paths[0])))
		}
	}
	note(u.Some, "ignore file was", "ignore files were", "not read or had too many rules, and did not count")
	note(u.Spent, "ignore file has", "ignore files have", "patterns that took too long: from then on they were not applied, so that what they leave out may be shown")
}

// noteUnclosed explains why nothing was found, where it may be that.
func noteUnclosed(out *wire.Reply, what string, patterns ...string) {
	for _, p := range patterns {
		if search.Unclosed(p) {
			out.Note("nothing closes a bracket or brace of " + what + ", so it stands for itself; write \\[ if that is meant")
			return
		}
	}
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
