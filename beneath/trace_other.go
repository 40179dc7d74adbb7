//go:build !linux

package beneath

// Trace follows a path by its names; see the Linux documentation.
func (s *Set) Trace(at Ref) (t Trail, ok bool) {
	a, err := s.read(at, true)
	if a == nil {
		return t, false
	}
	t = Trail{Passed: a.passed, Linked: a.linked, Last: Ref{a.root, a.path()}}
	n := len(a.names)
	switch {
	case a.lost != nil:
		t.Last, t.To, t.Mark, t.End = a.lost.At, a.lost.At, a.lost.Mark, Unknown
		return t, true
	case err != nil:
		t.End = Unknown
		if a.noDir {
			t.End = NoDir
		}
	case a.missing != nil:
		t.End, t.Last.Path = Missing, join(a.path(), a.missing[0])
	case a.info == nil:
		t.End = Missing
		n-- // the final name is missing
	default:
		t.Dir = a.info.IsDir()
	}
	t.To = t.Last
	behindIt := a.missing
	if len(behindIt) > 0 {
		behindIt = behindIt[1:]
	}
	for _, name := range behindIt {
		if name == ".." {
			break
		}
		t.To.Path = join(t.To.Path, name)
	}
	if err != nil {
		t.To.Path = behind(t.To.Path, a.rest)
	}
	t.Mark = s.markAbove(a, n)
	if !t.Linked {
		t.Part = t.Last.Path
	}
	return t, true
}
