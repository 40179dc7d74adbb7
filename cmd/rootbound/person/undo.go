package person

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/internal/undo"
	"github.com/rootbound/rootbound/patch"
)

func undoCommand(w setting.World) *cobra.Command {
	f := &setting.Flags{}
	var dirs []string
	var list, whole bool
	c := &cobra.Command{
		Use: "undo [ID]", Short: "Take a change back, or list what can be taken back",
		Long: `Takes one change back: what it replaced or deleted stands in its place again, and what it made is gone. It is done by the
rights and rules of the configuration, recorded, and done as a whole or not at all: if a file is not what the change left any
more, nothing is changed and the file is named. Where a project says writes: propose it needs a terminal, for a person
agrees. Changes are kept for as long as undo.max_size, undo.keep and undo.entries allow.
` + setting.ExitHelp,
		Example: `  rootbound undo --list --config rootbound.yaml
  rootbound undo mb2k9x4z-a7f3q2lw --config rootbound.yaml
  rootbound undo mb2k9x4z-a7f3q2lw --dir ~/src/app`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return setting.Misused("one change at a time: %s is too much", rootbound.Quote(args[1]))
			case list && len(args) > 0:
				return setting.Misused("--list takes no change: %s is too much", rootbound.Quote(args[0]))
			case !list && len(args) == 0:
				return setting.Misused("name the change to take back, or list them with --list")
			}
			s, err := f.Gather(c, w, dirs)
			if err != nil {
				return err
			}
			w.Say(s.Warnings...)
			if list {
				return listUndo(s, w, whole)
			}
			if len(s.Projects) == 0 {
				return setting.Misused("no directory is granted. Name the one the change was made in with --dir or --config")
			}
			return takeBack(c.Context(), s, w, args[0], whole)
		},
	}
	f.Register(c)
	c.Flags().StringArrayVar(&dirs, "dir", nil, "directory of the change; may be given more than once")
	c.Flags().BoolVar(&list, "list", false, "list what can be taken back, the newest first")
	c.Flags().BoolVar(&whole, "json", false, "print JSON")
	return c
}

func store(s *setting.Settings) (*undo.Store, error) {
	dir, err := s.State()
	if err == nil {
		var store *undo.Store
		if store, err = undo.Open(dir, s.UndoOptions()); err == nil {
			return store, nil
		}
	}
	return nil, setting.Failed("the store cannot be opened: %s", rootbound.Clean(err.Error()))
}

func listUndo(s *setting.Settings, w setting.World, whole bool) error {
	kept, err := store(s)
	if err != nil {
		return err
	}
	defer kept.Close()
	all, err := kept.List()
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	if whole {
		return printJSON(w, all)
	}
	if len(all) == 0 {
		w.Say("nothing is kept that could be taken back")
	}
	for _, c := range all {
		if _, err := fmt.Fprint(w.Out, describe(c)); err != nil {
			return setting.Failed("%s", setting.Text(err))
		}
	}
	return nil
}

// describe is a line for a change and one for each of its files.
func describe(c undo.Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s", c.ID, c.Time.Local().Format(time.DateTime), c.Operation)
	for _, by := range []string{c.Principal, c.Client} {
		if by != "" {
			b.WriteString("  " + rootbound.Quote(by))
		}
	}
	b.WriteString("\n")
	for _, f := range c.Files {
		fmt.Fprintf(&b, "  %-8s %10d  %s: %s\n", f.Was, f.Size, f.Project, rootbound.Clean(f.Path))
	}
	return b.String()
}

func printJSON(w setting.World, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = w.Out.Write(append(plain(b), '\n'))
	}
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	return nil
}

// plain escapes in JSON what a person's screen would not show, or show as something else.
func plain(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '\n' || !rootbound.Hidden(r):
			out = append(out, b[:n]...)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		b = b[n:]
	}
	return out
}

// takeBack takes a change back with the authority of the configuration: whoever may start this program may.
func takeBack(ctx context.Context, s *setting.Settings, w setting.World, id string, whole bool) (err error) {
	s.Options.Transport = "memory"
	h, err := s.Furnish(ctx, w)
	if err != nil {
		return err
	}
	defer h.Close()
	if h.Undo == nil {
		return setting.Failed("the store cannot be opened")
	}
	if sink := s.Options.Sink; sink != nil {
		defer func() { err = errors.Join(err, sink.Close()) }()
	}
	// What a person applied by their own authority they can take back by it.
	projects := make([]rootbound.Project, len(s.Projects))
	for i, p := range s.Projects {
		projects[i] = patch.Operator(p)
	}
	ceiling, err := authority.Open(projects, authority.CeilingOptions{AcceptRetarget: s.Options.AcceptRetarget})
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	defer ceiling.Close()
	a := authority.New(ceiling, authority.Options{})
	defer a.Close()
	use, err := a.Acquire(ctx, true)
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	defer use.Release()
	use.Origin = &rootbound.Origin{Transport: "memory", ClientName: "rootbound undo", ClientVersion: setting.Version()}
	if w.Terminal() { // whoever named the change there agreed to what is done; a program did not
		use.Agreed = authority.AtTerminal
	}
	ctx, end := authority.With(ctx, use)
	defer end()
	g := guard.New(guard.Options{Sink: s.Options.Sink, Server: s.Options.Server, Locks: s.Options.Locks, Journal: s.Options.Journal, Keep: s.Options.Keep, Own: s.Options.Own, TreeLimit: s.Options.TreeLimit})
	done, again, err := h.Undo.Restore(ctx, g, s.Projects, id)
	if err != nil && use.Agreed == "" && rootbound.ReasonOf(err) == rootbound.RightMissing && strings.Contains(err.Error(), "writes: propose") {
		return setting.Misused("stdin is not a terminal: where writes: propose, a change is taken back by a person")
	}
	if rootbound.ReasonOf(err) == rootbound.NotFound && strings.Contains(err.Error(), "no change of that id is kept") {
		return setting.Failed("no change of that id is kept: %s. What is kept is shown by: rootbound undo --list%s", rootbound.Quote(id), s.Named())
	}
	if err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	if whole {
		return printJSON(w, map[string]any{"undone": done, "undo": again})
	}
	out := "Took back:\n" + describe(done)
	if again != "" {
		out += "To take that back in turn: rootbound undo " + again + s.Named() + "\n"
	}
	if _, err := fmt.Fprint(w.Out, out); err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	return nil
}
