// Package authority owns what may be touched: the operator's ceiling, the client's roots, and the versioned snapshots
// that come of both. One Authority for each legacy session, one for each principal of 2026-07-28.
package authority

import (
	"context"
	"errors"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// Mode is --roots (contract §2).
type Mode string

const (
	Narrow  Mode = "narrow"
	Client  Mode = "client"
	Ignore  Mode = "ignore"
	Require Mode = "require"
)

// Ceiling is what the operator granted, opened and pinned once and shared by all authorities of the process.
// Safe for concurrent use.
type Ceiling struct{}

// CeilingOptions: AcceptRetarget lets a project whose path reaches another object be pinned anew (--accept-retarget).
// Homes are the directories a client cannot be granted whole (root_too_wide, mode client); nil: those of this machine.
type CeilingOptions struct {
	AcceptRetarget bool
	Homes          []string
}

// Open pins each project's directory. Missing directories are kept and pinned when they appear. Errors: duplicate id, no
// rights, a file where a directory should be, one directory granted twice with different rights.
func Open(projects []rootbound.Project, o CeilingOptions) (*Ceiling, error) { panic("stub") }

func (c *Ceiling) Projects() []rootbound.Project          { panic("stub") } // in the operator's order
func (c *Ceiling) Missing() []rootbound.RootID            { panic("stub") } // not there yet
func (c *Ceiling) Root(id rootbound.RootID) *beneath.Root { panic("stub") } // nil while missing; borrowed
func (c *Ceiling) Digest() string                         { panic("stub") } // policy digest
func (c *Ceiling) Close() error                           { panic("stub") }

// Retarget pins projects anew whose path reaches another object: all, or those named. Authorities publish a new
// generation with their next call.
func (c *Ceiling) Retarget(ids ...rootbound.RootID) error { panic("stub") }

// Covers tells without disk access whether an absolute path is below a spelling of some project.
func (c *Ceiling) Covers(abs string) bool { panic("stub") }

// RootEntry is one entry of a roots answer as the client sent it.
type RootEntry struct{ URI, Name string }

// Answer is one decoded roots answer.
type Answer struct{ Roots []RootEntry }

// Errors an Ask returns, wrapped or not; every other error is authority_unavailable.
var (
	ErrUnsupported = errors.New("the client does not support roots")      // -32601
	ErrMalformed   = errors.New("the client's roots answer is malformed") // roots_malformed
)

// Capability is what the client declared.
type Capability struct{ Declared, ListChanged bool }

// Verdict is what became of one entry of an answer.
type Verdict struct {
	URI    string // normalized, bounded
	Root   rootbound.RootID
	Reason rootbound.Reason // empty: approved
	Detail string
	Warn   string
}

// Event is told to Options.Note: "asked", "answered", "published", "confirmed", "stale", "unavailable", "revoked", "closed".
type Event struct {
	Kind     string
	Snapshot *Snapshot // published, confirmed, stale
	Verdicts []Verdict // published, confirmed, unavailable
	Err      error     // unavailable
	Why      rootbound.Reason
}

// Options of one authority. The zero value: mode narrow, never asks, 5 s.
type Options struct {
	Mode           Mode
	Capability     func() Capability                      // read at every acquisition; nil: not declared
	Ask            func(context.Context) (*Answer, error) // never twice at a time; ctx of the request that leads
	Timeout        time.Duration                          // for all asks of one call; default 5 s
	EmptyIsCeiling bool                                   // --on-empty=ceiling: an empty first answer is no opinion
	AllowWide      bool                                   // --allow-wide-roots
	ClientProject  rootbound.Project                      // mode client: rights, rules and policies of each root
	Principal      string
	Note           func(Event)               // must not call back
	Drop           func(old, next *Snapshot) // before next is visible; must not call Acquire
}

// Authority is safe for concurrent use.
type Authority struct{}

func New(c *Ceiling, o Options) *Authority { panic("stub") }

func (a *Authority) ID() string { panic("stub") } // 128 random bits, hex

// Acquire returns a hold on the current snapshot and asks first if there is none, or if freshness requires (contract
// §4.2; mutates: the call may change something). Errors are *rootbound.Error.
func (a *Authority) Acquire(ctx context.Context, mutates bool) (*Use, error) { panic("stub") }

// AcquireWith is Acquire for a request that brought its own answer (2026-07-28): a snapshot for this call that shares the
// authority's gate, so that stale and revoked reach it too. nil answer: the capability was not declared.
func (a *Authority) AcquireWith(ctx context.Context, c Capability, ans *Answer) (*Use, error) {
	panic("stub")
}

// Generation is the number to seal into a token before an answer is there (2026-07-28): the generation that AcquireWith
// will run in unless something is revoked or marked stale in between.
func (a *Authority) Generation() rootbound.Generation { panic("stub") }

// Current is a hold on the current snapshot without ever asking: authority_unavailable if there is none.
func (a *Authority) Current() (*Use, error) { panic("stub") }

// Invalidate ends the current generation and never blocks. When the channel is closed nothing of it can commit.
func (a *Authority) Invalidate(why rootbound.Reason) <-chan struct{} { panic("stub") }

// MarkStale is Invalidate plus a bounded wait; false: a commit still hangs in the kernel.
func (a *Authority) MarkStale(why rootbound.Reason, bound time.Duration) bool { panic("stub") }

// Revoke takes projects or roots back until Unrevoke: a generation change, revoked_by_user. No ids: everything.
func (a *Authority) Revoke(ids ...rootbound.RootID)   { panic("stub") }
func (a *Authority) Unrevoke(ids ...rootbound.RootID) { panic("stub") }

// Close ends the authority for good: what runs is cancelled, later calls are refused.
func (a *Authority) Close() { panic("stub") }

// Status is for people.
type Status struct {
	ID         string
	State      string // unasked, pending, current, stale, unavailable, closed
	Generation rootbound.Generation
	Source     string
	Grants     []Grant // borrowed: no handles to be used
	Verdicts   []Verdict
	Err        error
}

func (a *Authority) Status() Status { panic("stub") }

// Grant is one approved root of a snapshot.
type Grant struct {
	ID      rootbound.RootID   // the project's id if the root is the project itself, else the root id of the object
	Name    string             // the client's display name, may be empty
	Project *rootbound.Project // where rights and rules come from; never changed
	Prefix  string             // where the root lies inside the project, "" = the project itself
	Root    *beneath.Root
	Shown   string // absolute, as granted or declared: for list_allowed_directories
}

// Snapshot is immutable. Set's member i is Grants[i]; Set's mark i is Marks[i].
type Snapshot struct {
	Authority                 string
	Generation                rootbound.Generation
	Mode                      Mode
	Source                    string // ceiling, roots, roots_unsupported, empty_first
	Capability                Capability
	Grants                    []Grant
	Set                       *beneath.Set
	Marks                     []Mark // every project of the ceiling that has a directory, granted or not
	RootsDigest, PolicyDigest string
	Verdicts                  []Verdict
}

// ProjectDigest is the approved-root digest of one project, empty if nothing of it is granted.
func (s *Snapshot) ProjectDigest(id rootbound.RootID) string { panic("stub") }

// Mark is a project's directory by identity, for the innermost-project rule. A revoked project has a copy of its
// Project without any rights, so that its objects stay out of reach through a project around it.
type Mark struct {
	Project *rootbound.Project
	Root    *beneath.Root
	Revoked bool
}

// Use is one request's hold on a snapshot. Release exactly once, after the last use of its handles.
type Use struct{ Origin *rootbound.Origin }

func (u *Use) Snapshot() *Snapshot { panic("stub") }
func (u *Use) Release()            { panic("stub") }

// Stale is nil while the generation is current: one atomic load, for loops. Else the *rootbound.Error to return.
func (u *Use) Stale() error { panic("stub") }

// CheckRoot checks that grant i's spelled path (and its project's) still reaches the pinned object: before each mutation,
// at most 1 s old for reads. root_replaced otherwise. Safe for concurrent use.
func (u *Use) CheckRoot(i int, mutates bool) error { panic("stub") }

// Hold keeps the snapshot's handles beyond Release, for work that cannot be stopped (a call that hangs in the kernel).
// release exactly once. Safe for concurrent use.
func (u *Use) Hold() (release func()) { panic("stub") }

// Committed reports whether an effect was published under this use.
func (u *Use) Committed() bool { panic("stub") }

// Commit runs publish under a lease. publish makes only system calls that show an effect under a name.
func (u *Use) Commit(publish func() error) error { panic("stub") }

// With puts a Use into a context that also ends when the generation does; call the function when the request is over.
func With(ctx context.Context, u *Use) (context.Context, func()) { panic("stub") }

// From returns the request's Use: no_scope without one.
func From(ctx context.Context) (*Use, error) { panic("stub") }
