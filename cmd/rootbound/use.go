package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/internal/state"
)

func useCommand(w world) *cobra.Command {
	var file, env string
	var all, show bool
	c := &cobra.Command{
		Use:   "use [PROJECT…]",
		Short: "Choose which projects of the configuration are in force",
		Long: `Puts only the named projects of the configuration file in force, for this user: servers that run with the file take
it within a second and end what is under way in the others; later ones start with it. It only ever narrows what the file
grants, and counts for directories named at a server's start too: they are not in force either. --all takes it back.
` + exitHelp,
		Example: `  rootbound use --config rootbound.yaml app
  rootbound use --all --config rootbound.yaml
  ROOTBOUND_CONFIG=rootbound.yaml rootbound use --show`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, ids []string) error {
			if n := len(ids); all && (show || n > 0) || show && n > 0 || !all && !show && n == 0 {
				return misused("name the projects to use, or give --all or --show")
			}
			getenv := func(name string) string {
				if name == "ROOTBOUND_ENV" {
					return w.getenv(name)
				}
				return fileOnly(w.getenv)(name)
			}
			cfg, warnings, err := config.Load(config.Input{File: w.usual(file), Env: env, Getenv: getenv})
			if err != nil {
				return &failure{exitOf(err), err.Error()}
			}
			if cfg.File == "" {
				return misused("no configuration file is named. Name it with --config or ROOTBOUND_CONFIG")
			}
			w.say(warnings...)
			dir, err := state.Open(w.getenv)
			if err != nil {
				return failed("%s", rootbound.Clean(err.Error()))
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
			return misused("no project %s in %s; there are: %s", rootbound.Quote(id), rootbound.Clean(cfg.File), strings.Join(there, ", "))
		}
	}
	if all {
		ids = nil
	}
	if err := dir.SetActive(config.Name(cfg.File), ids); err != nil {
		return failed("the choice cannot be kept: %s", rootbound.Clean(err.Error()))
	}
	return nil
}

func showActive(w world, dir *state.Dir, cfg *config.Config) error {
	ids, chosen, err := dir.Active(config.Name(cfg.File))
	if err != nil {
		w.say("Warning: " + unreliable(err))
	}
	for _, p := range cfg.Projects {
		star := " "
		if !chosen || slices.Contains(ids, string(p.ID)) {
			star = "*"
		}
		if _, err := fmt.Fprintf(w.out, "%s %s\n", star, rootbound.Clean(string(p.ID))); err != nil {
			return failed("%s", text(err))
		}
	}
	return nil
}

func unreliable(err error) string {
	return "which projects were chosen cannot be relied on (" + rootbound.Clean(err.Error()) +
		"), so none is in force. Choose again: rootbound use PROJECT…, or rootbound use --all"
}

// choice follows what rootbound use chose for the configuration of a server. The zero value follows nothing.
type choice struct {
	dir     *state.Dir
	name    string
	service *serve.Service
	w       world
	last    fs.FileInfo
	read    bool
}

// chosen begins to follow, and puts the choice in force before anything is served.
func (s *settings) chosen(w world, service *serve.Service) (*choice, error) {
	if s.File == "" {
		return &choice{}, nil
	}
	dir, err := s.state()
	if err != nil { // there is nowhere to keep a choice; furnish has said so
		return &choice{}, nil
	}
	c := &choice{dir: dir, name: config.Name(s.File), service: service, w: w}
	if err := c.look(); err != nil {
		return nil, failed("%s", text(err))
	}
	return c, nil
}

// inForce tells which projects a server would begin with.
func (s *settings) inForce(w world) func(rootbound.RootID) bool {
	all := func(rootbound.RootID) bool { return true }
	if s.File == "" {
		return all
	}
	dir, err := s.state()
	if err != nil {
		return all
	}
	ids, chosen, err := dir.Active(config.Name(s.File))
	if err != nil {
		w.say("Warning: " + unreliable(err))
	}
	if !chosen {
		return all
	}
	return func(id rootbound.RootID) bool { return slices.Contains(ids, string(id)) }
}

// look reads the choice if its file is another one than at the last look.
func (c *choice) look() error {
	now, err := os.Lstat(c.dir.ActivePath(c.name))
	if err != nil {
		now = nil
	}
	if c.read && (now == nil) == (c.last == nil) && (now == nil ||
		os.SameFile(now, c.last) && now.ModTime().Equal(c.last.ModTime()) && now.Size() == c.last.Size()) {
		return nil
	}
	c.last, c.read = now, true
	names, chosen, err := c.dir.Active(c.name)
	if err != nil {
		c.w.say("Warning: " + unreliable(err))
	}
	var ids []rootbound.RootID
	if chosen {
		ids = []rootbound.RootID{}
		for _, n := range names {
			ids = append(ids, rootbound.RootID(n))
		}
	}
	unknown, err := c.service.Use(ids)
	for _, id := range unknown {
		c.w.say("Warning: rootbound use chose project " + rootbound.Quote(string(id)) + ", which the configuration does not have now")
	}
	return err
}

// lookEvery is how often a running server looks for another choice.
const lookEvery = 450 * time.Millisecond

// follow looks until stop is called, which waits for it.
func (c *choice) follow(ctx context.Context) (stop func()) {
	if c.dir == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := c.look(); err != nil {
				c.w.say("Warning: " + text(err))
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}
