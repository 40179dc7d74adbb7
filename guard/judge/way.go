package judge

import (
	"errors"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/rules"
	"github.com/rootbound/rootbound/guard/spelling"
)

// What a path leads through is judged like what it reaches: a link, or a directory that ".." leaves again, which rules, own
// files or the lack of a right hide decides nothing that is told. So where it would decide, the path is refused as it is
// refused where nothing is there.

// anywhere is the root of a path that may lead into any.
const anywhere = -1

// arrival is an object or an entry.
type arrival interface {
	At() beneath.Ref
	Mark() int
	Linked() bool
	Passed() []beneath.Passed
}

// Arrived is Locate of what a read reached, after what the path led through was judged.
func (j *Judge) Arrived(a arrival, project **rootbound.Project, rel *string) error {
	if err := j.through(a.Passed(), anywhere); err != nil {
		return err
	}
	return j.Locate(a.At(), a.Mark(), a.Linked(), project, rel)
}

// Stays is Arrived of what is to change: links do not carry changes into another root than p names.
func (j *Judge) Stays(a arrival, p spelling.Place, project **rootbound.Project, rel *string) error {
	if err := j.through(a.Passed(), p.Grant); err != nil {
		return err
	}
	if a.At().Root != p.Grant {
		return refuse(rootbound.OutsideRoot, "the link leads into another root")
	}
	return j.Locate(a.At(), a.Mark(), a.Linked(), project, rel)
}

// through judges what a path led through, which may only be in root.
func (j *Judge) through(all []beneath.Passed, root int) error {
	for i := range all {
		p := &all[i]
		if root != anywhere && p.At.Root != root {
			return refuse(rootbound.OutsideRoot, "the link leads into another root")
		}
		if err := j.spot(p.At, p.Mark, p.Linked, !p.Dir); err != nil {
			return err
		}
	}
	return nil
}

// spot judges a place that is neither reached nor changed: nothing is told of it without the right to see it.
func (j *Judge) spot(at beneath.Ref, mark int, linked, file bool) error {
	var project *rootbound.Project
	var rel string
	if err := j.Locate(at, mark, linked, &project, &rel); err != nil {
		return err
	}
	if err := j.place(at, project, rel, false); err != nil {
		return err
	}
	if file {
		if err := j.named(project, rel); err != nil {
			return err
		}
	}
	if rel == "" { // the project itself
		return nil
	}
	return j.may(project)
}

func (j *Judge) may(project *rootbound.Project) error {
	if j.May == nil {
		return nil
	}
	return j.May(project)
}

// Shows are the rights that show, each by itself, what a change by op meets; 0 for a read, whose own right counts.
func Shows(op rootbound.Operation) rootbound.Rights {
	switch op {
	case rootbound.OpWrite:
		return rootbound.Create | rootbound.Write
	case rootbound.OpCreate, rootbound.OpMkdir:
		return rootbound.Create
	case rootbound.OpEdit:
		return rootbound.Write
	case rootbound.OpMove:
		return rootbound.Move
	case rootbound.OpCopy:
		return rootbound.Read | rootbound.Create | rootbound.Write
	case rootbound.OpDelete:
		return rootbound.Delete
	case rootbound.OpPropose:
		return rootbound.Read
	}
	return 0
}

// named refuses what is no directory and has none of the project's extensions.
func (j *Judge) named(project *rootbound.Project, rel string) error {
	pol, err := j.Law.Policy(project)
	if err != nil {
		return err
	}
	return in(project, j.Rule(pol.Read(rules.Fold(rel), false)))
}

// in makes a refusal name a project.
func in(project *rootbound.Project, err error) error {
	if e := new(rootbound.Error); errors.As(err, &e) {
		e.Root = project.ID
	}
	return err
}
