package person

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/state"
)

func useCommand(w setting.World) *cobra.Command {
	var file, env string
	var all, show bool
	c := &cobra.Command{
		Use:   "use [PROJECT…]",
		Short: "Choose which projects of the configuration are in force",
		Long: `Puts only the named projects of the configuration file in force, for this user: servers that run with the file take
it within a second and end what is under way in the others; later ones start with it. It only ever narrows what the file
grants, and counts for directories named at a server's start too: they are not in force either. --all takes it back.
` + setting.ExitHelp,
		Example: `  rootbound use --config rootbound.yaml app
  rootbound use --all --config rootbound.yaml
  ROOTBOUND_CONFIG=rootbound.yaml rootbound use --show`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, ids []string) error {
			if n := len(ids); all && (show || n > 0) || show && n > 0 || !all && !show && n == 0 {
				return setting.Misused("name the projects to use, or give --all or --show")
			}
			getenv := func(name string) string {
				if name == "ROOTBOUND_ENV" {
					return w.Getenv(name)
				}
				return setting.FileOnly(w.Getenv)(name)
			}
			cfg, warnings, err := config.Load(config.Input{File: w.Usual(file), Env: env, Getenv: getenv})
			if err != nil {
				return &setting.Failure{Code: setting.ExitOf(err), Line: err.Error()}
			}
			if cfg.File == "" {
				return setting.Misused("no configuration file is named. Name it with --config or ROOTBOUND_CONFIG, or write one with: rootbound init DIR")
			}
			w.Say(warnings...)
			dir, err := state.Open(w.Getenv)
			if err != nil {
				return setting.Failed("%s", rootbound.Clean(err.Error()))
			}
			if show {
				return showActive(w, dir, cfg)
			}
			if err := use(dir, cfg, ids, all); err != nil {
				return err
			}
			return showActive(w, dir, cfg)
		},
	}
	c.Flags().StringVar(&file, "config", "", "configuration `FILE` (also ROOTBOUND_CONFIG)")
	c.Flags().StringVar(&env, "env", "", "environment `NAME` of the configuration file (also ROOTBOUND_ENV)")
	c.Flags().BoolVar(&all, "all", false, "put every project in force")
	c.Flags().BoolVar(&show, "show", false, "print the projects, those in force with a star")
	return c
}

func use(dir *state.Dir, cfg *config.Config, ids []string, all bool) error {
	var there []string
	for _, p := range cfg.Projects {
		there = append(there, string(p.ID))
	}
	for _, id := range ids {
		if !slices.Contains(there, id) {
			return setting.Misused("no project %s in %s; there are: %s", rootbound.Quote(id), rootbound.Clean(cfg.File), strings.Join(there, ", "))
		}
	}
	if all {
		ids = nil
	}
	if err := dir.SetActive(config.Name(cfg.File), ids); err != nil {
		return setting.Failed("the choice cannot be kept: %s", rootbound.Clean(err.Error()))
	}
	return nil
}

func showActive(w setting.World, dir *state.Dir, cfg *config.Config) error {
	ids, chosen, err := dir.Active(config.Name(cfg.File))
	if err != nil {
		w.Say("Warning: " + setting.Unreliable(err))
	}
	for _, p := range cfg.Projects {
		star := " "
		if !chosen || slices.Contains(ids, string(p.ID)) {
			star = "*"
		}
		if _, err := fmt.Fprintf(w.Out, "%s %s\n", star, rootbound.Clean(string(p.ID))); err != nil {
			return setting.Failed("%s", setting.Text(err))
		}
	}
	return nil
}
