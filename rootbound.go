// Package rootbound is the vocabulary of the module: projects, rights, operations, reasons and the one error type.
//
// It imports the standard library only and does no I/O. Every other room of the module speaks in these words. The ideas
// behind them in one line: roots are versioned authority, not a hint; an object is resolved once, the very handle that
// was checked is operated on, what is stale is refused, and why is recorded.
//
// All types of this package are values or immutable and safe for concurrent use.
package rootbound

import (
	"fmt"
	"strings"
)

// Generation numbers the snapshots of one authority. It starts at 1 and rises at every publication; 0 means none yet.
type Generation uint64

// RootID names a project or an approved root. It is never a path. A root id comes from the object it names, is stable
// while that object lives and is never reused inside one authority.
type RootID string

// Operation is what a caller asks for, in the words of the decision record.
type Operation string

// The operations of the decision record.
const (
	OpList          Operation = "list"
	OpRead          Operation = "read"
	OpStat          Operation = "stat"
	OpTree          Operation = "tree"
	OpSearch        Operation = "search"
	OpSearchContent Operation = "search_content"
	OpCreate        Operation = "create"
	OpWrite         Operation = "write"
	OpEdit          Operation = "edit"
	OpMkdir         Operation = "mkdir"
	OpMove          Operation = "move"
	OpCopy          Operation = "copy"
	OpDelete        Operation = "delete"
	OpPropose       Operation = "propose"
	OpApply         Operation = "apply"
)

// Mutates reports whether the operation changes the file system when it succeeds.
func (o Operation) Mutates() bool {
	switch o {
	case OpCreate, OpWrite, OpEdit, OpMkdir, OpMove, OpCopy, OpDelete, OpApply:
		return true
	}
	return false
}

// Rights is a set of rights on a project.
type Rights uint16

// The rights and their presets. Overwriting needs Write on what is overwritten, leaving a project needs Delete there,
// appearing needs Create.
const (
	List Rights = 1 << iota
	Read
	Search
	Create
	Write
	Move
	Delete
	Propose

	ReadOnly    = List | Read | Search                       // preset "ro"
	ProposeOnly = ReadOnly | Propose                         // preset "propose"
	ReadWrite   = ReadOnly | Create | Write | Move | Propose // preset "rw"
	Full        = ReadWrite | Delete                         // preset "full"
)

var rightNames = []string{"list", "read", "search", "create", "write", "move", "delete", "propose"}

// ParseRights reads a preset (ro, propose, rw, full) or a list of rights separated by blanks or commas.
// The word "propose" alone is the preset (ro and propose); in a list of several words it is the single right.
func ParseRights(s string) (Rights, error) {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) == 1 {
		switch words[0] {
		case "ro":
			return ReadOnly, nil
		case "propose":
			return ProposeOnly, nil
		case "rw":
			return ReadWrite, nil
		case "full":
			return Full, nil
		}
	}
	var r Rights
	for _, w := range words {
		n := rightIndex(w)
		if n < 0 {
			return 0, fmt.Errorf("unknown right %q: use ro, propose, rw, full, or a list of %s", w, strings.Join(rightNames, ", "))
		}
		r |= 1 << n
	}
	if r == 0 {
		return 0, fmt.Errorf("no rights given: use ro, propose, rw, full, or a list of %s", strings.Join(rightNames, ", "))
	}
	return r, nil
}

func rightIndex(w string) int {
	for i, n := range rightNames {
		if n == w {
			return i
		}
	}
	return -1
}

// Has reports whether all of want is in r.
func (r Rights) Has(want Rights) bool { return r&want == want }

// Names lists the rights of r in the order of their definition.
func (r Rights) Names() []string {
	var out []string
	for i, n := range rightNames {
		if r&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// String is the preset's name where r is one, else the rights separated by blanks.
func (r Rights) String() string {
	switch r {
	case ReadOnly:
		return "ro"
	case ProposeOnly:
		return "propose"
	case ReadWrite:
		return "rw"
	case Full:
		return "full"
	case 0:
		return "none"
	}
	return strings.Join(r.Names(), " ")
}

// Project is one directory the operator granted, with its rights and rules. A value, safe to copy; its slices are not
// changed after it was handed over. The zero Rights allow nothing.
type Project struct {
	ID     RootID // unique
	Dir    string // absolute path as granted
	Rights Rights

	Description string // what it is, for those who choose among projects; no rule

	Deny            []string // globs on the path inside the project, matched case- and NFC-folded
	AllowExtensions []string // with a dot; empty: every name
	MaxRead         int64    // bytes of one file; 0: no limit of its own
	MaxWrite        int64    // bytes of one file after the write; 0: no limit of its own

	LiftCredentials bool // lifts the preset "credentials", which is on by default
	LiftExecution   bool // lifts the preset "execution", which is on by default

	DenyMounts    bool // mounts: deny
	DenyHardlinks bool // hardlinks: deny, for reads; never a boundary
	MovesAcross   bool // moves: across
	CopyAcross    bool // copy_across: true
	ProposeWrites bool // writes: propose; a change needs a person's agreement
}
