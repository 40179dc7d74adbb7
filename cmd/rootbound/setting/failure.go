package setting

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config"
)

// Exit codes, the same for all commands and told by every --help.
const (
	ExitDone    = 0 // ended as it should
	ExitFailed  = 1 // could not start, or the call was refused
	ExitMisused = 2 // wrong usage, or nothing is granted
)

// ExitHelp tells them at the end of a command's description.
const ExitHelp = `
Exit codes: 0 ended as it should; 1 could not start, or the call was refused; 2 wrong usage, or nothing is granted.`

// Failure ends the program with a code and one line on stderr.
type Failure struct {
	Code int
	Line string // empty: everything was said
}

func (f *Failure) Error() string { return f.Line }

// Failed says why the program could not do what it was asked.
func Failed(format string, a ...any) error { return &Failure{ExitFailed, fmt.Sprintf(format, a...)} }

// Misused says what was wrong with how it was asked.
func Misused(format string, a ...any) error { return &Failure{ExitMisused, fmt.Sprintf(format, a...)} }

// ExitOf tells a mistake of the command line from one of a file or of the machine.
func ExitOf(err error) int {
	var all []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	} else {
		all = []error{err}
	}
	for _, e := range all {
		var p *config.Problem
		if !errors.As(e, &p) || !strings.HasPrefix(p.File, "--") && p.File != "argument" {
			return ExitFailed
		}
	}
	return ExitMisused
}

// Text is an error as the operator may read it: the cause is welcome here.
func Text(err error) string {
	var e *rootbound.Error
	if errors.As(err, &e) && e.Err != nil {
		return rootbound.Clean(e.Error() + " (" + e.Err.Error() + ")")
	}
	return rootbound.Clean(err.Error())
}
