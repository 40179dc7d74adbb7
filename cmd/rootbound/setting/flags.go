package setting

import (
	"cmp"
	"io/fs"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/internal/state"
	"github.com/rootbound/rootbound/mcpfs"
)

// Flags are those that serve, call and config share: the settings of internal/config that have a flag, and what says
// which directories are granted.
type Flags struct {
	config         string
	env            string
	allowedDirs    string
	readOnly       bool
	allowDelete    bool
	acceptRetarget bool
	settings       map[string]*string // by flag
}

// Register gives a command the flags.
func (f *Flags) Register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.config, "config", "", "configuration `FILE` with the projects to serve (also ROOTBOUND_CONFIG)")
	fs.StringVar(&f.env, "env", "", "environment `NAME` of the configuration file (also ROOTBOUND_ENV)")
	fs.StringVar(&f.allowedDirs, "allowed-dirs", "", "`LIST` of more directories, separated as in PATH (also ROOTBOUND_ALLOWED_DIRS, MCP_ALLOWED_ROOTS)")
	fs.BoolVar(&f.readOnly, "read-only", false, "grant the directories named for reading only")
	fs.BoolVar(&f.allowDelete, "allow-delete", false, "grant the directories named with the right to delete")
	fs.BoolVar(&f.acceptRetarget, "accept-retarget", false, "approve a project whose path now leads to another directory")
	f.settings = map[string]*string{}
	for _, s := range config.Settings() {
		if s.Flag == "" {
			continue
		}
		if s.Switch {
			v := new(toggle)
			fs.VarPF(v, s.Flag, "", s.Help).NoOptDefVal = "true"
			f.settings[s.Flag] = (*string)(v)
			continue
		}
		f.settings[s.Flag] = fs.String(s.Flag, s.Default, s.Help)
	}
}

// toggle is a flag that needs no value, as a person sees it; what it was given is read with the other settings.
type toggle string

func (s *toggle) Set(v string) error { *s = toggle(v); return nil }
func (s *toggle) String() string     { return string(*s) }
func (s *toggle) Type() string       { return "bool" }

// Settings are what flags, environment and configuration come to.
type Settings struct {
	*config.Config
	Warnings []string
	Options  serve.Options
	Input    config.Input
	State    func() (*state.Dir, error) // opened once
	Confined bool                       // the system holds this process inside what it serves
}

// Gather reads everything. Mistakes of flags are misuse, all others keep the server from starting.
func (f *Flags) Gather(c *cobra.Command, w World, dirs []string) (*Settings, error) {
	if c.Name() != "serve" && len(dirs) == 0 && cmp.Or(f.allowedDirs, w.Getenv("ROOTBOUND_ALLOWED_DIRS"), w.Getenv("MCP_ALLOWED_ROOTS")) == "" {
		f.config = w.Usual(f.config)
	}
	in := config.Input{File: f.config, Env: f.env, Flags: map[string]string{}, Dirs: dirs, AllowedDirs: f.allowedDirs,
		ReadOnly: f.readOnly, AllowDelete: f.allowDelete, AcceptRetarget: f.acceptRetarget, Getenv: w.Getenv}
	open := sync.OnceValues(func() (*state.Dir, error) { return state.Open(w.Getenv) })
	in.Accepted = func(name string) ([]byte, error) {
		dir, err := open()
		if err != nil {
			return nil, fs.ErrNotExist // nothing is kept; serve says so
		}
		return dir.Accepted(name)
	}
	for name, value := range f.settings {
		if c.Flags().Changed(name) {
			in.Flags[name] = *value
		}
	}
	cfg, warnings, err := config.Load(in)
	if err != nil {
		w.Say(warnings...)
		return nil, &Failure{Code: ExitOf(err), Line: err.Error()}
	}
	warnings = append(warnings, Wide(cfg.Projects)...)
	s := &Settings{Config: cfg, Options: f.options(cfg), Input: in, State: open}
	for _, line := range cfg.Waiting {
		warnings = append(warnings, ApplyOf("Notice: the configuration "+line.String(), in.File))
	}
	s.Warnings = warnings
	return s, nil
}

func (f *Flags) options(c *config.Config) serve.Options {
	tools := mcpfs.Classic
	if c.Tools == mcpfs.Project.String() {
		tools = mcpfs.Project
	}
	o := serve.Options{
		Version:  Version(),
		Projects: c.Projects, AcceptRetarget: f.acceptRetarget, ClientProject: c.Client,
		Tools: tools,
	}
	live(c, &o)
	return o
}

// live fills in what serve.Service.Tune takes, but for Keep.
func live(c *config.Config, o *serve.Options) {
	o.Mode, o.RootsTimeout, o.EmptyIsCeiling = authority.Mode(c.Roots.Mode), c.Roots.Timeout, c.Roots.OnEmpty == "ceiling"
	o.NeverAskModern, o.AllowWide = c.Roots.AskModern == "never", c.Roots.AllowWide
	o.Relative, o.FSTimeout, o.NoSlow = c.Relative, c.FSTimeout, c.NoSlow
	o.TreeLimit, o.Subscriptions = c.Limits.Trees, c.Limits.Subscriptions
	o.Limits = mcpfs.Limits{Text: number(c.Limits.Text), Media: number(c.Limits.Media), Tree: c.Limits.Tree, List: c.Limits.List, Hits: c.Limits.Search, Edit: number(c.Limits.Edit), SearchBytes: c.Limits.SearchBytes, SearchFiles: c.Limits.SearchFiles, SearchTime: c.Limits.SearchTime}
}

func number(n int64) int { return int(min(n, 1<<31-1)) }

// FileOnly leaves of the environment what finds the file and the home directory: what is accepted is what the file says.
func FileOnly(getenv func(string) string) func(string) string {
	return func(name string) string {
		if name == "ROOTBOUND_CONFIG" || name == "HOME" {
			return getenv(name)
		}
		return ""
	}
}
