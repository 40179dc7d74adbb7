package setting

import (
	"slices"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config"
)

// InForce tells which projects a server would begin with.
func (s *Settings) InForce(w World) func(rootbound.RootID) bool {
	all := func(rootbound.RootID) bool { return true }
	if s.File == "" {
		return all
	}
	dir, err := s.State()
	if err != nil {
		return all
	}
	ids, chosen, err := dir.Active(config.Name(s.File))
	if err != nil {
		w.Say("Warning: " + Unreliable(err))
	}
	if !chosen {
		return all
	}
	return func(id rootbound.RootID) bool { return slices.Contains(ids, string(id)) }
}

// Unreliable says that the choice cannot be read, and what follows.
func Unreliable(err error) string {
	return "which projects were chosen cannot be relied on (" + rootbound.Clean(err.Error()) +
		"), so none is in force. Choose again: rootbound use PROJECT…, or rootbound use --all"
}
