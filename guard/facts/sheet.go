package facts

import (
	"errors"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
)

// Sheet is the record of one target. It may be filled in again when the request is judged anew. The zero value is empty; not
// to be copied, and not safe for concurrent use.
type Sheet struct {
	decision.Record
	object, parent, dest decision.Object // what the record points at
}

// Reached says what was reached: the object, or src where nothing was opened, and the directories of the entry and of the
// destination. What there is not is nil, or the zero Info.
func (s *Sheet) Reached(o *beneath.Object, src beneath.Info, entry, dest *beneath.Entry) {
	s.Object, s.Parent, s.DestDir = nil, nil, nil
	switch {
	case o != nil:
		s.object = object(o.Info(), o.Crossed(), o.FS())
		s.Object = &s.object
		s.arrived(o.Linked())
	case src.ID != (beneath.ObjectID{}):
		s.object = object(src, false, "")
		s.Object = &s.object
	}
	if entry != nil {
		s.parent = parent(entry)
		s.Parent = &s.parent
		s.arrived(entry.Linked())
	}
	if dest != nil {
		s.dest = parent(dest)
		s.DestDir = &s.dest
	}
}

func (s *Sheet) arrived(linked bool) {
	if s.Canonical == "" {
		s.Canonical = canonical(linked)
	}
}

// Judged says what was decided: err nil is allow. rules are those that refused.
func (s *Sheet) Judged(rules []string, err error) {
	s.Decision, s.Reason, s.Detail, s.Rules = decision.Verdict(err), "", "", rules
	if err == nil {
		return
	}
	if s.Canonical == "" {
		s.Canonical = "refused"
	}
	var e *rootbound.Error
	if errors.As(err, &e) {
		s.Reason, s.Detail = e.Reason, decision.Facts(e.Detail)
	} else {
		s.Reason = rootbound.InternalError
	}
}

// Outcome is what came of an operation that began at start: err nil if it was done.
func Outcome(err error, start time.Time) *decision.Outcome {
	o := &decision.Outcome{OK: err == nil, Duration: time.Since(start)}
	var e *rootbound.Error
	if errors.As(err, &e) {
		o.Reason, o.Detail, o.Errno = e.Reason, decision.Facts(e.Detail), Errno(e.Err)
	}
	return o
}
