package judge

import (
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Shown decides which entries of a walk below o, which was reached at rel in a project, are shown to somebody with the rights
// need. Their ancestors were judged before them.
func (j *Judge) Shown(o *beneath.Object, project *rootbound.Project, rel string, need rootbound.Rights) (func(*beneath.Node) bool, error) {
	pol, err := j.Law.Policy(project)
	if err != nil {
		return nil, err
	}
	o.Show(func(reached *beneath.Object) bool { return j.describes(reached, need) })
	own := j.Law.own.Below(j.Absolute(o.At()))
	nested := len(j.Snap.Marks) > 1
	top := rel
	return func(n *beneath.Node) bool {
		p, pp := project, pol
		if nested {
			if m := n.Mark(); m >= 0 && j.Snap.Marks[m].Project != project {
				var rel string
				if j.Locate(n.At(), m, false, &p, &rel) != nil || !p.Rights.Has(need) {
					return false
				}
				if pp, err = j.Law.Policy(p); err != nil {
					return false
				}
				if rel == "" { // the inner project itself
					return true
				}
				return pp.Node(n.Name(), n.Type().IsDir(), func() string { return rel }) == nil
			}
		}
		if own != nil && own[n.Rel()] {
			return false
		}
		return pp.Node(n.Name(), n.Type().IsDir(), func() string { return join(top, n.Rel()) }) == nil
	}, nil
}

// describes decides whether what a link reaches may be described: not where rights, rules or own files hide it.
func (j *Judge) describes(reached *beneath.Object, need rootbound.Rights) bool {
	probe := *j
	probe.May = func(p *rootbound.Project) error {
		if !p.Rights.Has(need) {
			return refuse(rootbound.RightMissing, "")
		}
		return nil
	}
	var p *rootbound.Project
	var rel string
	return probe.Arrived(reached, &p, &rel) == nil && p.Rights.Has(need) &&
		probe.Reached(p, rel, reached.Info(), reached.At(), false) == nil
}

// Opens decides, by its state when it was opened, whether what a walk shows may be read: the marks of nested projects tell
// whose right and bounds count. Its place was judged before; our own files are not_found, by whatever name. Safe for concurrent use.
func (j *Judge) Opens(project *rootbound.Project) func(mark int, info beneath.Info) error {
	law, marks := j.Law, j.Snap.Marks
	return func(mark int, info beneath.Info) error {
		if law.own.Any() && law.own.Object(info.ID) {
			return refuse(rootbound.NotFound, "")
		}
		p := project
		if mark >= 0 {
			p = marks[mark].Project
		}
		if !info.Mode.IsRegular() {
			return nil
		}
		if !p.Rights.Has(rootbound.Read) { // what a walk by the right list opens on its way tells of it
			return refuse(rootbound.NotFound, "")
		}
		if p.MaxRead == 0 && !p.DenyHardlinks {
			return nil
		}
		return (&Judge{}).Readable(p, info) // what refused is not for the record: it is one of many files
	}
}
