package judge

import (
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Plain opens the file at by its plain names, never through a link. It is judged like what a walk shows and opens for
// somebody with the rights need; what is refused is not_found.
func (j *Judge) Plain(at beneath.Ref, need rootbound.Rights) (*beneath.Object, error) {
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
