package person

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/config/schema"
)

func initCommand(w setting.World) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "init [DIR…]", Short: "Write a commented configuration file",
		Long: `Writes a configuration file with a project for each directory named, every setting with its default as a comment, and the
line that lets an editor complete and check it. Projects are granted for reading; what else they need is a word of yours.
A file that is there is never replaced. Without --config it is ROOTBOUND_CONFIG, else rootbound/rootbound.yaml in
XDG_CONFIG_HOME or ~/.config.
` + setting.ExitHelp,
		Example: `  rootbound init ~/src/app ~/notes
  rootbound init --config ./rootbound.yaml .
  rootbound init ~/src/app && rootbound config check --config ~/.config/rootbound/rootbound.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, dirs []string) error {
			path, err := initPath(w, file)
			if err != nil {
				return err
			}
			source, warnings, err := schema.Template(config.Input{Dirs: dirs, Getenv: setting.FileOnly(w.Getenv)})
			w.Say(warnings...)
			if err != nil {
				return &setting.Failure{Code: setting.ExitOf(err), Line: err.Error()}
			}
			if named, _, err := config.Load(config.Input{Dirs: dirs, ReadOnly: true, Getenv: setting.FileOnly(w.Getenv)}); err == nil {
				w.Say(setting.Wide(named.Projects)...)
			}
			if err := writeNew(path, source); err != nil {
				if errors.Is(err, fs.ErrExist) {
					return setting.Failed("%s is there already; it is not replaced. Change it, or name another file with --config", rootbound.Clean(path))
				}
				return setting.Failed("%s cannot be written: %s", rootbound.Clean(path), rootbound.Clean(err.Error()))
			}
			if len(dirs) == 0 {
				w.Say("Wrote " + rootbound.Clean(path) + ". It grants nothing yet: add directories under projects:, then look at it with: rootbound config check --config " + setting.Word(path))
			} else {
				w.Say("Wrote " + rootbound.Clean(path) + ". Serve it with: rootbound serve --config " + setting.Word(path))
			}
			w.Say("A host's entry for it (docs/serve.md names the file of each host):", entry(path))
			return nil
		},
	}
	c.Flags().StringVar(&file, "config", "", "`FILE` to write (also ROOTBOUND_CONFIG)")
	return c
}

// entry is what a host is told of a server that runs with the file.
func entry(path string) string {
	self, err := os.Executable()
	if err != nil {
		self = "rootbound"
	}
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	b, err := json.Marshal(map[string]map[string]server{"mcpServers": {"rootbound": {self, []string{"serve", "--config", path}}}})
	if err != nil {
		return err.Error()
	}
	return string(plain(b))
}

func initPath(w setting.World, file string) (string, error) {
	if file == "" {
		file = w.Getenv("ROOTBOUND_CONFIG")
	}
	if file != "" {
		path, err := filepath.Abs(file)
		if err != nil {
			return "", setting.Failed("%s", rootbound.Clean(err.Error()))
		}
		return path, nil
	}
	path := w.UsualPath()
	if path == "" {
		return "", setting.Misused("there is no home directory; name the file with --config")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", setting.Failed("%s", rootbound.Clean(err.Error()))
	}
	return path, nil
}

// writeNew writes a file that must not exist yet, whole or not at all: a link never replaces.
func writeNew(path string, b []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".rootbound-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if _, err := tmp.Write(b); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	return os.Link(tmp.Name(), path)
}
