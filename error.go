package rootbound

import (
	"errors"
	"io/fs"
	"strings"
)

// NoCursor is the Detail of a cursor that does not go on from the answer before: one text, wherever that is noticed.
const NoCursor = "not a cursor of this tool with these arguments (send next.cursor of the answer before with the same other arguments, or none to begin with the first page)"

// Error is the only refusal type of the module. Callers branch on Reason, never on text.
//
// errors.Is(err, fs.ErrNotExist) holds for not_found and parent_missing, errors.Is(err, fs.ErrExist) for exists and
// errors.Is(err, fs.ErrPermission) for every other reason.
type Error struct {
	Reason    Reason
	Detail    string // finer than the reason; a word of docs/reasons.md, or facts the caller may see (never a host path)
	Op        Operation
	Root      RootID // project or root the refusal belongs to, if it is known
	Path      string // the text the caller sent, never a resolved path
	Next      string // what to do next; empty: the registry's line for Reason
	Retryable bool   // the same call may succeed later without a change of its arguments
	Decision  string // id of the decision record
	Err       error  // cause, for logs only: Error() never prints it
}

// Error is the text for the caller: what was sent, why it was refused, what to do next. It holds no path of the host and
// everything echoed is quoted by Quote.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Op))
	switch {
	case e.Path == "" && (e.Op == OpPropose || e.Op == OpApply): // a plan as a whole, not one of its files
		b.WriteString(": ")
	case e.Op != "":
		b.WriteByte(' ')
		fallthrough
	case e.Path != "":
		b.WriteString(Quote(e.Path))
		b.WriteString(": ")
	}
	b.WriteString(e.Reason.Meaning())
	if e.Detail != "" {
		b.WriteString(" [")
		b.WriteString(Clean(e.Detail))
		b.WriteByte(']')
	}
	b.WriteString(" (")
	b.WriteString(string(e.Reason))
	b.WriteString("). ")
	if e.Next != "" {
		b.WriteString(e.Next)
	} else {
		b.WriteString(e.Reason.Next())
	}
	return b.String()
}

// Unwrap gives the cause, for logs.
func (e *Error) Unwrap() error { return e.Err }

// Is maps reasons to the standard library's errors.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.Reason == NotFound || e.Reason == ParentMissing
	case fs.ErrExist:
		return e.Reason == Exists
	case fs.ErrPermission:
		return e.Reason != NotFound && e.Reason != ParentMissing && e.Reason != Exists
	}
	return false
}

// ReasonOf is the reason of the refusal that err is or wraps, empty if it is none.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok { // As would cost an allocation, also for nil
		return e.Reason
	}
	return ""
}
