package mcpfs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpfs/show"
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/mcpscope"
)

type scopeOf struct {
	ID         rootbound.RootID `json:"id"`
	Rights     []string         `json:"rights"`
	Roots      []part           `json:"roots"`
	Rules      []string         `json:"rules"`
	Deny       int              `json:"deny"`
	Extensions []string         `json:"allow_extensions,omitempty"`
	MaxRead    int64            `json:"max_read,omitempty"`
	MaxWrite   int64            `json:"max_write,omitempty"`
	Writes     string           `json:"writes"`
	Wide       string           `json:"wide,omitempty"`
}

// maxExtensions is how many allowed extensions of a project are shown.
const maxExtensions = 50

func scopeOfProject(p granted) scopeOf {
	s := scopeOf{ID: p.ID, Rights: p.Rights.Names(), Roots: p.parts, Rules: []string{"own"}, Deny: len(p.Deny), MaxRead: p.MaxRead, MaxWrite: p.MaxWrite}
	for _, r := range []struct {
		on   bool
		name string
	}{
		{!p.LiftCredentials, "credentials"}, {!p.LiftExecution, "execution"}, {p.DenyMounts, "mounts"}, {p.DenyHardlinks, "hardlinks"},
	} {
		if r.on {
			s.Rules = append(s.Rules, r.name)
		}
	}
	for _, e := range p.AllowExtensions[:min(len(p.AllowExtensions), maxExtensions)] {
		s.Extensions = append(s.Extensions, rootbound.Clean(e))
	}
	switch {
	case !p.ProposeWrites && p.Rights&(rootbound.Create|rootbound.Write|rootbound.Move|rootbound.Delete) != 0:
		s.Writes = "direct"
	case p.Rights.Has(rootbound.Propose):
		s.Writes = "propose"
	default:
		s.Writes = "none"
	}
	return s
}

// sources says in words where a scope comes from.
func sourceText(source string) string {
	switch source {
	case "ceiling":
		return "what the operator granted"
	case "roots":
		return "the client's roots"
	case "roots_unsupported":
		return "what the operator granted, since the client does not answer for its roots"
	case "empty_first":
		return "what the operator granted, since the client's first list was empty"
	}
	return "nothing yet"
}

// status answers scope_status from what the scope holds, without a look at the disk; also where the scope refuses.
func (f *files) status(ctx context.Context, c call) (*wire.Reply, error) {
	if c.Err() != nil {
		return nil, c.Err()
	}
	st := f.scope.Status(ctx, c.req)
	out := &wire.Reply{}
	var b strings.Builder
	fmt.Fprintf(&b, "Mode %s, state %s, generation %d.", st.Mode, st.State, st.Generation)
	if st.Refused != nil {
		text, facts := wire.Refused(Advise(st.Refused, f.tools))
		b.WriteString("\nNothing may be touched: " + text)
		out.Add("refused", facts)
	} else {
		f.inForce(c, out, &b, st)
	}
	dropped(out, &b, st)
	fmt.Fprintf(&b, "\nOne answer holds at most %s of text, %d entries of a list, %d hits of a search, %d nodes of a tree.",
		show.Bytes(int64(c.limits.Text)), c.limits.List, c.limits.Hits, c.limits.Tree)
	if f.waits != nil {
		if lines := f.waits(); len(lines) > 0 {
			b.WriteString("\nNot in force yet: " + strings.Join(lines, "; ") + ".")
			out.Add("waits", lines)
		}
	}
	out.Add("limits", map[string]any{"text": c.limits.Text, "media": c.limits.Media, "tree": c.limits.Tree, "list": c.limits.List,
		"search": c.limits.Hits, "edit": c.limits.Edit,
		"search_bytes": c.limits.SearchBytes, "search_files": c.limits.SearchFiles, "search_seconds": c.limits.SearchTime.Seconds()})
	out.Add("mode", st.Mode)
	out.Add("state", st.State)
	out.Add("generation", st.Generation)
	out.Text = b.String()
	return out, nil
}

// inForce tells what may be touched. More projects than a page holds are left to list_projects.
func (f *files) inForce(c call, out *wire.Reply, b *strings.Builder, st mcpscope.Status) {
	out.Add("source", st.Source)
	fmt.Fprintf(b, " In force: %s.", sourceText(st.Source))
	all := grantedIn(st)
	list := []scopeOf{}
	for i, p := range all {
		if i == c.limits.List {
			out.Cut = true
			out.Note(fmt.Sprintf("cut after %d of %d projects; list_projects shows the others", i, len(all)))
			break
		}
		s := scopeOfProject(p)
		fmt.Fprintf(b, "\n%s (%s): %s; changes: %s; rules: %s", p.ID, p.Rights, partsText(p.parts), s.Writes, strings.Join(s.Rules, ", "))
		if s.Deny > 0 {
			b.WriteString(", " + counted(s.Deny, "deny pattern", "deny patterns"))
		}
		if s.Extensions != nil {
			fmt.Fprintf(b, ", only %s", strings.Join(s.Extensions, " "))
		}
		if s.Wide = f.wide(p); s.Wide != "" {
			fmt.Fprintf(b, "; this is %s: the operator should name the directories that are needed instead", s.Wide)
		}
		list = append(list, s)
	}
	out.Add("projects", list)
}

// wide says what makes a project uncommonly wide, as far as all of it is approved.
func (f *files) wide(p granted) string {
	if f.width == nil || !slices.ContainsFunc(p.parts, func(part part) bool { return part.Prefix == "" }) {
		return ""
	}
	return f.width(p.Project)
}

// dropped tells which entries of the client's list were not approved, and why.
func dropped(out *wire.Reply, b *strings.Builder, st mcpscope.Status) {
	list := []map[string]any{}
	for i, v := range st.Verdicts {
		if v.Reason == "" {
			continue
		}
		d := map[string]any{"entry": i + 1, "reason": v.Reason, "next": v.Next()}
		what := v.Reason.Meaning()
		if v.Detail != "" {
			d["detail"] = rootbound.Clean(v.Detail)
			what += " [" + rootbound.Clean(v.Detail) + "]"
		}
		list = append(list, d)
		if len(list) <= 8 {
			fmt.Fprintf(b, "\nEntry %d of the client's roots is not approved: %s (%s). %s", i+1, what, v.Reason, v.Next())
		}
	}
	if len(list) > 8 {
		fmt.Fprintf(b, "\n%d more entries are not approved.", len(list)-8)
	}
	if len(list) > 0 {
		out.Add("dropped_roots", list)
	}
}
