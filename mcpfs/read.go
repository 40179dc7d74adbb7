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
	"github.com/rootbound/rootbound/mcpfs/resource"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
)

// part reads which piece of a file is wanted; bounds is the argument that says how many lines, if one does. Where a file goes
// on inside a line, offset takes the place of line: the answer before says so beside what was asked.
func (c call) part() (p fileop.Part, bounds string) {
	line, offset := c.Whole("line", 1), c.Whole("offset", 0)
	count := fileop.ToEnd
	for _, k := range []string{"head", "tail", "lines"} {
		n := c.Whole(k, 0)
		if n < 0 {
			continue
		}
		if bounds != "" {
			c.Fail("only one of head, tail and lines can be used, not "+bounds+" and "+k+" together", "")
		}
		bounds, count = k, n
	}
	switch {
	case bounds == "tail" && line > 0:
		c.Fail("tail and line cannot be used together: tail counts from the end, or from offset", "")
	case bounds == "tail" && offset >= 0:
		return fileop.TailBefore(offset, count), bounds
	case bounds == "tail":
		return fileop.Tail(count), bounds
	case bounds != "" && offset >= 0:
		return fileop.LinesFrom(offset, count), bounds
	case offset >= 0:
		return fileop.Bytes(offset, fileop.ToEnd), ""
	case bounds == "head" && line < 0:
		return fileop.Head(count), bounds
	case bounds != "" || line > 0:
		return fileop.Lines(max(line, 1), count), bounds
	}
	return fileop.Whole(), ""
}

func (f *files) readText(ctx context.Context, c call) (*wire.Reply, error) {
	r := c.request()
	part, bounds := c.part()
	if c.Err() != nil {
		return nil, c.Err()
	}
	t, err := f.text(ctx, r, part, c.limits.Text)
	if err != nil {
		return nil, err
	}
	text := string(t.Data)
	if bounds == "head" && !t.Whole && !t.Truncated {
		text = strings.TrimSuffix(text, "\n") // the first lines are joined, not ended, unless they are the whole file
	}
	out := &wire.Reply{Text: text, Version: t.Version}
	if len(t.Data) == 0 && (bounds == "" || c.Whole(bounds, 0) > 0) {
		noteEnd(out, t, c.Whole("line", 1), c.Whole("offset", 0), bounds == "tail")
	}
	if t.Truncated {
		out.Cut = true
		out.Text, out.Next = show.CutText(text, t, bounds)
	}
	return out, nil
}

// text reads part of one file behind the guard.
func (f *files) text(ctx context.Context, r guard.Request, part fileop.Part, limit int) (t fileop.Text, err error) {
	err = f.guard.Do(ctx, r, func(ctx context.Context, on *guard.Target) (err error) {
		if t, err = fileop.ReadTextFrom(ctx, on, on.Info(), part, limit, f.cache.Marks(on)); err == nil {
			f.cache.Keep(on, t.Marks)
		}
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
		m, err := fileop.ReadMedia(ctx, on, on.Info(), on.Path(), int64(c.limits.Media))
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
			out.Media = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: resource.URI(on.Project().ID, on.Path()), MIMEType: m.MIME, Blob: m.Data}}
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
