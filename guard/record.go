package guard

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
)

// verdict is the record's word for an error.
func verdict(err error) string {
	if err == nil {
		return decision.Allow
	}
	switch rootbound.ReasonOf(err) {
	case rootbound.IOError, rootbound.InternalError, rootbound.Cancelled, rootbound.AuditUnavailable, rootbound.AuthorityUnavailable, "":
		return decision.Error
	}
	return decision.Deny
}

// record writes the phase "decided". For an allowed mutation an error means that it must not happen.
func (t *Target) record(err error) error {
	r := &t.rec
	r.Schema, r.Phase = decision.Schema, decision.Decided
	r.Server, r.Enforced = t.g.opt.Server, true
	r.Operation = t.req.Op
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
		t.recObj = object(t.obj.Info(), t.obj.Crossed(), t.obj.FS())
		r.Object = &t.recObj
		if r.Canonical == "" {
			r.Canonical = canonical(t.obj.Linked())
		}
	} else if t.src.ID != (beneath.ObjectID{}) {
		t.recObj = object(t.src, false, "")
		r.Object = &t.recObj
	}
	if t.entry != nil {
		t.recParent = parent(t.entry)
		r.Parent = &t.recParent
		if r.Canonical == "" {
			r.Canonical = canonical(t.entry.Linked())
		}
	}
	if t.dest != nil {
		t.recDest = parent(t.dest)
		r.DestDir = &t.recDest
	}
	if t.destProject != nil { // known where its parents are still missing too
		r.Dest, r.DestRoot = t.destRel, t.destProject.ID
	}
	r.Decision, r.Reason, r.Detail, r.Rules = verdict(err), "", "", t.j.Rules
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
	if t.entries > 0 || t.hidden > 0 || t.skipped > 0 {
		o.Counts = map[string]int64{"entries": t.entries, "hidden": t.hidden, "skipped": t.skipped}
	}
	var e *rootbound.Error
	if errors.As(err, &e) {
		o.Reason, o.Detail, o.Errno = e.Reason, decision.Facts(e.Detail), errnoName(e.Err)
	}
	r.Outcome = o
	t.g.opt.Sink.Completed(&r)
}

func canonical(linked bool) string {
	if linked {
		return "links"
	}
	return "exact"
}

func object(i beneath.Info, crossed bool, fsName string) decision.Object {
	return decision.Object{Dev: i.ID.Dev, Ino: i.ID.Ino, Mount: i.ID.Mount, Type: typeName(i.Mode), FS: fsName, Links: i.Links, Crossed: crossed}
}

func parent(e *beneath.Entry) decision.Object {
	k := e.Key()
	return decision.Object{Dev: k.Dir.Dev, Ino: k.Dir.Ino, Mount: k.Dir.Mount, Type: "directory", Crossed: e.Crossed()}
}

func typeName(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	}
	return "other"
}

// errnoName is the system's own words for its error number: they hold no path, as the text around it may.
func errnoName(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	}
	return ""
}
