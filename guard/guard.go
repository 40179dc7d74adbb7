// Package guard is the one door: snapshot, rights and rules, resolve, record, operate, record.
package guard

import (
	"context"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
)

// Locks serializes edits of directory entries; keys are taken in byte order. Safe for concurrent use.
type Locks interface {
	Lock(ctx context.Context, keys ...beneath.Key) (unlock func(), err error)
}

// Journal remembers temporary files until they are gone, so that leftovers of a crash are removed by identity.
type Journal interface {
	// Staged is told before content is written; dir is the parent's path inside the root whose absolute path is root.
	Staged(root, dir, name string, id beneath.ObjectID) (done func(), err error)
}

// Options of a Guard. The zero value: records in nobody's memory, locks in this process only, contract defaults.
type Options struct {
	Sink      decision.Sink
	Server    decision.Server // identity written into each record
	Locks     Locks
	Journal   Journal
	Own       func() []beneath.ObjectID // our own files and directories: denied in every project
	Relative  string                    // unique (default), first, explicit
	FSTimeout time.Duration             // one operation's stay in the file system; 0: unbounded
	Workers   int                       // operations at once for each project; default 64
	NoSlow    bool                      // --no-slow
	Alert     func(authority string, denials int)
}

type Guard struct{}

func New(o Options) *Guard { panic("stub") }

// Request is one operation as the caller spelled it.
type Request struct {
	Op        rootbound.Operation
	Root      string           // project id, root id or unique root name as sent; may be empty
	Path      string           // as sent
	DestRoot  string           // moves and copies
	Dest      string           // moves and copies, as sent
	Overwrite bool             // moves: the destination may exist
	Need      rootbound.Rights // beyond what the operation implies
}

// Decision is a value: safe to keep, holds no handle.
type Decision struct {
	ID      string
	Reason  rootbound.Reason // empty: allow
	Detail  string
	Rules   []string
	Project rootbound.RootID
	Path    string // reached, inside the project
}

// Decide resolves and judges and has no effect; the answer may be old when it arrives.
func (g *Guard) Decide(ctx context.Context, r Request) (Decision, error) { panic("stub") }

// Do runs work on what was checked. The target ends with work. Every error is a *rootbound.Error with Op, Path, Root
// and Decision filled in.
func (g *Guard) Do(ctx context.Context, r Request, work func(context.Context, *Target) error) error {
	panic("stub")
}

// Precheck tells without asking a client and without disk access whether a path can be inside the ceiling at all.
func (g *Guard) Precheck(c *authority.Ceiling, r Request) error { panic("stub") }

// Target is the only source of handles. Not safe for concurrent use.
type Target struct{}

// Object is what exists and was checked: set for read, list, tree, search, stat, edit, and for write and create if the
// entry holds a file (what would be replaced); nil otherwise.
func (t *Target) Object() *beneath.Object { panic("stub") }

// Entry is set for create, write, edit, mkdir (parent exists), move (the source); nil for reads.
func (t *Target) Entry() *beneath.Entry { panic("stub") }
func (t *Target) Dest() *beneath.Entry  { panic("stub") } // moves

// Source describes the object a move takes: the link itself for links.
func (t *Target) Source() beneath.Info { panic("stub") }

func (t *Target) Project() *rootbound.Project { panic("stub") }
func (t *Target) Decision() Decision          { panic("stub") }
func (t *Target) Sent() string                { panic("stub") } // path as sent
func (t *Target) Stale() error                { panic("stub") }

// Read and ReadAt fail as soon as the generation ends, also in the middle of a file.
func (t *Target) Read(p []byte) (int, error)              { panic("stub") }
func (t *Target) ReadAt(p []byte, off int64) (int, error) { panic("stub") }

// Walk and List show only what rights and rules allow; counts go to the record.
func (t *Target) Walk(ctx context.Context, visit func(*beneath.Node) (beneath.Step, error), failed func(beneath.Ref, error)) error {
	panic("stub")
}
func (t *Target) List(ctx context.Context, after string, visit func(*beneath.Node) (beneath.Step, error)) error {
	panic("stub")
}

// Stage makes and journals the temporary file for Entry, like Object.
func (t *Target) Stage() (*beneath.Staged, error) { panic("stub") }

// Mkdir makes Entry's directory and missing parents (op mkdir), each judged and each in a lease of its own.
func (t *Target) Mkdir() (made int, err error) { panic("stub") }

// Commit publishes under a lease of the generation the target was resolved in; before and after publish the parents are
// checked to be beneath their roots (moved_out).
func (t *Target) Commit(publish func() error) error { panic("stub") }

// Wrote tells the record how many bytes were read or written.
func (t *Target) Wrote(n int64) { panic("stub") }
