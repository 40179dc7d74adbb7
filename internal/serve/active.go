package serve

import (
	"slices"

	"github.com/rootbound/rootbound"
)

// Use chooses which of the projects are in force (rootbound use): nil: all; none: nothing. What it takes away ends at once,
// as with Reload, and clients that take it are told that the list of tools changed where it names projects. ids that are no
// projects of this server count when a Reload brings them; they are returned. Safe for concurrent use.
func (s *Service) Use(ids []rootbound.RootID) (unknown []rootbound.RootID, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.chosen = slices.Clone(ids)
	before := s.ceiling.Active()
	unknown, err = s.choose()
	s.announce(before)
	return unknown, err
}

// choose puts the choice in force as far as the projects go. Called with changing held.
func (s *Service) choose() (unknown []rootbound.RootID, err error) {
	if s.chosen == nil {
		return nil, s.ceiling.Activate(nil)
	}
	all, known := s.ceiling.Projects(), []rootbound.RootID{}
	for _, id := range s.chosen {
		if slices.ContainsFunc(all, func(p rootbound.Project) bool { return p.ID == id }) {
			known = append(known, id)
		} else {
			unknown = append(unknown, id)
		}
	}
	return unknown, s.ceiling.Activate(known)
}

// announce tells clients if tools/list shows other ids than before. The SDK tells them from a goroutine of its own, so a
// client that does not read holds nobody up. Called with changing held.
func (s *Service) announce(before []rootbound.RootID) {
	if !slices.Equal(before, s.ceiling.Active()) {
		s.ProjectsChanged()
	}
}
