package guard

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/guard/facts"
	"github.com/rootbound/rootbound/guard/hang"
	"github.com/rootbound/rootbound/guard/judge"
	"github.com/rootbound/rootbound/guard/spelling"
)

// Target is what was checked, and the only source of handles. It lives as long as the work it is given to. Not safe for
// concurrent use.
type Target struct {
	g      *Guard
	tuning *Tuning // as the call began
	req    Request
	op     rootbound.Operation // as the record has it
	use    *authority.Use
	snap   *authority.Snapshot

	grant   int // of the object or entry, as named
	place   spelling.Place
	project *rootbound.Project // innermost
	rel     string             // reached path inside the project
	need    rootbound.Rights
	j       judge.Judge

	obj    *beneath.Object
	entry  *beneath.Entry
	dest   *beneath.Entry
	src    beneath.Info // what a move, copy or deletion takes
	old    *beneath.Info
	unlock func()

	destProject *rootbound.Project
	destRel     string
	destAt      beneath.Ref // of dest, also where its parents are still missing

	light   bool            // the judgement before the lock: what takes long is left to the one under it
	missing *spelling.Place // whose parents are to be made once the decision is recorded
	made    int             // parents that were made

	weight      int // entries of the tree that was judged
	weightBytes int64

	lead  *Target // of a group, whose watch and lease are its first target's; nil: t itself
	group string  // correlation of a group's records
	kept  Kept
	undo  string

	staged  *beneath.Staged
	forget  func() // of the journal
	off     int64
	start   time.Time
	bytes   int64
	tally   judge.Tally
	stopped string

	rec                  facts.Sheet
	completed, committed bool
	allowed, recorded    atomic.Bool
	pulse                hang.Pulse
}

// touch tells the watch that the file system answered.
func (t *Target) touch() { t.head().pulse.Touch() }

func (t *Target) head() *Target {
	if t.lead != nil {
		return t.lead
	}
	return t
}

// Object is what exists and was checked: for reads what is read; for writes the file that would be replaced, nil if there
// is none; for mkdir the directory if it exists; for copies the source. Info and the identity in it are those of the very
// handle.
func (t *Target) Object() *beneath.Object { return t.obj }

// Entry is where a write or edit publishes, what a deletion removes, or the source of a move or copy; nil for reads and
// mkdir.
func (t *Target) Entry() *beneath.Entry { return t.entry }

// Dest is where a move or copy publishes.
func (t *Target) Dest() *beneath.Entry { return t.dest }

// Source describes what a move, copy or deletion takes: for a link that moves or goes, the link itself.
func (t *Target) Source() beneath.Info { return t.src }

// Project is the innermost project of the target: its rights and rules were applied. Not to be changed.
func (t *Target) Project() *rootbound.Project { return t.project }

// Path is the reached path inside Project.
func (t *Target) Path() string { return t.rel }

// Decision is the record's decision.
func (t *Target) Decision() Decision { return t.decide(nil) }

func (t *Target) decide(err error) Decision {
	d := Decision{ID: t.rec.ID, Rules: t.j.Rules, Path: t.rel}
	if t.project != nil {
		d.Project = t.project.ID
	}
	if e, ok := err.(*rootbound.Error); ok {
		d.Reason, d.Detail = e.Reason, e.Detail
	} else if err != nil {
		d.Reason = rootbound.InternalError
	}
	return d
}

// Stale is nil while the generation is current: one atomic load, for loops.
func (t *Target) Stale() error {
	if t.head().pulse.Abandoned() {
		return &rootbound.Error{Reason: rootbound.IOError, Detail: "the file system did not answer in time", Retryable: true}
	}
	return t.use.Stale()
}

// Info describes the object, the entry's object or the source of a move.
func (t *Target) Info() beneath.Info {
	if t.obj != nil {
		return t.obj.Info()
	}
	return t.src
}

// Identity is the key under which what was read of an object may be kept for later reads, and no part of it can be left
// out (contract §4.6): what one authority, one generation or one version of an object gave is for no other.
type Identity struct {
	Authority  string
	Generation rootbound.Generation
	Object     beneath.ObjectID
	Version    string // beneath.Info.Version
}

// Identity is that of the object, as it was when it was opened.
func (t *Target) Identity() Identity {
	info := t.Info()
	return Identity{t.snap.Authority, t.snap.Generation, info.ID, info.Version()}
}

// Read reads the object from its start, on and on. It fails as soon as the generation ends, also in the middle of a file.
func (t *Target) Read(p []byte) (int, error) {
	n, err := t.ReadAt(p, t.off)
	t.off += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadAt reads the object. It fails as soon as the generation ends.
func (t *Target) ReadAt(p []byte, off int64) (int, error) {
	if err := t.Stale(); err != nil {
		return 0, err
	}
	if t.obj == nil {
		return 0, refuse(rootbound.NotFound, "")
	}
	n, err := t.obj.ReadAt(p, off)
	t.touch()
	t.bytes += int64(n)
	return n, err
}

// Count adds to the bytes of the record, for work that does not read or write through the target.
func (t *Target) Count(n int64) { t.bytes += n }

// Stopped says in the record why a bounded or cancelled walk ended early.
func (t *Target) Stopped(why string) { t.stopped = why }

// view shows what lies below the object.
func (t *Target) view() *judge.View {
	return &judge.View{Judge: &t.j, Object: t.obj, Project: t.project, Rel: t.rel, Need: t.need, Tally: &t.tally, Go: func() error {
		t.touch()
		return t.Stale()
	}}
}

// Walk visits what lies below the object, in the order of beneath.Object.Walk, without what rights, rules and own files
// hide. It ends when the generation does. failed may be nil.
func (t *Target) Walk(ctx context.Context, visit func(*beneath.Node) (beneath.Step, error), failed func(rel string, err error)) error {
	return t.view().Tour(ctx, beneath.Course{Visit: visit, Failed: failed})
}

// Tour is Walk for those who want to know of directories too. What a directory opens is judged like what is visited, and
// by what it turns out to be.
func (t *Target) Tour(ctx context.Context, c beneath.Course) error { return t.view().Tour(ctx, c) }

// Sweep is Tour with files that are read by several workers, each judged when it was opened. Of an object that is a file,
// it is the only one.
func (t *Target) Sweep(ctx context.Context, s beneath.Sweep) error { return t.view().Sweep(ctx, s) }

// List visits the entries of the object after the name after, like Walk.
func (t *Target) List(ctx context.Context, after string, visit func(*beneath.Node) (beneath.Step, error)) error {
	return t.view().List(ctx, after, visit)
}

// Sight judges what a watch of the object may tell, for as long as the generation is current and beyond the end of the work.
// It holds the snapshot until its Close.
func (t *Target) Sight() *judge.Sight {
	return judge.NewSight(&t.j, t.use, t.grant, t.need|t.req.Need)
}

func (t *Target) keys() []beneath.Key {
	k := []beneath.Key{t.entry.Key()}
	if t.dest != nil {
		k = append(k, t.dest.Key())
	}
	return k
}

// drop closes what a judgement opened, so that it can be made anew.
func (t *Target) drop() {
	if t.obj != nil {
		t.obj.Close()
	}
	if t.entry != nil {
		t.entry.Close()
	}
	if t.dest != nil {
		t.dest.Close()
	}
	t.obj, t.entry, t.dest, t.src, t.old, t.j.Rules, t.missing = nil, nil, nil, beneath.Info{}, nil, nil, nil
	t.rec.Canonical = ""
}

// close ends the target: a file that was staged and not published is removed, the lock is given back.
func (t *Target) close() {
	t.dropKept()
	if t.staged != nil {
		t.staged.Close()
		if t.forget != nil {
			t.forget()
		}
		t.staged = nil
	}
	t.drop()
	if t.unlock != nil {
		t.unlock()
		t.unlock = nil
	}
}
