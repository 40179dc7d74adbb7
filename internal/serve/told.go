package serve

import (
	"sync/atomic"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
)

// told is what scope_status tells beside what is in force. Safe for concurrent use; the zero value tells nothing.
type told struct {
	wide  atomic.Pointer[map[rootbound.RootID]string]
	waits atomic.Pointer[[]string]
}

// look finds out which projects are uncommonly wide. It looks at the disk, so it is no work for a call.
func (t *told) look(projects []rootbound.Project) {
	wide := map[rootbound.RootID]string{}
	for _, p := range projects {
		if what := authority.Width(p.Dir); what != "" {
			wide[p.ID] = what
		}
	}
	t.wide.Store(&wide)
}

// width says in words what makes a project that is granted uncommonly wide. A client's own root is opened for the call
// anyway, and is only as wide as that where the operator allows it.
func (s *Service) width(p *rootbound.Project) string {
	if s.means() == authority.Client {
		return authority.Width(p.Dir)
	}
	return (*s.told.wide.Load())[p.ID]
}

// Waits sets what the operator changed and what is not in force yet, for scope_status: lines in words, which must not hold
// a path of the host. Safe for concurrent use.
func (s *Service) Waits(lines []string) { s.told.waits.Store(&lines) }

func (s *Service) waiting() []string {
	if lines := s.told.waits.Load(); lines != nil {
		return *lines
	}
	return nil
}
