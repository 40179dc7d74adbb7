package guard

import (
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Above shows visit every directory above the object, from the top of its project, or of the root it was reached in if that
// lies further down: by its path from there, "" for the top. open opens a file of that directory by its name, never through
// a link; what a walk would not show is not_found. Above gives the object's own path from the top, and an error of visit.
func (t *Target) Above(visit func(dir string, open func(name string) (*beneath.Object, error)) error) (rel string, err error) {
	if t.obj == nil {
		return "", refuse(rootbound.NotADirectory, "")
	}
	at := t.obj.At()
	rel = at.Path
	if len(t.rel) < len(rel) { // the project begins inside the root
		rel = t.rel
	}
	top := at.Path[:len(at.Path)-len(rel)] // ends with "/", if there is anything
	open := func(dir string) func(string) (*beneath.Object, error) {
		return func(name string) (*beneath.Object, error) {
			if err := t.Stale(); err != nil {
				return nil, err
			}
			t.touch()
			return t.j.Plain(beneath.Ref{Root: at.Root, Path: top + dir + name}, t.need)
		}
	}
	if rel == "" {
		return rel, nil
	}
	if err := visit("", open("")); err != nil {
		return rel, err
	}
	for i := range len(rel) {
		if rel[i] != '/' {
			continue
		}
		if err := visit(rel[:i], open(rel[:i+1])); err != nil {
			return rel, err
		}
	}
	return rel, nil
}
