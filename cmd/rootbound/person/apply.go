package person

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/config/held"
	"github.com/rootbound/rootbound/internal/config/schema"
	"github.com/rootbound/rootbound/internal/state"
)

func configApply(w setting.World) *cobra.Command {
	var file string
	var yes bool
	c := &cobra.Command{
		Use: "apply", Short: "Accept what the configuration file says",
		Long: `Shows what the configuration file changes in what may be touched, project by project and for each environment, asks, and
then accepts it: servers that run take it at once, later ones start with it. Until then a change of the file can only narrow.
Without a terminal it changes nothing unless --yes is given.
` + setting.ExitHelp,
		Example: `  rootbound config apply --config rootbound.yaml
  ROOTBOUND_CONFIG=rootbound.yaml rootbound config apply
  rootbound config apply --yes --config rootbound.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, warnings, err := config.Load(config.Input{File: w.Usual(file), Getenv: setting.FileOnly(w.Getenv)})
			if err != nil {
				return &setting.Failure{Code: setting.ExitOf(err), Line: err.Error()}
			}
			if cfg.File == "" {
				return setting.Misused("no configuration file is named. Name it with --config or ROOTBOUND_CONFIG")
			}
			w.Say(append(warnings, setting.Wide(cfg.Projects)...)...)
			if err := apply(w, cfg, yes); err != nil {
				return err
			}
			left(w, cfg)
			return nil
		},
	}
	c.Flags().StringVar(&file, "config", "", "configuration `FILE` (also ROOTBOUND_CONFIG)")
	c.Flags().BoolVar(&yes, "yes", false, "accept without asking")
	return c
}

func apply(w setting.World, cfg *config.Config, yes bool) error {
	dir, err := state.Open(w.Getenv)
	if err != nil {
		return setting.Failed("%s", rootbound.Clean(err.Error()))
	}
	name := config.Name(cfg.File)
	was, err := dir.Accepted(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		was = nil
	case err != nil:
		w.Say("Warning: what was accepted before cannot be relied on (" + rootbound.Clean(err.Error()) + "); everything is shown as new")
		was = nil
	}
	changes, err := cfg.Against(was)
	if err != nil {
		w.Say("Warning: " + rootbound.Clean(err.Error()) + "; everything is shown as new")
		if changes, err = cfg.Against(nil); err != nil {
			return setting.Failed("%s", setting.Text(err))
		}
	}
	if err := printChanges(w, cfg, changes); err != nil {
		return err
	}
	if len(changes) > 0 && !yes {
		if !w.Terminal() {
			return setting.Misused("stdin is not a terminal, so nobody can be asked: nothing was accepted. Give --yes if it is meant")
		}
		if !w.Agrees("Accept?") {
			return setting.Failed("nothing was accepted")
		}
	}
	record, err := cfg.Accept(time.Now())
	if err == nil {
		err = dir.Accept(name, record)
	}
	if err != nil {
		return setting.Failed("it cannot be kept: %s", rootbound.Clean(err.Error()))
	}
	if len(changes) == 0 {
		return nil
	}
	w.Say("Accepted. Servers that run take it now; one that the system confines takes new directories and rights to write when it starts anew")
	return nil
}

// left tells which projects of the file stay out of force all the same.
func left(w setting.World, cfg *config.Config) {
	dir, err := state.Open(w.Getenv)
	if err != nil {
		return // apply kept what was accepted, so it is there
	}
	ids, chosen, err := dir.Active(config.Name(cfg.File))
	if err != nil {
		w.Say("Warning: " + setting.Unreliable(err))
	}
	if !chosen {
		return
	}
	for _, p := range cfg.Projects {
		if !slices.Contains(ids, string(p.ID)) {
			w.Say("Notice: project " + rootbound.Quote(string(p.ID)) + " is not in force: rootbound use chose others")
		}
	}
}

// printChanges shows what is accepted, the file itself first.
func printChanges(w setting.World, cfg *config.Config, changes map[string][]held.Change) error {
	var lines []string
	for _, name := range append([]string{""}, sortedKeys(changes)...) {
		if name == "" && len(changes[""]) == 0 {
			continue
		}
		head := rootbound.Clean(cfg.File) + ":"
		if name != "" {
			head = "environment " + name + ":"
			if !slices.Contains(cfg.Environments(), name) {
				head = "environment " + name + " is removed:"
			}
		}
		lines = append(lines, head)
		for _, c := range changes[name] {
			lines = append(lines, "  "+rootbound.Clean(c.String()))
		}
	}
	if len(lines) == 0 {
		lines = []string{"nothing changes in what was accepted; a server that narrowed since goes back to it"}
	}
	if _, err := fmt.Fprintln(w.Out, strings.Join(lines, "\n")); err != nil {
		return setting.Failed("%s", setting.Text(err))
	}
	return nil
}

func sortedKeys(m map[string][]held.Change) []string {
	var out []string
	for k := range m {
		if k != "" {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func configSchema(w setting.World) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration file",
		Long: "Prints the JSON Schema (draft 2020-12) of the configuration file, for editors and for checks elsewhere.\n" + setting.ExitHelp,
		Example: `  rootbound config schema
  rootbound config schema > rootbound.config.v1.json
  rootbound config schema | jq '.properties | keys'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := w.Out.Write(schema.JSON()); err != nil {
				return setting.Failed("%s", setting.Text(err))
			}
			return nil
		},
	}
}
