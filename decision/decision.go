// Package decision is the record: what was asked, what was decided and why, and what came of it (contract §7).
//
// A [Record] is one line of the log. Each operation leaves two that share an id: "decided" before it has an effect and
// "completed" after it; "decided" without "completed" reads as unknown, never as done. What happens to an authority or to
// the process (asked, answered, published, stale, ...) is an event of one line. Records go to a [Sink]: [Memory] keeps the
// last of them, [JSONL] appends them to a file, [Tee] feeds several, [Hashed] hides paths in front of another sink.
//
// Records name objects by identity and paths relative to a project. They hold no contents, no secrets and no path of the
// host but what the caller itself sent.
package decision

import (
	"time"

	"github.com/rootbound/rootbound"
)

// Schema is the name of the record format.
const Schema = "rootbound.decision.v1"

// Phases of an operation.
const (
	Decided   = "decided"
	Completed = "completed"
)

// Events: phases that stand alone.
const (
	Asked       = "asked"       // the client was asked for its roots
	Answered    = "answered"    // it answered, or failed to
	Published   = "published"   // a new generation is in force
	Confirmed   = "confirmed"   // an equal answer renewed the generation in force
	Stale       = "stale"       // the generation ended
	Unavailable = "unavailable" // no generation could be made
	Revoked     = "revoked"     // a person took access back
	Closed      = "closed"      // the authority ended
	Refused     = "refused"     // a request was refused before it came to an operation
	Alert       = "alert"       // many denials, or another sign that a person should look
	Started     = "started"     // the process
	Stopped     = "stopped"
	Dropped     = "dropped" // records of reads were lost because the log could not be written; Note says how many
)

// Verdicts of Record.Decision.
const (
	Allow = "allow"
	Deny  = "deny"
	Error = "error"
)

// Record is one line of the log. A value: holds no handle, never contents or secrets. The JSON names are the published
// schema, decision/schema. Schema may be left empty: sinks write the current one.
type Record struct {
	Schema string    `json:"schema"`
	ID     string    `json:"id"`    // of the operation or event, see IDs
	Phase  string    `json:"phase"` // decided, completed, or an event
	Time   time.Time `json:"time"`

	Authority Authority           `json:"authority"`
	Session   Session             `json:"session"`
	Server    Server              `json:"server"`
	Principal string              `json:"principal,omitempty"`
	Method    string              `json:"method,omitempty"`
	Tool      string              `json:"tool,omitempty"`
	RequestID string              `json:"request_id,omitempty"`
	Correlate string              `json:"correlation_id,omitempty"`
	TraceID   string              `json:"trace_id,omitempty"`
	Operation rootbound.Operation `json:"operation,omitempty"`
	Rights    []string            `json:"rights,omitempty"` // needed for the operation
	Project   rootbound.RootID    `json:"project,omitempty"`
	Root      rootbound.RootID    `json:"root,omitempty"`

	PathSent  string           `json:"path_sent,omitempty"`
	Path      string           `json:"path,omitempty"`             // reached, relative to the project
	Canonical string           `json:"canonicalization,omitempty"` // "exact", "links", "escaped_name", "nfc_fallback", "missing", "refused"
	Object    *Object          `json:"object,omitempty"`
	Parent    *Object          `json:"parent,omitempty"`
	DestSent  string           `json:"dest_sent,omitempty"`
	Dest      string           `json:"dest,omitempty"`
	DestDir   *Object          `json:"dest_parent,omitempty"`
	DestRoot  rootbound.RootID `json:"dest_project,omitempty"`

	Decision string           `json:"decision,omitempty"` // allow, deny, error
	Reason   rootbound.Reason `json:"reason,omitempty"`
	Detail   string           `json:"detail,omitempty"`
	Rules    []string         `json:"rules,omitempty"`
	Agreed   string           `json:"agreed,omitempty"` // how a person agreed to the change: terminal, or the weaker elicitation
	Enforced bool             `json:"enforced"`
	Shadow   string           `json:"shadow,omitempty"`
	Outcome  *Outcome         `json:"outcome,omitempty"` // phase completed

	Roots []Root `json:"roots,omitempty"` // phase published: every entry of the answer with its verdict
	Note  string `json:"note,omitempty"`  // event detail in a few words
}

// Authority is the state the decision was taken in.
type Authority struct {
	ID            string               `json:"id,omitempty"`
	Generation    rootbound.Generation `json:"generation"`
	State         string               `json:"state,omitempty"`  // unasked, pending, current, stale, unavailable
	Source        string               `json:"source,omitempty"` // ceiling, roots, roots_unsupported, empty_first, none
	Declared      bool                 `json:"roots_declared"`
	ListChanged   bool                 `json:"roots_list_changed"`
	RootsDigest   string               `json:"roots_digest,omitempty"`
	ProjectDigest string               `json:"project_roots_digest,omitempty"`
	PolicyDigest  string               `json:"policy_digest,omitempty"`
}

// Session is the origin of the request; the client's name is self-reported.
type Session struct {
	ID        string `json:"id,omitempty"`
	Era       string `json:"era,omitempty"`
	Protocol  string `json:"protocol,omitempty"`
	Transport string `json:"transport,omitempty"`
	Client    string `json:"client,omitempty"`
	ClientVer string `json:"client_version,omitempty"`
}

// Server is who served it, and how the process is confined.
type Server struct {
	UID     int    `json:"uid"`
	GID     int    `json:"gid"`
	PID     int    `json:"pid"`
	Version string `json:"version,omitempty"`
	Confine string `json:"confine,omitempty"` // what is really enforced, e.g. "landlock abi 7", "off", "unconfined: ..."
	Tier    string `json:"tier,omitempty"`    // resolver: openat2, walk, os.Root
}

// Object is an identity, never a path.
type Object struct {
	Dev     uint64 `json:"dev"`
	Ino     uint64 `json:"ino"`
	Mount   uint64 `json:"mount,omitempty"`
	Type    string `json:"type,omitempty"` // file, directory, symlink, other
	FS      string `json:"fs,omitempty"`
	Links   uint64 `json:"links,omitempty"`
	Crossed bool   `json:"crossed_mount,omitempty"`
}

// Outcome is what came of an allowed operation.
type Outcome struct {
	OK       bool             `json:"ok"`
	Reason   rootbound.Reason `json:"reason,omitempty"` // refused after the decision: stale, conflict, io_error
	Detail   string           `json:"detail,omitempty"`
	Errno    string           `json:"errno,omitempty"`
	Bytes    int64            `json:"bytes"`
	Duration time.Duration    `json:"duration_ns"`
	Counts   map[string]int64 `json:"counts,omitempty"` // walks: entries, hidden, skipped, hits
	Stopped  string           `json:"stopped,omitempty"`
}

// Root is one entry of a roots answer and its verdict.
type Root struct {
	URI    string           `json:"uri"` // normalized; HMAC under audit.paths: hash
	Root   rootbound.RootID `json:"root,omitempty"`
	Reason rootbound.Reason `json:"reason,omitempty"` // why it was dropped
	Detail string           `json:"detail,omitempty"`
	Warn   string           `json:"warn,omitempty"`
}

// Sink takes records. Safe for concurrent use.
//
// A sink may keep what r points to: after the call the caller may reuse *r itself, but must not change the objects,
// slices and maps it refers to.
type Sink interface {
	// Decided takes the record of what is about to happen. For a mutation it returns only when the record is as durable
	// as the sink's policy asks; an error means that the mutation must not happen (audit_unavailable).
	Decided(r *Record, mutation bool) error
	// Completed takes the record of what came of it. It never fails the caller.
	Completed(r *Record)
	// Event takes a record that stands alone. It never fails the caller.
	Event(r *Record)
	// Close writes what is still held back. Records given after Close are refused or lost.
	Close() error
}

// SetOrigin fills session, principal, tool and request from where the request came from.
func (r *Record) SetOrigin(o *rootbound.Origin) {
	if o == nil {
		return
	}
	r.Session = Session{
		ID: o.Session, Era: o.Era, Protocol: o.Protocol, Transport: o.Transport,
		Client: o.ClientName, ClientVer: o.ClientVersion,
	}
	r.Principal, r.Method, r.Tool = o.Principal, o.Method, o.Tool
	r.RequestID, r.Correlate, r.TraceID = o.RequestID, o.CorrelationID, o.TraceID
	r.Authority.Declared, r.Authority.ListChanged = o.RootsDeclared, o.RootsListChanged
}
