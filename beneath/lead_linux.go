package beneath

import "github.com/rootbound/rootbound"

// Lead tells where a path leads by its names, links followed: to what is there, or where nothing is, to the place where it
// would be, with the names behind a missing one as they are spelled, up to the first "..". mark is that of what is there,
// or of the directory where the first name is missing; linked tells that a link was followed. Nothing is opened for reading.
// Errors: those of Open, but not_found.
func (s *Set) Lead(at Ref) (to Ref, mark int, linked bool, err error) {
	if at.Root < 0 || at.Root >= len(s.members) {
		return Ref{}, -1, false, refuse(rootbound.OutsideRoot, "", nil)
	}
	if _, err := checkPath(at.Path); err != nil {
		return Ref{}, -1, false, err
	}
	w := walk{set: s, missingOK: true}
	defer w.close()
	if err := w.run(at.Root, at.Path, true); err != nil {
		return Ref{}, -1, false, err
	}
	_, _, mark = w.top()
	if w.object >= 0 {
		if m := s.markOf(w.info.ID); m >= 0 {
			mark = m
		}
	}
	return Ref{w.root, behind(w.reached(), w.rest)}, mark, w.links > 0, nil
}
