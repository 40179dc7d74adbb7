package authority

import (
	"context"
	"errors"
	"fmt"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/roots"
)

// The sources of a snapshot.
const (
	fromCeiling = "ceiling"
	fromRoots   = "roots"
	unsupported = "roots_unsupported"
	emptyFirst  = "empty_first"
)

// situation is what an answer is judged in.
type situation struct {
	cap   Capability
	ans   *Answer
	err   error     // of the ask
	heard bool      // a good answer came before
	later bool      // an empty list is a revocation
	base  *Snapshot // narrow this one instead of the ceiling
}

// draft is the outcome: a snapshot without generation, or why there is none.
type draft struct {
	s        *Snapshot // one reference, the caller's
	err      *rootbound.Error
	verdicts []Verdict
	source   string
	good     bool // the answer was a list
	entries  int
}

// judge is the table of contract §2 up to the point where roots are looked at.
func (a *Authority) judge(t Terms, s situation) (source string, err *rootbound.Error) {
	if source, err = a.tabled(t, s); err != nil {
		err.Next = way(err.Reason, t, s.later)
	}
	return source, err
}

// Advise completes a refusal that somebody else made of the client's roots with the way out of this mode.
func Advise(e *rootbound.Error, m Mode) *rootbound.Error {
	if e.Next == "" {
		e.Next = way(e.Reason, Terms{Mode: m}, false)
	}
	return e
}

// way is the way out where that of the registry does not lead out of this mode; empty: it does.
func way(r rootbound.Reason, t Terms, later bool) string {
	const named = "start the server with the directories to serve as arguments and --roots=ignore." // one alone does not lead out
	switch {
	case t.Mode == Require && r == rootbound.NoScope:
		return "Use a client that declares roots, or start the server with --roots=narrow."
	case t.Mode != Client && r == rootbound.RootsEmpty && (later || t.Mode != Narrow || t.EmptyIsCeiling):
		return "Open a folder in the client, or start the server with --roots=ignore." // --on-empty is for the first list, in narrow
	case t.Mode != Client: // where nothing is configured, ignoring the roots leaves nothing
	case r == rootbound.RootsEmpty:
		return "Open a folder in the client, or " + named
	case r == rootbound.RootsMalformed:
		return "Mend the client's roots list, or " + named
	case r == rootbound.AuthorityUnavailable:
		return "Try again; if it stays, " + named
	}
	return ""
}

// Next is one sentence that says what to do about an entry that was dropped; empty: it was not.
func (v Verdict) Next() string {
	if v.next != "" || v.Reason == "" {
		return v.next
	}
	if v.Reason == rootbound.RootUnusable {
		switch v.Detail { // those of beneath.OpenRoot
		case "missing":
			return "Declare a folder that exists: there is none at this path."
		case "not_a_directory":
			return "A root must be a directory: declare the folder that holds the file."
		case "special":
			return "Declare an ordinary folder: what the kernel itself shows as files is not served."
		case "unreadable":
			return "Declare a folder that this server's user can read."
		case roots.Late:
			return "Check the file system of this folder, which did not answer in time, or declare another one."
		}
	}
	return v.Reason.Next()
}

func (a *Authority) tabled(t Terms, s situation) (source string, err *rootbound.Error) {
	none := func(detail string) *rootbound.Error {
		return &rootbound.Error{Reason: rootbound.NoScope, Detail: detail}
	}
	switch {
	case t.Mode == Ignore:
		return fromCeiling, nil
	case s.cap.Declared && errors.Is(s.err, ErrUnsupported) && !s.heard:
		if t.Mode != Narrow {
			return unsupported, none(unsupported)
		}
		return unsupported, nil
	case !s.cap.Declared:
		if t.Mode != Narrow {
			return "", none("the client declares no roots")
		}
		return fromCeiling, nil
	case errors.Is(s.err, ErrMalformed):
		return "", &rootbound.Error{Reason: rootbound.RootsMalformed, Err: s.err}
	case s.err != nil:
		return "", unavailable(failure(s.err), s.err)
	case s.ans == nil:
		return "", unavailable("no answer", nil)
	}
	if d := s.ans.malformed(); d != "" {
		return "", &rootbound.Error{Reason: rootbound.RootsMalformed, Detail: d}
	}
	if len(s.ans.Roots) > 0 {
		return fromRoots, nil
	}
	if t.EmptyIsCeiling && !s.later && t.Mode == Narrow {
		return emptyFirst, nil
	}
	return "", &rootbound.Error{Reason: rootbound.RootsEmpty}
}

func failure(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, ErrUnsupported):
		return unsupported
	}
	return "error"
}

// Check refuses an answer as a whole: an error that wraps ErrMalformed if it is no list, has more than 256 entries, or an
// entry without a URI or with one over 4 KiB (contract §3). What an Ask returns is checked in any case; who has an answer
// from elsewhere and something to lose by it can ask before.
func (ans *Answer) Check() error {
	if d := ans.malformed(); d != "" {
		return fmt.Errorf("%w: %s", ErrMalformed, d)
	}
	return nil
}

func (ans *Answer) malformed() string {
	if ans == nil || ans.Roots == nil {
		return "not a list"
	}
	if len(ans.Roots) > roots.MaxEntries {
		return fmt.Sprintf("more than %d entries", roots.MaxEntries)
	}
	for _, e := range ans.Roots {
		if e.URI == "" {
			return "an entry without a URI"
		}
		if len(e.URI) > roots.MaxURI {
			return fmt.Sprintf("a URI over %d bytes", roots.MaxURI)
		}
	}
	return ""
}
