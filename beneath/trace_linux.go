package beneath

import "strings"

// Trace follows a path by its names, links followed, as far as that leads. Nothing is opened for reading. ok is false
// for what is no path, or none that starts in a member.
func (s *Set) Trace(at Ref) (t Trail, ok bool) {
	if at.Root < 0 || at.Root >= len(s.members) {
		return t, false
	}
	if _, err := checkPath(at.Path); err != nil {
		return t, false
	}
	w := walk{set: s, missingOK: true}
	defer w.close()
	err := w.run(at.Root, at.Path, true)
	if w.base == nil {
		return t, false
	}
	return w.trail(err), true
}

// trail is what was found by a walk that may have ended with an error.
func (w *walk) trail(err error) Trail {
	t := Trail{Passed: w.passed, Linked: w.links > 0}
	_, _, t.Mark = w.top()
	rest := w.rest
	switch {
	case err == nil && (w.object >= 0 || w.atTop):
		if m := w.set.markOf(w.info.ID); m >= 0 {
			t.Mark = m
		}
		t.Last, t.Dir = Ref{w.root, w.reached()}, w.info.Mode.IsDir()
	case err == nil:
		t.Last, t.End = Ref{w.root, w.reached()}, Missing
	case w.lost != nil: // a link that cannot be followed is where it ends
		t.Last, t.Mark, t.End = w.lost.At, w.lost.Mark, Unknown
		rest = ""
	case w.stuck != 0: // what is on top of the stack cannot be gone through
		t.Last, t.End, rest = Ref{w.root, string(w.path)}, w.stuck, w.text
		if n := len(w.stack) - 1; !w.stack[n].settled {
			_, _, t.Mark = w.under(n)
		}
	default:
		var name string
		name, rest, _ = nextName(w.text)
		if name == ".." {
			name, rest = "", ""
		}
		t.Last, t.End = Ref{w.root, strings.TrimSuffix(join(string(w.path), name), "/")}, Unknown
		if w.slash {
			t.End = NoDir
		}
	}
	t.To = Ref{t.Last.Root, behind(t.Last.Path, rest)}
	if !t.Linked {
		t.Part = strings.TrimRight(w.sent[:len(w.sent)-len(rest)], "/")
	}
	return t
}
