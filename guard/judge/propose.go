package judge

import (
	"io/fs"
	"strings"

	"github.com/rootbound/rootbound"
)

// Changing are the rights that a change needs; where writes: propose they need a person's agreement too.
const Changing = rootbound.Create | rootbound.Write | rootbound.Move | rootbound.Delete

// The ways out of a refusal where a change may be proposed. They are told apart by who names tools in them.
const (
	// ProposeInstead: a patch can hold the change.
	ProposeInstead = "Propose the change as a patch: a person can agree to it."
	// ProposeFiles: no patch makes a directory alone.
	ProposeFiles = "Propose the files that it is to hold as a patch: missing directories are made with them."
	// ProposeWithin: no patch moves or removes a directory, but the files in it.
	ProposeWithin = "Propose what is to become of the files in it as a patch: a patch moves and removes no directory, so ask the operator for what is left."
	// AskFor: no patch can hold the change at all.
	AskFor = "Ask the operator to do it: no patch can hold this change."
)

// Lacks refuses an operation for rights that a project does not give, or gives only to what a person agreed to. kind is that
// of the source and shows in the way out; 0: a file, or nobody may know. across: the other end is in another project.
func Lacks(p *rootbound.Project, need rootbound.Rights, op rootbound.Operation, kind fs.FileMode, across bool) error {
	e := &rootbound.Error{Reason: rootbound.RightMissing, Detail: "writes: propose", Root: p.ID}
	if missing := need &^ p.Rights; missing != 0 {
		e.Detail = "missing " + strings.Join(missing.Names(), ", ")
	}
	if need&Changing != 0 && p.Rights.Has(rootbound.Propose|rootbound.Read) { // a plan takes both
		e.Next = proposal(op, kind, across)
	}
	return e
}

// proposal is how a change can be proposed: patches are of files in one project, and never of links.
func proposal(op rootbound.Operation, kind fs.FileMode, across bool) string {
	switch op {
	case rootbound.OpMkdir:
		return ProposeFiles
	case rootbound.OpMove, rootbound.OpCopy, rootbound.OpDelete:
		switch {
		case kind&fs.ModeSymlink != 0, across && op == rootbound.OpMove:
			return AskFor
		case kind.IsDir() && op == rootbound.OpCopy:
			return ProposeFiles
		case kind.IsDir():
			return ProposeWithin
		}
	}
	return ProposeInstead
}
