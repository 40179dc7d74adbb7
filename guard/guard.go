// Package guard is the one door between a caller and the file system.
//
// It has two verbs. Do judges a request by the snapshot its context carries (authority.With), resolves it to handles,
// records the decision, runs the caller's work on those very handles and records what came of it. Decide does the first
// half and has no effect. A Target is the only source of handles: nothing that works on files gets a path.
//
//	snapshot → spelling → resolve → rights and rules → entry lock, resolve again → record → work → record
//
// The rules are those of the contract: roots narrow what the operator granted, an object is judged by the innermost
// project it lies in, rules judge what was reached as well as what was written, a mutation takes effect only under a
// lease of the generation it was judged in, and what was committed is never reported as refused.
package guard

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/guard/entrylock"
	"github.com/rootbound/rootbound/guard/hang"
	"github.com/rootbound/rootbound/guard/judge"
	"github.com/rootbound/rootbound/guard/own"
	"github.com/rootbound/rootbound/guard/pace"
)

// Locks serializes changes of directory entries; an implementation takes the keys in byte order. Lock waits until all are
// taken or ctx ends. Safe for concurrent use.
type Locks interface {
	Lock(ctx context.Context, keys ...beneath.Key) (unlock func(), err error)
}

// Journal remembers temporary files until they are gone, so that leftovers of a crash are removed by identity. Safe for
// concurrent use.
type Journal interface {
	// Staged is told before content is written: dir is the parent's path inside the root that was opened at the absolute
	// path root; old is the file that is to be replaced, which lies under the temporary name for a moment, or nil. An error
	// stops the write.
	Staged(root, dir, name string, id beneath.ObjectID, old *beneath.Info) (done func(), err error)
}

// Own is a file or directory of this program: no project reaches it (contract §5, Own files).
type Own = own.File

// Options of a Guard. The zero value keeps no records, locks in this process only, and takes the contract's defaults.
type Options struct {
	Sink      decision.Sink
	Server    decision.Server                     // written into each record
	Locks     Locks                               // nil: in this process only
	Journal   Journal                             // nil: leftovers of a crash stay
	Keep      Keeper                              // nil: what is replaced or removed is gone
	Own       func() []Own                        // asked at most once a second, and where a file that was told is gone
	Relative  string                              // "unique" (default), "first", "explicit"
	FSTimeout time.Duration                       // how long one operation may make no progress in the file system; 0: for ever
	Workers   int                                 // operations at once for each project; default 64
	TreeLimit int                                 // entries of a moved, copied or deleted tree that are judged; default 50,000
	NoSlow    bool                                // --no-slow: denials are never slowed
	Alert     func(authority string, denials int) // called once when denials come fast
}

// Guard is safe for concurrent use.
type Guard struct {
	opt    Options
	tuning atomic.Pointer[Tuning]
	law    *judge.Law
	pace   pace.Pacer
	gates  hang.Gates
	ids    *decision.IDs
	names  [1 << 8][]string // of each set of rights, for records
}

// New makes a Guard.
func New(o Options) *Guard {
	if o.Sink == nil {
		o.Sink = decision.Discard{}
	}
	if o.Locks == nil {
		o.Locks = &entrylock.Locks{}
	}
	if o.Workers <= 0 {
		o.Workers = 64
	}
	g := &Guard{opt: o, law: judge.NewLaw(own.New(o.Own)), ids: decision.NewIDs()}
	g.Tune(Tuning{o.Relative, o.FSTimeout, o.TreeLimit, o.NoSlow, o.Keep})
	for r := range g.names {
		g.names[r] = rootbound.Rights(r).Names()
	}
	return g
}

// Request is one operation as the caller spelled it.
type Request struct {
	Op        rootbound.Operation
	Root      string           // project id, root id or unique root name as sent; may be empty
	Path      string           // as sent
	DestRoot  string           // moves and copies
	Dest      string           // moves and copies, as sent
	Overwrite bool             // moves and copies: the destination may exist and needs the right write
	Recursive bool             // deletions: a directory goes with all that it holds; OpCreate: a directory appears with all that it holds
	Parents   bool             // the directories that what is made, written, moved or copied lacks are made, by the right create
	Need      rootbound.Rights // beyond what the operation implies
	Contained bool             // Root and DestRoot are project ids, paths plain and relative, and no link leads into another project
	Decoded   bool             // Contained: the paths were decoded from a URI, once: what looks encoded in them is a name
	Listing   bool             // OpRead: a directory is taken too, as by OpList
	Invalid   error            // what makes it no request: refused with it, on the record and without a look at the disk
}

// Read is a request to read one file.
func Read(path string) Request { return Request{Op: rootbound.OpRead, Path: path} }

// Decision is a value: safe to keep, holds no handle.
type Decision struct {
	ID      string
	Reason  rootbound.Reason // empty: allow
	Detail  string
	Rules   []string
	Project rootbound.RootID
	Path    string // reached, inside the project
}
