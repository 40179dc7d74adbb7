package mcpfs

import (
	"context"
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

// part is one approved root of a project, without a word on where it lies on the host.
type part struct {
	ID     rootbound.RootID `json:"id"`
	Name   string           `json:"name,omitempty"`
	Prefix string           `json:"prefix"`
}

// granted is a project that is in force, with its approved roots.
type granted struct {
	*rootbound.Project
	parts []part
}

// grantedIn groups what is granted by project, in the operator's order.
func grantedIn(st mcpscope.Status) []granted {
	var out []granted
	at := map[*rootbound.Project]int{}
	for i := range st.Grants {
		g := &st.Grants[i]
		k, ok := at[g.Project]
		if !ok {
			k = len(out)
			at[g.Project] = k
			out = append(out, granted{Project: g.Project})
		}
		out[k].parts = append(out[k].parts, part{g.ID, rootbound.Clean(g.Name), show.Path(g.Prefix)})
	}
	return out
}

// pageOf takes one page of projects; the cursor is the id of the last one that was shown.
func (f *files) pageOf(c call, all []granted) (page []granted, next string) {
	after := c.cursor()
	from := 0
	for i := range all {
		if after != "" && string(all[i].ID) == after {
			from = i + 1
		}
	}
	if after != "" && from == 0 {
		c.Fail("the cursor names no project that is approved now; leave it out to begin with the first page", "")
		return nil, ""
	}
	page = all[from:]
	if len(page) > c.limits.List {
		page = page[:c.limits.List]
		next = c.next(string(page[len(page)-1].ID))
	}
	return page, next
}

// parts tells a person which parts of a project are approved.
func partsText(parts []part) string {
	var names []string
	for i, p := range parts {
		if p.Prefix == "" {
			return "all of it"
		}
		if i == 8 {
			names = append(names, fmt.Sprintf("%d more", len(parts)-i))
			break
		}
		names = append(names, wire.Echo(p.Prefix))
	}
	return "only " + strings.Join(names, ", ")
}

// projects answers list_projects from the snapshot, without a look at the disk.
func (f *files) projects(ctx context.Context, c call) (*wire.Reply, error) {
	if c.Err() != nil {
		return nil, c.Err()
	}
	st := f.scope.Status(ctx, c.req)
	if st.Refused != nil {
		return nil, st.Refused
	}
	all := grantedIn(st)
	if len(all) == 0 { // the scope's middleware is missing
		return nil, &rootbound.Error{Reason: rootbound.NoScope}
	}
	page, next := f.pageOf(c, all)
	if c.Err() != nil {
		return nil, c.Err()
	}
	type project struct {
		ID          rootbound.RootID `json:"id"`
		Description string           `json:"description,omitempty"`
		Rights      []string         `json:"rights"`
		Roots       []part           `json:"roots"`
	}
	list := []project{}
	var b strings.Builder
	b.WriteString("Projects:")
	for _, p := range page {
		about := rootbound.Clean(p.Description)
		list = append(list, project{p.ID, about, p.Rights.Names(), p.parts})
		fmt.Fprintf(&b, "\n%s (%s): %s", p.ID, p.Rights, partsText(p.parts))
		if p.ProposeWrites && p.Rights.Has(rootbound.Propose) { // the rights alone say otherwise
			b.WriteString("; changes: propose")
		}
		if about != "" {
			b.WriteString(" – " + about)
		}
	}
	out := &wire.Reply{}
	if next != "" {
		fmt.Fprintf(&b, "\n[cut after %s; go on with cursor: %s]", counted(len(page), "project", "projects"), next)
		out.Cut, out.Next = true, map[string]any{"cursor": next}
	}
	out.Text = b.String()
	out.Add("projects", list)
	return out, nil
}
