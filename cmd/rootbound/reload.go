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
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/config/follow"
	"github.com/rootbound/rootbound/internal/serve"
)

// acceptFirst keeps what the first start with a configuration file took, so that later starts are held to it.
func (s *settings) acceptFirst(w world) {
	if s.File == "" || !s.First {
		return
	}
	record, err := s.Accept(time.Now())
	if err == nil {
		var dir interface{ Accept(string, []byte) error }
		if dir, err = s.state(); err == nil {
			err = dir.Accept(config.Name(s.File), record)
		}
	}
	if err != nil {
		w.say("Warning: what this configuration grants cannot be kept (" + rootbound.Clean(err.Error()) + "), so the next start takes the file as it is then")
	}
}

// follow reads the configuration again when its file changes, when a person accepted it, and at SIGHUP, until stop is
// called, which waits for it.
func (s *settings) follow(ctx context.Context, w world, h *house, service *serve.Service) (stop func(), err error) {
	if s.File == "" {
		return func() {}, nil
	}
	var kept []string
	if dir, err := s.state(); err == nil {
		kept = []string{dir.AcceptedPath(config.Name(s.File))}
	}
	watch := follow.NewWatch(s.Config, kept...)
	r, err := follow.NewReloader(s.in, s.Config, s.confined)
	if err != nil {
		return nil, failed("%s", rootbound.Clean(err.Error()))
	}
	ctx, cancel := context.WithCancel(ctx)
	hup := make(chan os.Signal, 1)
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
			if err := reload(w, r, h, service); err == nil {
				trouble = ""
			} else if t := told(err); t != trouble {
				trouble = t
				w.say("Warning: the configuration cannot be used, so what was in force stays: " + t)
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
	return text(err)
}

func reload(w world, r *follow.Reloader, h *house, service *serve.Service) error {
	c, lines, err := r.Next()
	if err != nil {
		return err
	}
	h.own.Refresh() // the file may be another one now
	if err := service.Reload(c.Projects); err != nil {
		return err
	}
	if r.Applied(c) {
		for _, id := range service.Retarget() {
			lines = append(lines, "Notice: project "+rootbound.Quote(string(id))+" means the directory its path leads to now, as was accepted")
		}
	}
	w.say(append(lines, r.Took(c)...)...)
	return nil
}
