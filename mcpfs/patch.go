package mcpfs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop/text"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
	"github.com/rootbound/rootbound/patch"
)

// proposed is one file in the answer of propose_patch and apply_patch.
type proposed struct {
	Path    string `json:"path"`
	Action  string `json:"action"`
	Version string `json:"version,omitempty"`
}

func (f *files) propose(ctx context.Context, c call) (*wire.Reply, error) {
	r := patch.Request{Root: c.tool.Project(c.Arguments), Contained: c.tool.Form == Project, Diff: c.Text("diff", false), Limit: int64(c.limits.Edit)}
	path := c.tool.PathKey()
	for _, e := range c.Objects("edits", false, path, "oldText", "newText", "replaceAll", "expected_version") {
		r.Edits = append(r.Edits, patch.Edit{Path: e.Text(path, true), Expect: e.Text("expected_version", false),
			Edit: text.Edit{Old: e.Text("oldText", true), New: e.Text("newText", true), All: e.Truth("replaceAll")}})
	}
	if c.Err() == nil && (r.Diff == "") == (len(r.Edits) == 0) {
		c.Fail("give either edits or diff", "")
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	p, err := patch.Propose(ctx, f.guard, r)
	if err != nil {
		return nil, err
	}
	i, err := f.desk.Issue(ctx, p)
	if err != nil {
		return nil, err
	}
	shown, cut := p.Shown(c.limits.Text)
	out := &wire.Reply{Text: shown + i.Next(p), Cut: cut}
	out.Add("plan", p.ID)
	out.Add("token", i.Token)
	out.Add("expires", p.Expires.UTC().Format(time.RFC3339))
	out.Add("waits_for_person", i.Waits)
	files := make([]proposed, len(p.Files))
	for n, file := range p.Files {
		files[n] = proposed{file.Path, string(file.Action), file.Version}
	}
	out.Add("files", files)
	if cut {
		out.Note("the diff is cut, the plan is complete; files names all of it")
	}
	return out, nil
}

func (f *files) apply(ctx context.Context, c call) (*wire.Reply, error) {
	root, ref := c.tool.Project(c.Arguments), c.Text("plan", true)
	if c.Err() != nil {
		return nil, c.Err()
	}
	p, err := f.desk.Redeem(ctx, root, ref)
	if err != nil {
		return nil, err
	}
	if patch.Asks(ctx, p) {
		consent, err := f.scope.Agree(ctx, c.req, mcpscope.Question{Message: f.desk.Question(p), Binds: p.Digest, Until: p.Expires})
		switch {
		case err != nil:
			return nil, err
		case consent.Ask != nil:
			return &wire.Reply{Ask: consent.Ask}, nil
		case consent.Asked && !consent.Agreed:
			if err := f.desk.Reject(p); err != nil { // asking again and again would wear a person down
				return nil, err
			}
			return nil, &rootbound.Error{Reason: rootbound.RightMissing, Op: rootbound.OpApply, Root: p.Project, Detail: "the person did not agree",
				Next: "Ask what should be different before another patch is proposed."}
		case consent.Agreed:
			// Nothing is carried over the wait.
			if p, err = f.desk.Redeem(ctx, root, ref); err != nil {
				return nil, err
			}
		}
	}
	done, err := f.desk.Apply(ctx, f.guard, p)
	if err != nil {
		return nil, err
	}
	out := &wire.Reply{}
	files := make([]proposed, len(done.Files))
	var b strings.Builder
	fmt.Fprintf(&b, "Successfully applied plan %s to %s", p.ID, patch.Counted(len(files)))
	for n, file := range done.Files {
		files[n] = proposed{file.Path, string(p.Files[n].Action), file.Version}
		if n < 100 {
			fmt.Fprintf(&b, "\n%s %s", p.Files[n].Action, show.Path(file.Path))
		}
	}
	if n := len(files) - 100; n > 0 {
		fmt.Fprintf(&b, "\nand %d more, all in structuredContent.files", n)
	}
	out.Text = b.String()
	out.Add("files", files)
	if done.Undo != "" {
		out.Add("undo", done.Undo)
	}
	out.Note(done.Warnings...)
	return out, nil
}
