package resource

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpscope"
)

// maxValues is how many values a completion may hold (MCP, completion/complete).
const maxValues = 100

// completion answers for our template, nil for everything else. It never asks the client and never fails: where nothing is
// in force, or what is typed leads nowhere, there is nothing to choose from.
func (r *resources) completion(ctx context.Context, req *mcp.CompleteRequest) mcp.Result {
	p := req.Params
	if p == nil || p.Ref == nil || p.Ref.Type != "ref/resource" || !Ours(p.Ref.URI) {
		return nil
	}
	c := &choice{values: []string{}}
	if p.Ref.URI == Template {
		s := r.inForce(ctx, req)
		switch p.Argument.Name {
		case "project":
			for _, id := range projects(s) {
				if strings.HasPrefix(id, p.Argument.Value) && !c.add(id) {
					break
				}
			}
		case "path":
			r.paths(ctx, s, p, c)
		}
	}
	return c.result()
}

// choice collects values. total is told where all were seen.
type choice struct {
	values []string
	more   bool
}

// add reports whether there was room.
func (c *choice) add(v string) bool {
	if len(c.values) == maxValues {
		c.more = true
		return false
	}
	c.values = append(c.values, v)
	return true
}

func (c *choice) result() mcp.Result {
	out := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: c.values, HasMore: c.more}}
	if !c.more {
		out.Completion.Total = len(c.values)
	}
	return out
}

// projects are the ids in force, in the operator's order.
func projects(s mcpscope.Status) []string {
	var ids []string
	for i := range s.Grants {
		if id := string(s.Grants[i].Project.ID); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// paths completes the last name of what is typed by listing the directory before it, behind the guard: by the right list,
// under the rules, and with a record. Where roots leave only parts of a project, the way to them is completed from the
// snapshot, without a look at the disk.
func (r *resources) paths(ctx context.Context, s mcpscope.Status, p *mcp.CompleteParams, c *choice) {
	project := ""
	if p.Context != nil {
		project = p.Context.Arguments["project"]
	}
	if project == "" {
		ids := projects(s)
		if len(ids) != 1 {
			return
		}
		project = ids[0]
	}
	typed := p.Argument.Value
	dir, prefix := "", typed
	if i := strings.LastIndexByte(typed, '/'); i >= 0 {
		dir, prefix = typed[:i], typed[i+1:]
		if _, _, err := Parse(URI(rootbound.RootID(project), dir+"/x")); err != nil {
			return // no URI will hold what is typed
		}
	}
	if approved, ways := onTheWay(s, project, dir, prefix); !approved {
		for _, way := range ways {
			if completable(way) && !c.add(way) {
				return
			}
		}
		return
	}
	at := dir
	if dir == "" {
		at = "."
	}
	g := guard.Request{Op: rootbound.OpList, Root: project, Path: at, Contained: true, Decoded: true}
	err := r.Guard.Do(ctx, g, func(ctx context.Context, on *guard.Target) error {
		o := fileop.ListOptions{Cursor: before(prefix)}
		for range maxPages {
			l, err := fileop.List(ctx, on, o)
			if err != nil {
				return err
			}
			for _, it := range l.Items {
				if !strings.HasPrefix(it.Name, prefix) {
					return nil // all that follow sort behind
				}
				value := it.Name
				if dir != "" {
					value = dir + "/" + value
				}
				if completable(value) && !c.add(value) {
					return nil
				}
			}
			if !l.Truncated {
				return nil
			}
			o.Cursor = l.Next
		}
		c.more = true
		return nil
	})
	if err != nil { // what was collected before it may be of an authority that has ended
		*c = choice{values: []string{}}
	}
}

// maxPages is how many pages of a directory are looked at for names that can be completed.
const maxPages = 10

// onTheWay tells whether dir is inside an approved root of the project. If it is above one, ways are the next names that
// begin with prefix and lead to one.
func onTheWay(s mcpscope.Status, project, dir, prefix string) (approved bool, ways []string) {
	above := ""
	if dir != "" {
		above = dir + "/"
	}
	for i := range s.Grants {
		g := &s.Grants[i]
		if string(g.Project.ID) != project {
			continue
		}
		if g.Prefix == "" || dir == g.Prefix || strings.HasPrefix(dir, g.Prefix+"/") {
			return true, nil
		}
		if rest, ok := strings.CutPrefix(g.Prefix, above); ok {
			name, _, _ := strings.Cut(rest, "/")
			if way := above + name; strings.HasPrefix(name, prefix) && !slices.Contains(ways, way) {
				ways = append(ways, way)
			}
		}
	}
	slices.Sort(ways)
	return false, ways
}

// before is a text that sorts before everything that begins with prefix, and behind every name that sorts before prefix:
// a name has at most 255 bytes.
func before(prefix string) string {
	if prefix == "" {
		return ""
	}
	last := len(prefix) - 1
	if prefix[last] == 0 {
		return prefix[:last]
	}
	return prefix[:last] + string([]byte{prefix[last] - 1}) + strings.Repeat("\xff", 255)
}

// completable tells whether a value comes back as the same path however a client expands the template. Clients differ: by
// RFC 6570 §3.2.3 reserved characters stay and so does what looks like an encoded byte, others encode every percent sign,
// and a JSON string holds no other bytes than UTF-8. What is left out can be reached by the URI that its directory's
// listing shows.
func completable(v string) bool {
	if !utf8.ValidString(v) || strings.ContainsAny(v, `?#%[]\`) {
		return false
	}
	return rootbound.Listed(v) == v
}
