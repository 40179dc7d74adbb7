package rules

import "slices"

// Known is a place where the objects of a rule stand, if there are any: its pattern holds no wildcard but a leading "**/"
// and a trailing "/**".
type Known struct {
	Path     string // as the pattern spells it
	Anywhere bool   // below every directory of the project, else below the project
	Tree     bool   // a directory whose entries are meant
	Rule     *Rule
}

// Known lists the places of all rules, those against every access first. Not to be changed.
func (pol *Policy) Known() []Known { return slices.Concat(pol.access.known, pol.mutation.known) }
