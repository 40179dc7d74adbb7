package main

import (
	"cmp"
	"errors"
	"io/fs"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/internal/state"
	"github.com/rootbound/rootbound/mcpfs"
)

// flags are those that serve, call and config share: the settings of internal/config that have a flag, and what says
// which directories are granted.
type flags struct {
	config         string
	env            string
	allowedDirs    string
	readOnly       bool
	allowDelete    bool
	acceptRetarget bool
	settings       map[string]*string // by flag
}

func (f *flags) register(c *cobra.Command) {
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
		help, standard := s.Help, s.Default
		if s.Switch {
			standard = ""
		}
		f.settings[s.Flag] = fs.String(s.Flag, standard, help)
		if s.Switch {
			fs.Lookup(s.Flag).NoOptDefVal = "true"
		}
	}
}

// settings are what flags, environment and configuration come to.
type settings struct {
	*config.Config
	warnings []string
	opt      serve.Options
	in       config.Input
	state    func() (*state.Dir, error) // opened once
	confined bool                       // the system holds this process inside what it serves
}

// gather reads everything. Mistakes of flags are misuse, all others keep the server from starting.
func (f *flags) gather(c *cobra.Command, w world, dirs []string) (*settings, error) {
	if c.Name() != "serve" && len(dirs) == 0 && cmp.Or(f.allowedDirs, w.getenv("ROOTBOUND_ALLOWED_DIRS"), w.getenv("MCP_ALLOWED_ROOTS")) == "" {
		f.config = w.usual(f.config)
	}
	in := config.Input{File: f.config, Env: f.env, Flags: map[string]string{}, Dirs: dirs, AllowedDirs: f.allowedDirs,
		ReadOnly: f.readOnly, AllowDelete: f.allowDelete, AcceptRetarget: f.acceptRetarget, Getenv: w.getenv}
	open := sync.OnceValues(func() (*state.Dir, error) { return state.Open(w.getenv) })
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
		w.say(warnings...)
		return nil, &failure{exitOf(err), err.Error()}
	}
	for _, line := range cfg.Waiting {
		warnings = append(warnings, "Notice: the configuration "+line.String())
	}
	return &settings{Config: cfg, warnings: warnings, opt: f.options(cfg), in: in, state: open}, nil
}

func (f *flags) options(c *config.Config) serve.Options {
	tools := mcpfs.Classic
	if c.Tools == mcpfs.Project.String() {
		tools = mcpfs.Project
	}
	return serve.Options{
		Version:  version(),
		Projects: c.Projects, AcceptRetarget: f.acceptRetarget,
		Mode: authority.Mode(c.Roots.Mode), RootsTimeout: c.Roots.Timeout, EmptyIsCeiling: c.Roots.OnEmpty == "ceiling",
		NeverAskModern: c.Roots.AskModern == "never", AllowWide: c.Roots.AllowWide, ClientProject: c.Client,
		Tools: tools, Relative: c.Relative, FSTimeout: c.FSTimeout, NoSlow: c.NoSlow,
		Limits:    mcpfs.Limits{Text: number(c.Limits.Text), Media: number(c.Limits.Media), Tree: c.Limits.Tree, List: c.Limits.List, Hits: c.Limits.Search, Edit: number(c.Limits.Edit)},
		TreeLimit: c.Limits.Trees,
	}
}

func number(n int64) int { return int(min(n, 1<<31-1)) }

// exitOf tells a mistake of the command line from one of a file or of the machine.
func exitOf(err error) int {
	var all []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	} else {
		all = []error{err}
	}
	for _, e := range all {
		var p *config.Problem
		if !errors.As(e, &p) || !strings.HasPrefix(p.File, "--") && p.File != "argument" {
			return exitFailed
		}
	}
	return exitMisused
}
