package mcpfs

import (
	"context"
	"fmt"

	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/search"
	"github.com/rootbound/rootbound/search/match"
)

// looks is what a search looked into, in structured data.
type looks struct {
	Files  int   `json:"files"`
	Bytes  int64 `json:"bytes"`
	Binary int   `json:"binary,omitempty"`
}

// searchContent answers search_content.
func (f *files) searchContent(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	pattern := c.Text("pattern", true)
	how := match.Options{Literal: c.Truth("literal"), IgnoreCase: c.Truth("ignore_case"), Word: c.Truth("word")}
	include, exclude := c.Texts("include", false, 0), c.Texts("exclude", false, 0)
	o := search.ContentOptions{
		IncludeIgnored: c.Truth("include_ignored"), Context: int(max(0, c.Whole("context", 0))), Cursor: c.cursor(), Limit: c.limits.Hits,
		MaxText: c.limits.Text / 2, // it comes twice
		Prefix:  len(show.Join(r.Path, "")) + 1, MaxFiles: int64(c.limits.SearchFiles), MaxBytes: c.limits.SearchBytes, Time: c.limits.SearchTime,
	}
	if n := c.Whole("max_results", 1); n > 0 {
		o.Limit = int(min(n, int64(o.Limit)))
	}
	if o.Context > match.MaxContext {
		c.Fail(fmt.Sprintf("must be %d or less", match.MaxContext), "context")
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	m, err := match.Compile(pattern, how)
	if err != nil {
		return nil, badPattern(err, r, pattern)
	}
	in, err := search.CompileGlobs("include", include)
	if err != nil {
		return nil, badPattern(err, r, few(include))
	}
	ex, err := search.CompileGlobs("exclude", exclude)
	if err != nil {
		return nil, badPattern(err, r, few(exclude))
	}
	o.Include, o.Exclude = in, ex
	progress := c.progress(ctx)
	defer progress.stop()
	o.Step = progress.step
	var res search.ContentResult
	if f.widen != nil {
		defer f.widen()()
	}
	err = f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		res, err = search.Content(ctx, on, m, o)
		if res.Truncated {
			on.Stopped(string(res.Why))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &wire.Reply{}
	show.Matches(out, r.Path, res.Files, o.Context > 0)
	out.Add("searched", looks{res.Searched, res.Bytes, res.Binary})
	if res.Hits == 0 {
		out.Text = none(o.Cursor, res.Truncated)
		noteVain(out, "an include pattern", in.Vain())
		noteUnclosed(out, "an include pattern", include...)
		if res.Searched+res.Binary+res.Skips == 0 && o.Cursor == "" && !res.Truncated {
			out.Note("no file was searched: there is none, or include, exclude or ignore files leave out all; include_ignored takes in what ignore files leave out")
		}
	}
	noteExcludes(out, ex, exclude)
	if res.Truncated {
		out.Text += fmt.Sprintf("\n[cut after %s%s; go on with cursor: %s]", counted(res.Hits, "match", "matches"), whyCut(res.Why), c.cut(out, string(res.Why), res.Next))
	}
	if res.Binary > 0 {
		out.Note(counted(res.Binary, "file that is not text was", "files that are not text were") + " not searched")
	}
	if res.InParts > 0 {
		out.Note(counted(res.InParts, "file has", "files have") + " lines that were searched in parts, since they are very long: a match of more than 32 KiB may be missed there")
	}
	noteUnread(out, res.Unread)
	show.Unsearched(out, r.Path, res.Skipped, res.Skips)
	return out, nil
}

func counted(n int, one, more string) string { return show.Counted(n, one, more) }
