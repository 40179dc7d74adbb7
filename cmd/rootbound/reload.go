package main

import (
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config"
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
