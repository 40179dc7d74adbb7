package guard

import "github.com/rootbound/rootbound/beneath"

// Above shows visit every directory above the object, from the top of its project, or of the root it was reached in if that
// lies further down: by its path from there, "" for the top. open opens a file of that directory by its name, never through
// a link; what a walk would not show is not_found. Above gives the object's own path from the top, and an error of visit.
func (t *Target) Above(visit func(dir string, open func(name string) (*beneath.Object, error)) error) (rel string, err error) {
	if t.obj == nil {
		return "", nil
	}
	return t.j.Above(t.obj.At(), t.rel, t.need, t.Stale, visit)
}
