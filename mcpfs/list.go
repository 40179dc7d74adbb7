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
)

// cursor decodes where a list goes on: behind a place that was shown. It is one that next made for this tool and these
// arguments.
func (c call) cursor() string { return c.Cursor(c.tool.Cursors(c.Arguments, nil)) }

// next is the cursor that goes on behind a place.
func (c call) next(place string) string { return c.tool.Cursors(c.Arguments, nil).At(place) }

func (f *files) page(ctx context.Context, c call, o fileop.ListOptions) (l fileop.Listing, err error) {
	r := c.request()
	o.Limit, o.Cursor = c.limits.List, c.cursor()
	if c.Err() != nil {
		return l, c.Err()
	}
	err = f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		l, err = fileop.List(ctx, on, o)
		return err
	})
	return l, err
}

// entries adds what both lists say besides their entries.
func (c call) entries(b *strings.Builder, l fileop.Listing) *wire.Reply {
	rest := func(place string) string { return c.tool.Cursors(c.Arguments, map[string]any{"sortBy": nil}).At(place) }
	return show.Entries(b, l, c.next, rest)
}

func (f *files) list(ctx context.Context, c call) (*wire.Reply, error) {
	l, err := f.page(ctx, c, fileop.ListOptions{})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, it := range l.Items {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(show.Mark(it.Dir))
		b.WriteString(rootbound.Listed(it.Name))
	}
	return c.entries(&b, l), nil
}

func (f *files) listSizes(ctx context.Context, c call) (*wire.Reply, error) {
	l, err := f.page(ctx, c, fileop.ListOptions{Details: true, BySize: c.Choice("sortBy", "name", "name", "size") == "size"})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	var dirs int
	var total int64
	for _, it := range l.Items {
		show.SizedLine(&b, rootbound.Listed(it.Name), it.Dir, it.Size)
		b.WriteByte('\n')
		if it.Dir {
			dirs++
		} else {
			total += it.Size
		}
	}
	page := ""
	if l.Truncated || c.Text("cursor", false) != "" {
		page = " on this page"
	}
	fmt.Fprintf(&b, "\nTotal: %d files, %d directories%s\nCombined size: %s%s", len(l.Items)-dirs, dirs, page, show.Size(total), page)
	return c.entries(&b, l), nil
}

func (f *files) allowed(ctx context.Context, c call) (*wire.Reply, error) {
	after := rootbound.RootID(c.cursor())
	if c.Err() != nil {
		return nil, c.Err()
	}
	st := f.scope.Status(ctx, c.req)
	if st.Refused != nil {
		return nil, st.Refused
	}
	if len(st.Grants) == 0 { // the scope's middleware is missing
		return nil, &rootbound.Error{Reason: rootbound.NoScope}
	}
	type directory struct {
		ID     rootbound.RootID `json:"id"`
		Name   string           `json:"name,omitempty"`
		Path   string           `json:"path"`
		Rights []string         `json:"rights"`
	}
	page := st.Grants
	if after != "" {
		at := 0
		for at < len(page) && page[at].ID != after {
			at++
		}
		if at == len(page) {
			c.Fail("the cursor names no directory that is approved now; leave it out to begin with the first page", "")
			return nil, c.Err()
		}
		page = page[at+1:]
	}
	out := &wire.Reply{Text: "Allowed directories:\n"}
	dirs := []directory{}
	for i, g := range page {
		if i > 0 {
			out.Text += "\n"
		}
		if i == c.limits.List {
			next := c.next(string(page[i-1].ID))
			out.Text += fmt.Sprintf("[cut after %s; go on with cursor: %s]", counted(i, "directory", "directories"), next)
			out.Cut, out.Next = true, map[string]any{"cursor": next}
			break
		}
		path := show.Path(g.Shown)
		out.Text += path
		dirs = append(dirs, directory{g.ID, rootbound.Clean(g.Name), path, g.Project.Rights.Names()})
	}
	out.More = map[string]any{"directories": dirs}
	if st.Source == "roots" {
		out.Note("the client's roots decide this list: it is what they leave of what was granted")
	}
	return out, nil
}
