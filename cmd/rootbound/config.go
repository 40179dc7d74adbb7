package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
)

func configCommand(w world) *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Check, show or accept the configuration", Args: cobra.NoArgs,
		Long: "Reads the configuration as serve would, without serving.\n" + exitHelp,
		Example: `  rootbound config check --config rootbound.yaml
  rootbound config show ~/src/app
  rootbound config show --origin --config rootbound.yaml`,
	}
	c.AddCommand(configCheck(w), configShow(w), configApply(w), configSchema(w))
	return c
}

func configCheck(w world) *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use: "check [DIR…]", Short: "Say whether the configuration is valid",
		Long: `Reads flags, environment and configuration and says what they come to, or each mistake with its line and a caret.
` + exitHelp,
		Example: `  rootbound config check --config rootbound.yaml
  rootbound config check ~/src/app ~/notes
  ROOTBOUND_CONFIG=rootbound.yaml rootbound config check`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, dirs []string) error {
			s, err := f.gather(c, w, dirs)
			if err != nil {
				return err
			}
			w.say(s.warnings...)
			lines, active := append(s.Summary(), s.Notes()...), s.inForce(w)
			for _, p := range s.Projects {
				if !active(p.ID) {
					lines = append(lines, string(p.ID)+": not in force, rootbound use chose others")
				}
			}
			for _, line := range lines {
				if _, err := fmt.Fprintln(w.out, rootbound.Clean(line)); err != nil {
					return failed("%s", text(err))
				}
			}
			return nil
		},
	}
	f.register(c)
	return c
}

func configShow(w world) *cobra.Command {
	f := &flags{}
	var origin bool
	c := &cobra.Command{
		Use: "show [DIR…]", Short: "Print the configuration in force as a file",
		Long: `Prints everything in force as YAML that --config reads back. With --origin each value says where it came from: a flag
goes before the environment, the environment before the file, the file before the default.
` + exitHelp,
		Example: `  rootbound config show --origin --config rootbound.yaml
  rootbound config show --read-only ~/src/app
  rootbound config show ~/src/app > rootbound.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, dirs []string) error {
			s, err := f.gather(c, w, dirs)
			if err != nil {
				return err
			}
			w.say(s.warnings...)
			if _, err := w.out.Write(s.Show(origin)); err != nil {
				return failed("%s", text(err))
			}
			return nil
		},
	}
	f.register(c)
	c.Flags().BoolVar(&origin, "origin", false, "say where each value came from")
	return c
}
