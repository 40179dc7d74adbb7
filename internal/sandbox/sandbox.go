// Package sandbox lets the operating system hold the process itself inside what was granted, as a second wall behind the
// resolver: on Linux with Landlock, elsewhere not at all. What is enforced is computed from what the kernel says it can
// do, checked by trying, and returned as text for the decision records; nothing is assumed. It cannot be undone.
//
// What stays possible behind the wall, on every kernel so far: to ask whether an outside file exists and what its
// attributes are, to change modes and times of the user's own files, and to use what was opened before.
package sandbox

import (
	"errors"
	"fmt"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
)

// Mode is --confine.
type Mode string

const (
	Auto    Mode = "auto"    // confine where it can be done and nothing that was granted is lost; else say why not
	Require Mode = "require" // confine or fail
	Off     Mode = "off"
)

// Needs is what must stay in reach.
type Needs struct {
	Dirs    []Dir              // the ceiling, see Ceiling
	Missing []rootbound.RootID // projects without a directory: they could never be served once confined
	State   []string           // our own directories, with all rights in them
	Audit   string             // audit log; empty: none
	Rotates bool               // the audit log is set aside when it is full, which needs rights in its directory
	Read    []string           // files and directories that are read later; missing ones are passed over
}

// Dir is one directory of the ceiling.
type Dir struct {
	ID       rootbound.RootID
	Path     string // canonical
	Dev, Ino uint64 // what Path must reach: a rule is made for this object or not at all
	Write    bool   // some right on it changes something
}

// Status is what came of it.
type Status struct {
	Confined bool
	Text     string // for decision.Server.Confine: "landlock abi 7: …", "off", "unconfined: …"
}

// Ceiling tells the needs of what the operator granted. A project that is nested in another has at least the reach of the
// outer one: the kernel adds rights up, the resolver does not.
func (n *Needs) Ceiling(c *authority.Ceiling) {
	n.Missing = c.Missing()
	for _, p := range c.Projects() {
		root := c.Root(p.ID)
		if root == nil {
			continue // in Missing
		}
		n.Dirs = append(n.Dirs, Dir{
			ID: p.ID, Path: root.Path(), Dev: root.ID().Dev, Ino: root.ID().Ino,
			Write: p.Rights&(rootbound.Create|rootbound.Write|rootbound.Move|rootbound.Delete|rootbound.Propose) != 0,
		})
	}
}

// Confine restricts the whole process, all its threads, for good. Call it after everything outside the needs was read and
// opened, and before the first request. A reason not to confine is in the status under Auto, and the error under Require.
func Confine(mode Mode, n Needs) (Status, error) {
	switch mode {
	case Off:
		return Status{Text: "off"}, nil
	case Auto, Require:
	default:
		return Status{}, fmt.Errorf("unknown mode %q of --confine: use auto, require or off", mode)
	}
	// The time zone is read from /usr/share/zoneinfo at its first use.
	_, _ = time.Now().Zone()

	text, err := confine(mode, n)
	switch {
	case err == nil:
		return Status{Confined: true, Text: text}, nil
	case mode == Auto:
		return Status{Text: "unconfined: " + err.Error()}, nil
	}
	return Status{}, fmt.Errorf("--confine=require: %w", err)
}

// check finds the reasons that do not depend on the system.
func (n *Needs) check() error {
	if len(n.Missing) > 0 {
		return fmt.Errorf("the directory of project %s is missing, and could not be served when it appears", n.Missing[0])
	}
	if len(n.Dirs) == 0 {
		return errors.New("no project is configured, so the client says what may be reached")
	}
	return nil
}
