package setting

import "github.com/rootbound/rootbound"

// OnlyRoots says what is served where the operator names no directory on purpose.
const OnlyRoots = "no directory of yours is granted: what the client declares as its roots is served, and nothing else (roots client)"

// NothingGranted is the end of a start that could serve nothing.
func (s *Settings) NothingGranted() error {
	if s.File != "" {
		return Misused("no directory is granted: no project of %s is in force. Add one under projects:, or name directories as arguments", rootbound.Clean(s.File))
	}
	return Misused("no directory is granted. Name the directories to serve as arguments (rootbound serve DIR…), with --allowed-dirs or with --config; rootbound init DIR writes such a file")
}

// Instead is what is served where no project is in force.
func (s *Settings) Instead() string {
	if s.Roots.Mode == "client" {
		return "what the client declares as its roots is served, and nothing else. Say roots: client if that is meant"
	}
	return "nothing is served"
}

// Granting refuses settings under which a start could serve nothing. That the client alone names the directories counts if
// somebody said so: it is never what an empty file, or one that lost its projects, comes to in a check.
func (s *Settings) Granting() error {
	said := s.Roots.Mode == "client" && s.Origin("roots.mode").Source != "default"
	if len(s.Projects) > 0 || said && !s.StrictStart {
		return nil
	}
	return s.NothingGranted()
}
