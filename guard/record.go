package guard

import (
	"time"

	"github.com/rootbound/rootbound"
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
		a := &r.Authority
		a.ID, a.Generation, a.Source = s.Authority, s.Generation, s.Source
		a.State = "current"
		if t.use.Stale() != nil {
			a.State = "stale"
		}
		a.Declared, a.ListChanged = s.Capability.Declared, s.Capability.ListChanged
		a.RootsDigest, a.PolicyDigest = s.RootsDigest, s.PolicyDigest
	}
	if t.project != nil {
		r.Project = t.project.ID
		r.Authority.ProjectDigest = t.snap.ProjectDigest(t.project.ID)
		if t.grant >= 0 {
			r.Root = t.snap.Grants[t.grant].ID
		}
		r.Path = t.rel
	}
	r.Reached(t.obj, t.src, t.entry, t.dest)
	if t.destProject != nil { // known where its parents are still missing too
		r.Dest, r.DestRoot = t.destRel, t.destProject.ID
	}
	r.Judged(t.j.Rules, err)
	mutation := err == nil && t.req.Op.Mutates()
	if werr := t.g.opt.Sink.Decided(&r.Record, mutation); werr != nil && mutation {
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
	r := t.rec.Record
	r.Phase, r.Time = decision.Completed, time.Now()
	o := facts.Outcome(err, t.start)
	o.Bytes, o.Stopped = t.bytes, t.stopped
	if n := t.tally; n != (judge.Tally{}) {
		o.Counts = map[string]int64{"entries": n.Entries, "hidden": n.Hidden, "skipped": n.Skipped}
	}
	r.Outcome = o
	t.g.opt.Sink.Completed(&r)
}
