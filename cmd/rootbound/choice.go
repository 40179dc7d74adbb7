package main

import (
	"context"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/cmd/rootbound/setting"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/internal/state"
)

// choice follows what rootbound use chose for the configuration of a server. The zero value follows nothing.
type choice struct {
	dir     *state.Dir
	name    string
	service *serve.Service
	w       setting.World
	last    fs.FileInfo
	read    bool
}

// chosen begins to follow, and puts the choice in force before anything is served.
func chosen(s *setting.Settings, w setting.World, service *serve.Service) (*choice, error) {
	if s.File == "" {
		return &choice{}, nil
	}
	dir, err := s.State()
	if err != nil { // there is nowhere to keep a choice; furnish has said so
		return &choice{}, nil
	}
	c := &choice{dir: dir, name: config.Name(s.File), service: service, w: w}
	if err := c.look(); err != nil {
		return nil, setting.Failed("%s", setting.Text(err))
	}
	return c, nil
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
		c.w.Say("Warning: " + setting.Unreliable(err))
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
		c.w.Say("Warning: rootbound use chose project " + rootbound.Quote(string(id)) + ", which the configuration does not have now")
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
				c.w.Say("Warning: " + setting.Text(err))
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}
