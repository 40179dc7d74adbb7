package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/config/follow"
	"github.com/rootbound/rootbound/internal/serve"
)

// acceptFirst keeps what the first start with a configuration file took, so that later starts are held to it.
func acceptFirst(s *setting.Settings, w setting.World) {
	if s.File == "" || !s.First {
		return
	}
	record, err := s.Accept(time.Now())
	if err == nil {
		var dir interface{ Accept(string, []byte) error }
		if dir, err = s.State(); err == nil {
			err = dir.Accept(config.Name(s.File), record)
		}
	}
	if err != nil {
		w.Say("Warning: what this configuration grants cannot be kept (" + rootbound.Clean(err.Error()) + "), so the next start takes the file as it is then")
	}
}

// followFile reads the configuration again when its file changes, when a person accepted it, and at SIGHUP, until stop is
// called, which waits for it.
func followFile(ctx context.Context, s *setting.Settings, w setting.World, h *setting.House, service *serve.Service) (stop func(), err error) {
	if s.File == "" {
		return func() {}, nil
	}
	var kept []string
	if dir, err := s.State(); err == nil {
		kept = []string{dir.AcceptedPath(config.Name(s.File))}
	}
	watch := follow.NewWatch(s.Config, kept...)
	r, err := follow.NewReloader(s.Input, s.Config, s.Confined)
	if err != nil {
		return nil, setting.Failed("%s", rootbound.Clean(err.Error()))
	}
	service.Waits(r.Waits())
	ctx, cancel := context.WithCancel(ctx)
	hup := make(chan os.Signal, 1)
	if r.Behind() {
		hup <- syscall.SIGHUP
	}
	signal.Notify(hup, syscall.SIGHUP)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(follow.Every)
		defer tick.Stop()
		trouble := ""
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
			case <-tick.C:
				if !watch.Changed() {
					continue
				}
			}
			if err := reload(w, r, h, service, s.File); err == nil {
				trouble = ""
			} else if t := told(err); t != trouble {
				trouble = t
				w.Say("Warning: the configuration cannot be used, so what was in force stays: " + t)
			}
		}
	})
	return func() {
		signal.Stop(hup)
		cancel()
		done.Wait()
	}, nil
}

// told keeps the line and the caret of a mistake.
func told(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "the file was replaced, and a server that the system confines may read only what it had at its start. Run rootbound config apply, or start the server anew"
	}
	var p *config.Problem
	if errors.As(err, &p) {
		return err.Error()
	}
	return setting.Text(err)
}

func reload(w setting.World, r *follow.Reloader, h *setting.House, service *serve.Service, file string) error {
	c, lines, err := r.Next()
	if err != nil {
		return err
	}
	service.Waits(r.Waits())
	h.Own.Refresh() // the file may be another one now
	projects, settings := func() error { return service.Reload(c.Projects) }, func() error { return h.Tune(c, service) }
	if r.Widens(c) { // nothing between the two is wider than both what was in force and what will be
		settings, projects = projects, settings
	}
	for _, step := range []func() error{settings, projects} {
		if err := step(); err != nil {
			return err
		}
	}
	if r.Applied(c) {
		for _, id := range service.Retarget() {
			lines = append(lines, "Notice: project "+rootbound.Quote(string(id))+" means the directory its path leads to now, as was accepted")
		}
	}
	for i := range lines {
		lines[i] = setting.ApplyOf(lines[i], file)
	}
	w.Say(append(lines, r.Took(c)...)...)
	return nil
}
