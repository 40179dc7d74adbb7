package serve

import (
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
)

// Reload puts another list of projects in force while calls are under way. What it takes away ends at once: the generation
// of every session whose scope changes is over when Reload returns. Errors are those of authority.Ceiling.Replace; then
// nothing has changed. What Use chose stays chosen, and clients hear of other ids as with Use. Where the client's roots are
// the only grant (mode client) there is nothing to put a project into. Safe for concurrent use.
func (s *Service) Reload(projects []rootbound.Project) error {
	if s.means() == authority.Client {
		if len(projects) == 0 {
			return nil
		}
		return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: "projects cannot be added to a server that was started without any: restart it"}
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	before := s.ceiling.Active()
	if err := s.ceiling.Replace(projects); err != nil {
		return err
	}
	s.told.look(projects)
	_, err := s.choose() // what was chosen may be there only now
	s.announce(before)
	return err
}

// Retarget says that a person accepted where the projects' paths lead now (config apply): ids that a Reload retired because
// they reach another directory mean that one from then on; they are returned. What is not there stays as it is.
func (s *Service) Retarget() (moved []rootbound.RootID) {
	s.changing.Lock()
	defer s.changing.Unlock()
	before := s.ceiling.Active()
	for _, p := range s.ceiling.Projects() {
		if old := s.ceiling.Root(p.ID); s.ceiling.Retarget(p.ID) == nil && s.ceiling.Root(p.ID) != old {
			moved = append(moved, p.ID)
		}
	}
	s.announce(before)
	return moved
}
