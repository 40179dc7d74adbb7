package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

// VersionKey is where a file's version stands in the _meta of its contents: what tools take as expected_version.
const VersionKey = "rootbound/version"

// read is one call of the guard, so one decision and one record, like a tool.
func (r *resources) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	g, ok := Request(req)
	if !ok {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	var c *mcp.ResourceContents
	err := r.Guard.Do(ctx, g, func(ctx context.Context, on *guard.Target) (err error) {
		if on.Object().IsDir() {
			c, err = r.directory(ctx, on, g)
		} else {
			c, err = r.file(ctx, on)
		}
		return err
	})
	if err != nil {
		return nil, tooLarge(err)
	}
	c.URI = req.Params.URI
	res := &mcp.ReadResourceResult{}
	if mcpscope.Modern(req) {
		*res = *r.complete
	}
	res.Contents = []*mcp.ResourceContents{c}
	res.TTLMs, res.CacheScope = 0, "private" // a kept answer would outlive a revocation
	return res, nil
}

// file sends text as text and everything else as a blob; what a file is, its bytes say, and its name only what kind of it.
func (r *resources) file(ctx context.Context, on *guard.Target) (*mcp.ResourceContents, error) {
	info, bound := on.Info(), r.limits.Load()
	most := int64(max(bound.text, bound.blob))
	if info.Size > most {
		isText, err := begins(on)
		if err != nil {
			return nil, err
		}
		return nil, r.tooLong(bound, info.Size, isText)
	}
	m, err := fileop.ReadMedia(ctx, on, info, on.Path(), most)
	if rootbound.ReasonOf(err) == rootbound.TooLarge { // it grew
		return nil, r.tooLong(bound, most+1, false)
	}
	if err != nil {
		return nil, err
	}
	c := &mcp.ResourceContents{MIMEType: m.MIME, Meta: mcp.Meta{VersionKey: m.Version}}
	isText := text.Check(m.Data, 0) == nil
	if limit := map[bool]int{true: bound.text, false: bound.blob}[isText]; len(m.Data) > limit {
		return nil, r.tooLong(bound, int64(len(m.Data)), isText)
	}
	if !isText {
		c.Blob = m.Data
		return c, nil
	}
	c.MIMEType, c.Text = textType(on.Path(), m.MIME), string(m.Data)
	return c, nil
}

// begins tells whether a file begins like text.
func begins(on *guard.Target) (bool, error) {
	head := make([]byte, 4096)
	n, err := on.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	head = head[:n]
	return text.Check(head[:text.WholeRunes(head)], 0) == nil, nil
}

// errTooLong marks the refusal of a file that was approved, from that of a rule.
var errTooLong = errors.New("too long to be sent")

// tooLong refuses a file that is too long to be sent.
func (r *resources) tooLong(bound *limits, size int64, isText bool) error {
	e := &rootbound.Error{Reason: rootbound.TooLarge, Err: errTooLong, Detail: fmt.Sprintf("%d bytes, the limit of a resource is %d", size, bound.blob),
		Next: "Use a smaller file; the operator can raise limits.media."}
	if isText {
		e.Detail = fmt.Sprintf("%d bytes, the limit of a text resource is %d", size, bound.text)
		if e.Next = "Read it in parts."; r.ReadTool != "" {
			e.Next = "Read it in parts with the tool " + r.ReadTool + "."
		}
	}
	return e
}

// directory lists what is in a directory. The entries carry URIs of their own, so that nobody has to encode a name.
func (r *resources) directory(ctx context.Context, on *guard.Target, g guard.Request) (*mcp.ResourceContents, error) {
	bound := r.limits.Load()
	l, err := fileop.List(ctx, on, fileop.ListOptions{Limit: bound.list, Details: true})
	if err != nil {
		return nil, err
	}
	at := g.Path + "/"
	if g.Path == "." {
		at = ""
	}
	b := wire.AppendJSON([]byte(`{"project":`), g.Root)
	b = wire.AppendJSON(append(b, `,"path":`...), rootbound.Listed(g.Path))
	b = append(b, `,"entries":[`...)
	for i, it := range l.Items {
		if len(b) > bound.text {
			l.Truncated, l.Next = true, l.Items[i-1].Name
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendJSON(append(b, "\n"+`{"name":`...), rootbound.Listed(it.Name))
		b = append(b, `,"type":"`+kind(it)+`"`...)
		if it.Type.IsRegular() && !it.Info.MTime.IsZero() {
			b = fmt.Appendf(b, `,"size":%d`, it.Size)
		}
		if it.Type&fs.ModeSymlink != 0 && it.Dir {
			b = append(b, `,"leads_to":"directory"`...)
		}
		b = wire.AppendJSON(append(b, `,"uri":`...), URI(rootbound.RootID(g.Root), at+it.Name))
		b = append(b, '}')
	}
	b = append(b, ']')
	if l.Truncated {
		b = append(b, `,"truncated":true`...)
		if r.ListOn != nil {
			tool, arguments := r.ListOn(g.Root, g.Path, l.Next)
			next, err := json.Marshal(map[string]any{"tool": tool, "arguments": arguments})
			if err != nil {
				return nil, err
			}
			b = append(append(b, `,"next":`...), next...)
		}
	}
	return &mcp.ResourceContents{MIMEType: "application/json", Text: string(append(b, "}\n"...))}, nil
}

func kind(it fileop.Item) string {
	switch {
	case it.Type.IsDir():
		return "directory"
	case it.Type.IsRegular():
		return "file"
	case it.Type&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}

// codeTooLarge is the error of a file that may be read but is too long to be sent. It is outside what JSON-RPC and MCP
// keep for themselves.
const codeTooLarge = 413

// tooLarge gives the one refusal that has a text of its own its form: it is only given to who may read the file (contract §6).
func tooLarge(err error) error {
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Err != errTooLong {
		return err
	}
	data, merr := json.Marshal(map[string]any{"error": mcpscope.FactsOf(e)})
	if merr != nil {
		return err
	}
	return &jsonrpc.Error{Code: codeTooLarge, Message: e.Error(), Data: data}
}
