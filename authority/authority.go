// Package authority owns what may be touched: the operator's ceiling, the client's roots, and the versioned snapshots
// that come of both (contract §2 to §4).
//
// A [Ceiling] holds the projects of the operator, each pinned to the directory it was when the process started. An
// [Authority] belongs to one legacy session, or to one principal of 2026-07-28. It lives through
//
//	unasked → pending → current(g) → stale(g) → pending → current(g+1) → … → closed
//
// and any failure on the way is unavailable: it denies, and the next call asks again. A call takes a hold of the current
// generation with Acquire, which asks the client if there is none or if it may be outdated. One question is under way at
// a time; whoever comes meanwhile waits on his own context. What an answer gives is compared by objects, rights and
// policy: an equal one renews the current generation, any other ends it and publishes the next. An answer that was on
// its way when the client announced a change is thrown away.
//
// A generation ends synchronously: its gate shuts, so that no effect of it is published any more, and every context made
// for it by [With] is cancelled. The next generation becomes visible when the last lease of the old one is back, so a
// call that hangs in the kernel delays the new generation, never the receive loop. Directory handles of a snapshot close
// with its last [Use].
//
// There is no fall-back. A list that is empty, malformed, late or missing never becomes another list, and neither the
// working directory nor a home directory is ever looked at in order to be granted.
//
// What is granted can change while authorities live: [Ceiling.Replace] puts another list of projects in force,
// [Ceiling.Activate] chooses among them. An id that is gone, or whose path leads to another directory, is retired: who held
// it is told so, and it never means another directory by itself.
//
// Lock order: the flight (one at a time, see flight.go), then Authority.mu, then Ceiling.mu; entry locks of other rooms
// come after all three are released, leases innermost. A change of the ceiling takes every Authority.mu. No mutex is held over I/O on a client's path, a wait or a
// callback. Options.Drop runs inside the flight and must not acquire, Options.Mark where a generation is ended; Options.Note
// runs outside all locks, one event at
// a time and in order.
package authority

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/pins"
	"github.com/rootbound/rootbound/authority/roots"
)

// Mode is --roots (contract §2).
type Mode string

// The modes. The zero Mode is Narrow where a project is configured, else Client.
const (
	Narrow  Mode = "narrow"  // roots narrow the ceiling; without the capability the ceiling itself is in force
	Client  Mode = "client"  // the client's roots are granted, each like a directory argument
	Ignore  Mode = "ignore"  // the ceiling; never asks
	Require Mode = "require" // like Narrow, but the capability must be there
)

// RootEntry is one entry of a roots answer as the client sent it. An empty URI stands for a missing one.
type RootEntry struct{ URI, Name string }

// Answer is one decoded roots answer. Roots is nil where the client sent null or no list, which is malformed, and empty
// but not nil where it sent an empty list.
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

	next string // the way out, if it is not the reason's own
}

// Event is told to Options.Note. Kind is one of "asked", "answered", "published", "confirmed", "stale", "unavailable",
// "revoked", "closed".
type Event struct {
	Kind     string
	Snapshot *Snapshot // published, confirmed; stale and revoked: the one that ended, if any. Its handles may be closed
	Verdicts []Verdict // published, confirmed, unavailable
	Err      error     // unavailable; answered, if the ask failed
	Why      rootbound.Reason
}

// Options of one authority. The zero value: mode by the ceiling, never asks, 5 s.
type Options struct {
	Mode           Mode
	Capability     func() Capability                      // read at every acquisition; nil: not declared
	Ask            func(context.Context) (*Answer, error) // never twice at a time; ctx of the request that leads; must end with it
	Timeout        time.Duration                          // for all asks of one call; default 5 s
	EmptyIsCeiling bool                                   // --on-empty=ceiling: an empty first answer is no opinion
	AllowWide      bool                                   // --allow-wide-roots
	ClientProject  rootbound.Project                      // mode client: rights, rules and policies of each root
	Note           func(Event)                            // must not call back

	// Mark is told that a generation has ended, before anything that comes later is looked at: what was made for it is
	// suspended from here on. It is told so again when what may come next changes, as with Unrevoke. It may come after the
	// Drop of a later generation, which it does not concern. It must not block or call back.
	Mark func(authority string, ended rootbound.Generation)

	// Drop is told of the next generation before it is visible, so that what cannot go on in it is gone by then; next nil:
	// there is none, the authority is closed. Handles of old may be closed. Where requests bring their own roots
	// (2026-07-28) next is what one gets that brings none, which may be no grants at all. Another event may overtake next:
	// then it is never visible, and another Drop follows. It must not call Acquire.
	Drop func(old, next *Snapshot)
}

const (
	defaultTimeout = 5 * time.Second
	maxAsks        = 3               // of one call (contract §3)
	maxAge         = 2 * time.Second // of an answer for reads, where changes are not announced (contract §4.2)
)

// Authority is safe for concurrent use.
type Authority struct {
	ceiling *Ceiling
	opt     Options
	id      string
	client  string // digest of opt.ClientProject
	terms   atomic.Pointer[terms]
	known   known
	ctx     context.Context // ended by Close
	stop    context.CancelFunc
	ids     roots.IDs
	open    roots.Opener
	notes   notes

	mu      sync.Mutex
	closed  bool
	gen     rootbound.Generation
	epoch   uint64    // rises with everything that makes an answer on its way worthless
	life    *life     // of generation gen; nil unless current
	cur     *Snapshot // nil unless current
	old     *life     // the generation before, until its last lease is back
	shown   *Snapshot // the last one that was visible, for Drop
	flight  *flight
	seq     uint64 // asks sent
	heard   bool   // a good answer came
	later   bool   // an empty list is a revocation from now on
	lacking bool   // -32601 to the first ask: as not declared
	err     *rootbound.Error
	verdict []Verdict
	revoked map[rootbound.RootID]bool
	noMore  bool   // everything is revoked
	pledged bool   // a token names gen+1
	form    string // of the last snapshot made for one call

	confirmed moment // of the ask that last confirmed cur
}

// New makes an authority under a ceiling, which must outlive it and knows it until Close.
func New(c *Ceiling, o Options) *Authority {
	var id [16]byte
	rand.Read(id[:])
	a := &Authority{ceiling: c, opt: o, id: hex.EncodeToString(id[:]), revoked: map[rootbound.RootID]bool{}}
	a.client = pins.Sum(o.ClientProject)
	a.terms.Store(a.filled(Terms{o.Mode, o.Timeout, o.EmptyIsCeiling, o.AllowWide}))
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.notes.tell = o.Note
	c.pins.Join(follower{a})
	return a
}

// ID is 128 random bits in hex, new for each process and authority.
func (a *Authority) ID() string { return a.id }

// Close ends the authority for good: what runs is cancelled, an ask under way is given up, later calls are refused. It
// returns when every event has been told; it does not wait for a commit that hangs in the kernel.
func (a *Authority) Close() {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.closed = true
	a.epoch++
	a.err = unavailable("closed", nil)
	shown := a.shown
	end := a.retire(rootbound.AuthorityUnavailable)
	a.notes.add(Event{Kind: "closed", Snapshot: shown}, false)
	a.mu.Unlock()
	end()
	a.ceiling.pins.Leave(follower{a})
	a.stop()
	if a.opt.Drop != nil {
		a.opt.Drop(shown, nil)
	}
	a.ids.Close()
	a.notes.flush()
}

// Status is for people.
type Status struct {
	ID         string
	Mode       Mode
	State      string // unasked, pending, current, stale, unavailable, closed
	Generation rootbound.Generation
	Source     string
	Grants     []Grant // borrowed: no handles to be used
	Verdicts   []Verdict
	Err        error
}

// Status describes the authority now.
func (a *Authority) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Status{ID: a.id, Mode: a.terms.Load().Mode, Generation: a.gen, Verdicts: a.verdict, State: "stale"}
	if a.cur != nil {
		s.Source, s.Grants = a.cur.Source, a.cur.Grants
	}
	switch {
	case a.closed:
		s.State = "closed"
	case a.life != nil:
		s.State = "current"
	case a.flight != nil:
		s.State = "pending"
	case a.err != nil:
		s.State = "unavailable"
	case a.gen == 0:
		s.State = "unasked"
	}
	if a.err != nil {
		s.Err = a.err
	}
	return s
}

// notAsked refuses who may not ask.
func notAsked() *rootbound.Error {
	e := unavailable("not asked yet", nil)
	e.Next = "Call a tool or read a resource first: then the client is asked."
	return e
}

func unavailable(detail string, cause error) *rootbound.Error {
	return &rootbound.Error{Reason: rootbound.AuthorityUnavailable, Detail: detail, Retryable: detail != "closed", Err: cause}
}
