//go:build !linux

package beneath

// Lead tells where a path leads by its names; see the Linux documentation.
func (s *Set) Lead(at Ref) (to Ref, mark int, linked bool, err error) {
	a, err := s.read(at, true)
	if err != nil {
		return Ref{}, -1, false, err
	}
	to = Ref{a.root, a.path()}
	for _, name := range a.missing {
		if name == ".." {
			break
		}
		to.Path = join(to.Path, name)
	}
	n := len(a.names)
	if a.missing == nil && a.info == nil {
		n-- // the final name is missing
	}
	return to, s.markAbove(a, n), a.linked, nil
}
