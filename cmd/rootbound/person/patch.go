package person

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/internal/state"
	"github.com/rootbound/rootbound/patch"
)

func patchCommand(w setting.World) *cobra.Command {
	c := &cobra.Command{
		Use: "patch", Short: "Look at patches that wait for you, and apply or reject them",
		Long: `Patches that a session proposed and may not apply itself wait for 15 minutes, for you: where a project says writes: propose,
and where the project lacks a right that the patch needs.
` + setting.ExitHelp,
		Example: `  rootbound patch list
  rootbound patch show 4fwz27d3ka
  rootbound patch apply --config rootbound.yaml 4fwz27d3ka`,
	}
	c.AddCommand(patchList(w), patchShow(w), patchApply(w), patchReject(w))
	return c
}

// onePatch wants the id of one patch.
func onePatch(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return setting.Misused("which patch? Give the id of one; rootbound patch list shows those that wait")
	}
	return nil
}

func patchList(w setting.World) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the patches that wait",
		Long: "Lists the patches that wait, those that expire first first: id, project, what happens to how many files, and who proposed it.\n" + setting.ExitHelp,
		Example: `  rootbound patch list
  rootbound patch list | cut -d' ' -f1
  ROOTBOUND_STATE_DIR=/srv/state rootbound patch list`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, plans, err := waiting(w)
			if err != nil {
				return err
			}
			all, strange, err := plans.List()
			if err != nil {
				return setting.Failed("%s", setting.Text(err))
			}
			for _, p := range all {
				plan, err := patch.Decode(p.Body)
				if err != nil {
					strange++
					continue
				}
				left := time.Until(plan.Expires).Round(time.Second)
				if _, err := fmt.Fprintf(w.Out, "%s  %s  %s  %s left%s\n", plan.ID, rootbound.Clean(string(plan.Project)), plan.Summary(), left, plan.By()); err != nil {
					return setting.Failed("%s", setting.Text(err))
				}
			}
			if strange > 0 {
				w.Say(fmt.Sprintf("Warning: %d files among the plans are not what a server laid there, and were left out", strange))
			}
			if len(all) == 0 {
				w.Say("no patch waits")
			}
			return nil
		},
	}
}

func patchShow(w setting.World) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a patch that waits",
		Long: `Prints what a patch does to which file, and all of its diff. Control characters, marks that change the direction of
writing and letters that no screen shows are written as \xHH and \u{HHHH}, so that the diff cannot look like something it is not.
` + setting.ExitHelp,
		Example: `  rootbound patch show 4fwz27d3ka
  rootbound patch show 4fwz27d3ka | less
  ROOTBOUND_STATE_DIR=/srv/state rootbound patch show 4fwz27d3ka`,
		Args: onePatch,
		RunE: func(_ *cobra.Command, args []string) error {
			_, plans, err := waiting(w)
			if err != nil {
				return err
			}
			p, err := find(plans, args[0])
			if err != nil {
				return err
			}
			return show(w, p)
		},
	}
}

func show(w setting.World, p *patch.Plan) error {
	out := bufio.NewWriter(w.Out)
	p.Show(out)
	if err := out.Flush(); err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	return nil
}

func patchApply(w setting.World) *cobra.Command {
	f := &setting.Flags{}
	var dirs []string
	var yes bool
	c := &cobra.Command{
		Use: "apply ID", Short: "Apply a patch that waits",
		Long: `Shows the patch, asks, and applies all of it or nothing, if every file is still what it was when the patch was proposed.
It is done with your own authority: the projects of the configuration, their directories and rules, and in a project that
grants propose the rights to create, write and delete. Name the configuration as the server does. It needs a terminal,
since it is for a person to agree.
` + setting.ExitHelp,
		Example: `  rootbound patch apply 4fwz27d3ka
  rootbound patch apply --config rootbound.yaml 4fwz27d3ka
  rootbound patch apply --dir ~/src/app 4fwz27d3ka`,
		Args: onePatch,
		RunE: func(c *cobra.Command, args []string) error {
			if !w.Terminal() {
				return setting.Misused("stdin is not a terminal: a patch that waits is for a person to apply")
			}
			s, err := f.Gather(c, w, dirs)
			if err != nil {
				return err
			}
			w.Say(s.Warnings...)
			h, err := s.Furnish(c.Context(), w)
			if err != nil {
				return err
			}
			defer h.Close()
			if s.Options.Sink != nil {
				defer s.Options.Sink.Close() // what is decided is on disk before anything changes
			}
			_, plans, err := waiting(w)
			if err != nil {
				return err
			}
			if s.Options.Patches.Pending == nil {
				return setting.Failed("there is no store of used plans, so none can be applied")
			}
			p, err := find(plans, args[0])
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(s.Projects, func(q rootbound.Project) bool { return q.ID == p.Project }) {
				return setting.Misused("project %s is not among what is granted here. Name the configuration with --config, as the server does, or its directories with --dir", rootbound.Quote(string(p.Project)))
			}
			if err := show(w, p); err != nil {
				return err
			}
			if !yes && !w.Agrees("Apply?") {
				return setting.Failed("nothing was applied; the patch waits until %s", p.Expires.Local().Format(time.TimeOnly))
			}
			done, err := serve.ApplyAsPerson(c.Context(), s.Options, p)
			if _, lost := find(plans, args[0]); err != nil && lost != nil {
				return setting.Failed("%s\nThe patch is used up: ask for a new proposal.", setting.Text(err))
			} else if rootbound.ReasonOf(err) == rootbound.RightMissing {
				return setting.Failed("%s\nIf the server runs with another configuration, name that one with --config; the patch still waits.", setting.Text(err))
			} else if err != nil {
				return setting.Failed("%s", setting.Text(err))
			}
			w.Say(done.Warnings...)
			fmt.Fprintf(w.Out, "applied to %s\n", patch.Counted(len(done.Files)))
			if done.Undo != "" {
				fmt.Fprintf(w.Out, "it can be taken back: rootbound undo %s%s\n", done.Undo, s.Named())
			}
			return nil
		},
	}
	f.Register(c)
	c.Flags().StringArrayVar(&dirs, "dir", nil, "directory that the server was given as an argument; may be given more than once")
	c.Flags().BoolVar(&yes, "yes", false, "apply without asking")
	return c
}

func patchReject(w setting.World) *cobra.Command {
	return &cobra.Command{
		Use: "reject ID", Short: "Reject a patch that waits",
		Long: "Uses a patch up without applying it: the session that proposed it cannot apply it any more either.\n" + setting.ExitHelp,
		Example: `  rootbound patch reject 4fwz27d3ka
  rootbound patch list | cut -d' ' -f1 | xargs -n1 rootbound patch reject
  ROOTBOUND_STATE_DIR=/srv/state rootbound patch reject 4fwz27d3ka`,
		Args: onePatch,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, plans, err := waiting(w)
			if err != nil {
				return err
			}
			p, err := find(plans, args[0])
			if err != nil {
				return err
			}
			spent, err := dir.Spent()
			if err != nil {
				return setting.Failed("%s", setting.Text(err))
			}
			if err := patch.NewDesk(patch.DeskOptions{Spender: spent, Pending: plans}).Reject(p); err != nil {
				return setting.Failed("%s", setting.Text(err))
			}
			fmt.Fprintf(w.Out, "rejected patch %s of project %s: %s\n", p.ID, rootbound.Clean(string(p.Project)), p.Summary())
			return nil
		},
	}
}

// waiting opens the store of plans.
func waiting(w setting.World) (*state.Dir, *state.Plans, error) {
	dir, err := state.Open(w.Getenv)
	if err != nil {
		return nil, nil, setting.Failed("%s", setting.Text(err))
	}
	plans, err := dir.Plans()
	if err != nil {
		return nil, nil, setting.Failed("%s", setting.Text(err))
	}
	return dir, plans, nil
}

func find(plans *state.Plans, id string) (*patch.Plan, error) {
	w, err := plans.Get(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, setting.Failed("no patch %s waits: it was applied, rejected or has expired", rootbound.Quote(id))
	}
	var p *patch.Plan
	if err == nil {
		p, err = patch.Decode(w.Body)
	}
	if err == nil && p.ID != id {
		err = errors.New("it has another id")
	}
	if err != nil {
		return nil, setting.Failed("patch %s cannot be relied on: %s", rootbound.Quote(id), rootbound.Clean(err.Error()))
	}
	return p, nil
}
