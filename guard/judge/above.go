package judge

import (
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Above goes through the directories above what was reached at a place, which is rel in its project, for somebody with the
// rights need: from the top of the project, or of the root where that lies further down. goes is asked before each file is
// opened. It gives the path of the place from the top.
func (j *Judge) Above(at beneath.Ref, rel string, need rootbound.Rights, goes func() error, visit func(dir string, open func(name string) (*beneath.Object, error)) error) (string, error) {
	if len(at.Path) < len(rel) { // the root lies inside the project
		rel = at.Path
	}
	top := at.Path[:len(at.Path)-len(rel)] // ends with "/", if there is anything
	show := func(dir string) error {
		return visit(dir, func(name string) (*beneath.Object, error) {
			if err := goes(); err != nil {
				return nil, err
			}
			j.Touch()
			return j.plain(beneath.Ref{Root: at.Root, Path: top + join(dir, name)}, need|rootbound.Read)
		})
	}
	if rel == "" {
		return rel, nil
	}
	if err := show(""); err != nil {
		return rel, err
	}
	for i := range len(rel) {
		if rel[i] != '/' {
			continue
		}
		if err := show(rel[:i]); err != nil {
			return rel, err
		}
	}
	return rel, nil
}

// plain opens the file at by its plain names, never through a link. It is judged like what a walk shows and opens for
// somebody with the rights need; what is refused is not_found.
func (j *Judge) plain(at beneath.Ref, need rootbound.Rights) (*beneath.Object, error) {
	e, err := j.Snap.Set.Entry(at, false)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if e.At() != at { // a link led elsewhere
		return nil, refuse(rootbound.NotFound, "")
	}
	o, err := e.Open(beneath.File)
	if err != nil {
		return nil, err
	}
	probe := Judge{Law: j.Law, Snap: j.Snap}
	var p *rootbound.Project
	var rel string
	if probe.Locate(o.At(), o.Mark(), false, &p, &rel) != nil || !p.Rights.Has(need) ||
		probe.Reached(p, rel, o.Info(), o.At(), false) != nil || probe.Readable(p, o.Info()) != nil {
		o.Close()
		return nil, refuse(rootbound.NotFound, "")
	}
	return o, nil
}
