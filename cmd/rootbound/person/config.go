package person

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
)

func configCommand(w setting.World) *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Check, show or accept the configuration",
		Long: "Reads the configuration as serve would, without serving.\n" + setting.ExitHelp,
		Example: `  rootbound config check --config rootbound.yaml
  rootbound config show ~/src/app
  rootbound config show --origin --config rootbound.yaml`,
	}
	c.AddCommand(configCheck(w), configShow(w), configApply(w), configSchema(w))
	return c
}

func configCheck(w setting.World) *cobra.Command {
	f := &setting.Flags{}
	c := &cobra.Command{
		Use: "check [DIR…]", Short: "Say whether the configuration is valid",
		Long: `Reads flags, environment and configuration and says what they come to, or each mistake with its line and a caret. Where that
is nothing, the code is 2, as with serve --check.
` + setting.ExitHelp,
		Example: `  rootbound config check --config rootbound.yaml
  rootbound config check ~/src/app ~/notes
  ROOTBOUND_CONFIG=rootbound.yaml rootbound config check`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, dirs []string) error {
			s, err := f.Gather(c, w, dirs)
			if err != nil {
				return err
			}
			w.Say(s.Warnings...)
			if p := s.Audit.Path; p != "" {
				if _, err := os.Stat(filepath.Dir(p)); err != nil {
					w.Say("Warning: the audit log cannot be opened: " + rootbound.Clean(err.Error()) + "; make that directory, or nothing is served")
				}
			}
			lines, active := append(s.Summary(), s.Notes()...), s.InForce(w)
			for _, p := range s.Projects {
				if !active(p.ID) {
					lines = append(lines, string(p.ID)+": not in force, rootbound use chose others")
				}
			}
			granting := s.Granting()
			if granting == nil && len(s.Projects) == 0 {
				lines = append(lines, setting.OnlyRoots)
			}
			for _, line := range lines {
				if _, err := fmt.Fprintln(w.Out, rootbound.Clean(line)); err != nil {
					return setting.Failed("%s", setting.Text(err))
				}
			}
			return granting
		},
	}
	f.Register(c)
	return c
}

func configShow(w setting.World) *cobra.Command {
	f := &setting.Flags{}
	var origin bool
	c := &cobra.Command{
		Use: "show [DIR…]", Short: "Print the configuration in force as a file",
		Long: `Prints everything in force as YAML that --config reads back. With --origin each value says where it came from: a flag
goes before the environment, the environment before the file, the file before the default.
` + setting.ExitHelp,
		Example: `  rootbound config show --origin --config rootbound.yaml
  rootbound config show --read-only ~/src/app
  rootbound config show ~/src/app > rootbound.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, dirs []string) error {
			s, err := f.Gather(c, w, dirs)
			if err != nil {
				return err
			}
			w.Say(s.Warnings...)
			if _, err := w.Out.Write(s.Show(origin)); err != nil {
				return setting.Failed("%s", setting.Text(err))
			}
			return nil
		},
	}
	f.Register(c)
	c.Flags().BoolVar(&origin, "origin", false, "say where each value came from")
	return c
}
