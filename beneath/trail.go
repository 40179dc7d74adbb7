package beneath

import (
	"slices"

	"github.com/rootbound/rootbound"
)

// Passed is a place that a path led through and did not end at: a link that was followed, or a directory that a ".." behind
// it left again. What is there decides where the path leads, so who follows it learns of it.
type Passed struct {
	At     Ref
	Mark   int  // as Object.Mark
	Dir    bool // a directory; else a link
	Linked bool // a link was followed before
}

// maxPassed bounds the places of one path.
const maxPassed = 1024

// pass adds a place; one that was passed right before is not told twice.
func pass(all []Passed, p Passed) ([]Passed, error) {
	if n := len(all); n > 0 && all[n-1] == p {
		return all, nil
	}
	if len(all) == maxPassed {
		return all, refuse(rootbound.PathInvalid, "too_long", nil)
	}
	return append(all, p), nil
}

// followed reports whether a link was.
func followed(all []Passed) bool {
	return slices.ContainsFunc(all, func(p Passed) bool { return !p.Dir })
}

// linkText is a link whose text is being worked through: so many bytes of text lie behind it.
type linkText struct {
	link Passed
	tail int
}

// End says what is where a path ends.
type End uint8

// Ends of a path.
const (
	There   End = iota // something that the path names
	Missing            // a name that is missing
	NoDir              // something that is no directory, and names behind it
	Unknown            // a name that cannot be looked at or gone through, or a link that leads out
)

// Trail is the way of a path as far as it leads, whatever is wrong with it.
type Trail struct {
	Passed []Passed // in order
	Last   Ref      // the last name that was looked at: what End speaks of
	To     Ref      // Last with the names behind it, as they are spelled, up to the first ".."
	Mark   int      // of what is at Last, or of the directory where it would be
	End    End
	Dir    bool   // There: a directory
	Linked bool   // a link was followed
	Part   string // up to Last, in the caller's words; "" where links were followed
}
