package mcpfs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/fileop/text"
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
	r := patch.Request{Root: c.tool.project(c.Arguments), Contained: c.tool.form == Project, Diff: c.Text("diff", false), Limit: int64(f.limits.Edit)}
	for _, e := range c.Objects("edits", false) {
		r.Edits = append(r.Edits, patch.Edit{Path: e.Text("path", true), Expect: e.Text("expected_version", false),
			Edit: text.Edit{Old: e.Text("oldText", true), New: e.Text("newText", true), All: e.Truth("replaceAll")}})
	}
	if c.Err() == nil && (r.Diff == "") == (len(r.Edits) == 0) {
		c.Fail("give edits or diff, one of the two", "edits")
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
	shown, cut := cutLines(p.Diff, f.limits.Text)
	fence := strings.Repeat("`", max(3, backticks(shown)+1))
	out := &wire.Reply{Text: fence + "diff\n" + shown + fence + "\n\n" + planned(p, i), Cut: cut}
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

// planned says what a plan is and how it goes on.
func planned(p *patch.Plan, i patch.Issued) string {
	s := "Plan " + p.ID + ": " + counted(len(p.Files)) + ". Nothing was changed yet. "
	switch {
	case !i.Waits:
		return s + "Apply it with apply_patch within 15 minutes."
	case i.Visible:
		return s + "A person has to agree within 15 minutes: rootbound patch show " + p.ID + ", then rootbound patch apply " + p.ID +
			"; or apply_patch, if the client can ask its user."
	}
	return s + "A person has to agree within 15 minutes: apply_patch, if the client can ask its user. No plans are kept for the terminal, since this server has no state directory."
}

func counted(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// cutLines is s up to the last line end within limit bytes.
func cutLines(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	return s[:strings.LastIndexByte(s[:limit], '\n')+1], true
}

// backticks is the longest run of them.
func backticks(s string) int {
	best, n := 0, 0
	for _, c := range []byte(s) {
		if c != '`' {
			n = 0
			continue
		}
		n++
		best = max(best, n)
	}
	return best
}

func (f *files) apply(ctx context.Context, c call) (*wire.Reply, error) {
	root, ref := c.tool.project(c.Arguments), c.Text("plan", true)
	if c.Err() != nil {
		return nil, c.Err()
	}
	p, err := f.desk.Redeem(ctx, root, ref)
	if err != nil {
		return nil, err
	}
	if patch.Waits(ctx, p) {
		consent, err := f.scope.Agree(ctx, c.req, mcpscope.Question{Message: asked(p), Binds: p.Digest, Until: p.Expires})
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
			use, err := authority.From(ctx)
			if err != nil {
				return nil, err
			}
			use.Agreed = authority.ByElicitation
		}
	}
	done, err := f.desk.Apply(ctx, f.guard, p)
	if err != nil {
		return nil, err
	}
	out := &wire.Reply{}
	files := make([]proposed, len(done.Files))
	var b strings.Builder
	fmt.Fprintf(&b, "Successfully applied plan %s to %s", p.ID, counted(len(files)))
	for n, file := range done.Files {
		files[n] = proposed{file.Path, string(p.Files[n].Action), file.Version}
		if n < 100 {
			fmt.Fprintf(&b, "\n%s %s", p.Files[n].Action, listedPath(file.Path))
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

// asked is what a person reads who is asked to agree: what happens to which file, and the diff as far as a form has room.
// Clients differ in what they show, so nothing in it may look like something else.
func asked(p *patch.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Change %s in project %s?\n", counted(len(p.Files)), rootbound.Clean(string(p.Project)))
	for n, file := range p.Files {
		if n == 20 {
			fmt.Fprintf(&b, "… and %d more\n", len(p.Files)-n)
			break
		}
		fmt.Fprintf(&b, "%s %s\n", file.Action, rootbound.Clean(file.Path))
	}
	shown, cut := cutLines(p.Diff, 4<<10)
	b.WriteByte('\n')
	for l := range strings.Lines(shown) {
		b.WriteString(rootbound.Clean(strings.TrimSuffix(l, "\n")) + "\n")
	}
	if cut {
		fmt.Fprintf(&b, "… the rest: rootbound patch show %s\n", p.ID)
	}
	return b.String()
}
