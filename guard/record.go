package guard

import (
	"errors"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard/facts"
	"github.com/rootbound/rootbound/guard/judge"
)

// record writes the phase "decided". For an allowed mutation an error means that it must not happen.
func (t *Target) record(err error) error {
	r := &t.rec
	r.Schema, r.Phase = decision.Schema, decision.Decided
	r.Server, r.Enforced = t.g.opt.Server, true
	r.Operation = t.op
	r.PathSent, r.DestSent = t.req.Path, t.req.Dest
	r.Rights = t.g.names[t.need&0xff]
	if t.use != nil && t.use.Origin != nil {
		r.SetOrigin(t.use.Origin)
	}
	if t.use != nil && t.req.Op.Mutates() {
		r.Agreed = string(t.use.Agreed)
	}
	if r.Correlate == "" {
		r.Correlate = t.group
	}
	if s := t.snap; s != nil {
		r.Authority.ID, r.Authority.Generation, r.Authority.Source = s.Authority, s.Generation, s.Source
		r.Authority.State = "current"
		if t.use.Stale() != nil {
			r.Authority.State = "stale"
		}
		r.Authority.Declared, r.Authority.ListChanged = s.Capability.Declared, s.Capability.ListChanged
		r.Authority.RootsDigest, r.Authority.PolicyDigest = s.RootsDigest, s.PolicyDigest
	}
	if t.project != nil {
		r.Project = t.project.ID
		r.Authority.ProjectDigest = t.snap.ProjectDigest(t.project.ID)
		if t.grant >= 0 {
			r.Root = t.snap.Grants[t.grant].ID
		}
		r.Path = t.rel
	}
	r.Object, r.Parent, r.DestDir = nil, nil, nil
	if t.obj != nil {
		t.recObj = facts.Object(t.obj.Info(), t.obj.Crossed(), t.obj.FS())
		r.Object = &t.recObj
		if r.Canonical == "" {
			r.Canonical = facts.Canonical(t.obj.Linked())
		}
	} else if t.src.ID != (beneath.ObjectID{}) {
		t.recObj = facts.Object(t.src, false, "")
		r.Object = &t.recObj
	}
	if t.entry != nil {
		t.recParent = facts.Parent(t.entry)
		r.Parent = &t.recParent
		if r.Canonical == "" {
			r.Canonical = facts.Canonical(t.entry.Linked())
		}
	}
	if t.dest != nil {
		t.recDest = facts.Parent(t.dest)
		r.DestDir = &t.recDest
	}
	if t.destProject != nil { // known where its parents are still missing too
		r.Dest, r.DestRoot = t.destRel, t.destProject.ID
	}
	r.Decision, r.Reason, r.Detail, r.Rules = decision.Verdict(err), "", "", t.j.Rules
	if err != nil {
		if r.Canonical == "" {
			r.Canonical = "refused"
		}
		var e *rootbound.Error
		if errors.As(err, &e) {
			r.Reason, r.Detail = e.Reason, decision.Facts(e.Detail)
		} else {
			r.Reason = rootbound.InternalError
		}
	}
	mutation := err == nil && t.req.Op.Mutates()
	if werr := t.g.opt.Sink.Decided(r, mutation); werr != nil && mutation {
		return &rootbound.Error{Reason: rootbound.AuditUnavailable, Retryable: true, Err: werr}
	}
	return nil
}

// complete writes the phase "completed" of an allowed operation, once.
func (t *Target) complete(err error) {
	if !t.recorded.Load() || t.completed {
		return
	}
	t.completed = true
	r := t.rec
	r.Phase, r.Time = decision.Completed, time.Now()
	o := &decision.Outcome{OK: err == nil, Bytes: t.bytes, Duration: time.Since(t.start), Stopped: t.stopped}
	if n := t.tally; n != (judge.Tally{}) {
		o.Counts = map[string]int64{"entries": n.Entries, "hidden": n.Hidden, "skipped": n.Skipped}
	}
	var e *rootbound.Error
	if errors.As(err, &e) {
		o.Reason, o.Detail, o.Errno = e.Reason, decision.Facts(e.Detail), facts.Errno(e.Err)
	}
	r.Outcome = o
	t.g.opt.Sink.Completed(&r)
}
