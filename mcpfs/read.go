package mcpfs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
)

// part reads which piece of a file is wanted; head says that it is the first lines.
func (c call) part() (p fileop.Part, head bool) {
	n := map[string]int64{"head": c.Whole("head", 0), "tail": c.Whole("tail", 0), "line": c.Whole("line", 1),
		"lines": c.Whole("lines", 0), "offset": c.Whole("offset", 0)}
	one := 0
	for _, k := range []string{"head", "tail", "offset"} {
		if n[k] >= 0 {
			one++
		}
	}
	if n["line"] >= 0 || n["lines"] >= 0 {
		one++
	}
	if one > 1 {
		c.Fail("only one of head, tail, offset, and line with lines can be used", "arguments")
	}
	switch {
	case n["head"] >= 0:
		return fileop.Head(n["head"]), true
	case n["tail"] >= 0:
		return fileop.Tail(n["tail"]), false
	case n["offset"] >= 0:
		return fileop.Bytes(n["offset"], fileop.ToEnd), false
	case n["line"] >= 0 || n["lines"] >= 0:
		count := n["lines"]
		if count < 0 {
			count = fileop.ToEnd
		}
		return fileop.Lines(max(n["line"], 1), count), false
	}
	return fileop.Whole(), false
}

func (f *files) readText(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	part, head := c.part()
	if c.Err() != nil {
		return nil, c.Err()
	}
	t, err := f.text(ctx, r, part, f.limits.Text)
	if err != nil {
		return nil, err
	}
	text := string(t.Data)
	if head && !t.Whole && !t.Truncated {
		text = strings.TrimSuffix(text, "\n") // the first lines are joined, not ended, unless they are the whole file
	}
	out := &wire.Reply{Text: text, Version: t.Version}
	if t.Truncated {
		out.Cut = true
		out.Text, out.Next = show.CutText(text, t)
	}
	return out, nil
}

// text reads part of one file behind the guard.
func (f *files) text(ctx context.Context, r guard.Request, part fileop.Part, limit int) (t fileop.Text, err error) {
	err = f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		t, err = fileop.ReadText(ctx, on, on.Info(), part, limit)
		return err
	})
	return t, err
}

func (f *files) readMedia(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	if c.Err() != nil {
		return nil, c.Err()
	}
	out := &wire.Reply{}
	err := f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) error {
		m, err := fileop.ReadMedia(ctx, on, on.Info(), on.Path(), int64(f.limits.Media))
		if err != nil {
			return err
		}
		out.Version = m.Version
		switch kind, _, _ := strings.Cut(m.MIME, "/"); kind {
		case "image":
			out.Media = &mcp.ImageContent{Data: m.Data, MIMEType: m.MIME}
		case "audio":
			out.Media = &mcp.AudioContent{Data: m.Data, MIMEType: m.MIME}
		default:
			if m.Data == nil {
				m.Data = []byte{} // an empty file has a blob, an empty one
			}
			out.Media = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: resourceURI(on.Project().ID, on.Path()), MIMEType: m.MIME, Blob: m.Data}}
		}
		return nil
	})
	return out, advise(err, rootbound.TooLarge, "Use a smaller file; the operator can raise limits.media.")
}

// advise replaces the registry's way out where this tool has no such way.
func advise(err error, reason rootbound.Reason, next string) error {
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Reason != reason || e.Next != "" {
		return err
	}
	known := *e
	known.Next = next
	return &known
}

// resourceURI names an object by its project and the path inside it: nothing of the host is in it.
func resourceURI(project rootbound.RootID, path string) string {
	return "rootbound://" + escapeURI(string(project), false) + "/" + escapeURI(path, true)
}

func escapeURI(s string, slash bool) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0, c == '/' && slash:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func (f *files) info(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	if c.Err() != nil {
		return nil, c.Err()
	}
	out := &wire.Reply{}
	err := f.guard.Do(ctx, r, func(_ context.Context, on *guard.Target) error {
		i, err := on.Object().Stat()
		if err != nil {
			return err
		}
		born := i.BTime
		if born.IsZero() {
			born = i.CTime
		}
		out.Version = i.Version()
		out.Text = fmt.Sprintf("size: %d\ncreated: %s\nmodified: %s\naccessed: %s\nisDirectory: %t\nisFile: %t\npermissions: %03o",
			i.Size, show.Moment(born), show.Moment(i.MTime), show.Moment(i.ATime), i.Mode.IsDir(), i.Mode.IsRegular(), i.Mode.Perm())
		return nil
	})
	return out, err
}
