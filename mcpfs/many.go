package mcpfs

import (
	"context"
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpfs/form"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

// ends tells whether an error ends a call of many files: the authority was refused, not a file.
func ends(err error) bool {
	switch rootbound.ReasonOf(err) {
	case rootbound.NoScope, rootbound.NoOverlap, rootbound.RootsEmpty, rootbound.RootsMalformed, rootbound.AuthorityUnavailable,
		rootbound.GenerationStale, rootbound.Cancelled:
		return true
	}
	return false
}

// endsProject tells whether an error ends a call that named one project for all its files.
func endsProject(err error) bool {
	r := rootbound.ReasonOf(err)
	return r == rootbound.ProjectUnknown || r == rootbound.ProjectRetired
}

type fileAnswer struct {
	Path    string          `json:"path"`
	Version string          `json:"version,omitempty"`
	Error   *mcpscope.Facts `json:"error,omitempty"`
}

const ahead = 8 // files that are read before their turn

func (f *files) readMany(ctx context.Context, c call) (*wire.Reply, error) {
	project, paths := c.tool.Project(c.Arguments), c.Texts(c.tool.Named(form.Objects), true, 1)
	from, first := c.continued(len(paths))
	if c.Err() != nil {
		return nil, c.Err()
	}
	progress := c.progress(ctx)
	defer progress.stop()
	ctx, stop := context.WithCancel(ctx)

	type got struct {
		t   fileop.Text
		err error
	}
	turns := make([]chan got, len(paths))
	for i := range turns {
		turns[i] = make(chan got, 1)
	}
	start := func(i int) {
		go func() {
			g := got{err: &rootbound.Error{Reason: rootbound.InternalError}}
			defer func() {
				if p := recover(); p != nil { // a goroutine of ours is outside the scope's net
					g.err = &rootbound.Error{Reason: rootbound.InternalError, Err: fmt.Errorf("panic: %v", p)}
				}
				progress.step()
				turns[i] <- g
			}()
			part := fileop.Whole()
			if i == from {
				part = first
			}
			g.t, g.err = f.text(ctx, guard.Request{Op: rootbound.OpRead, Root: project, Path: paths[i], Contained: c.tool.Form == Project}, part, c.limits.Text)
		}()
	}
	started := min(from+ahead, len(paths))
	taken := from
	defer func() { // nobody is left behind: what was started is waited for
		stop()
		for ; taken < started; taken++ {
			<-turns[taken]
		}
	}()
	for i := from; i < started; i++ {
		start(i)
	}

	var b strings.Builder
	out := &wire.Reply{}
	files := []fileAnswer{}
	for taken < len(paths) {
		g := <-turns[taken]
		path := paths[taken]
		taken++
		if g.err != nil && (ends(g.err) || c.tool.Form == Project && endsProject(g.err)) {
			return nil, g.err
		}
		answer := fileAnswer{Path: wire.Echo(path), Version: g.t.Version}
		piece, told := "", ""
		var next map[string]any
		switch {
		case g.err != nil:
			text, why := wire.Refused(Advise(g.err, f.tools))
			answer.Error = &why
			piece = wire.Echo(path) + ": Error - " + text
		case g.t.Truncated:
			piece = show.Path(path) + ":\n" + string(g.t.Data)
			if !strings.HasSuffix(piece, "\n") {
				piece += "\n"
			}
			g.t.NextLine = 0 // a byte, which tells where this file goes on and is 0 for the next one
			told, next = show.CutText("", g.t, "")
			told = fmt.Sprintf("%s and skip: %d", strings.TrimSuffix(told, "]"), taken-1)
			if taken < len(paths) {
				told += fmt.Sprintf("; skip: %d and offset: 0 leave out the rest of this file", taken)
			}
			next["skip"] = taken - 1
		default:
			piece = show.Path(path) + ":\n" + string(g.t.Data) + "\n"
			if offset := c.Whole("offset", 0); offset > 0 && taken == from+1 && len(g.t.Data) == 0 {
				noteEnd(out, g.t, -1, offset, false)
			}
		}
		if b.Len() > 0 && b.Len()+len(piece) > c.limits.Text {
			rest := taken - 1
			told, next = fmt.Sprintf("[cut after %d of %d files; go on with skip: %d", rest, len(paths), rest), map[string]any{"skip": rest}
			if c.Whole("offset", 0) > 0 {
				told += " and offset: 0"
				next["offset"] = 0
			}
			b.WriteString("\n---\n" + told + "]")
			out.Cut, out.Next = true, next
			break
		}
		if b.Len() > 0 {
			b.WriteString("\n---\n")
		}
		b.WriteString(piece)
		files = append(files, answer)
		if next != nil {
			b.WriteString(told + "]")
			out.Cut, out.Next = true, next
			break
		}
		if started < len(paths) {
			start(started)
			started++
		}
	}
	out.Text = b.String()
	out.Add("files", files)
	return out, nil
}

// continued reads where an answer that was cut goes on: how many of n files are done, and what of the next one is wanted.
func (c call) continued(n int) (from int, first fileop.Part) {
	from = int(min(max(c.Whole("skip", 0), 0), int64(n)))
	if from > 0 && from == n {
		c.Fail("leaves out all the files", "skip")
	}
	if offset := c.Whole("offset", 0); offset > 0 {
		return from, fileop.Bytes(offset, fileop.ToEnd)
	}
	return from, fileop.Whole()
}
