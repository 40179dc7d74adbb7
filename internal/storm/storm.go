// Package storm attacks a file boundary while it works and counts what comes out. It is used by tests only.
//
// A World holds a root and, beside it, a tree of the same shape that must stay untouched and unseen. Attackers exchange
// directories and files inside the root with links to their outside twins, as fast as the kernel allows, while workers
// call a Victim. Every answer and every error is searched for outside canaries, every acknowledged change is looked for
// where it must be, and the outside tree is compared in content, names, inodes, modes, owners and times afterwards.
//
// A storm that a path-based implementation would survive proves nothing: Naive is that implementation, and Report tells
// how much it leaks in the same storm.
package storm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Op is what a worker asks the victim to do.
type Op string

// The operations. A victim that lacks one answers errors.ErrUnsupported.
const (
	Read   Op = "read"
	Write  Op = "write" // create or replace
	Create Op = "create"
	Edit   Op = "edit" // replace Old by New, once
	Mkdir  Op = "mkdir"
	Move   Op = "move" // Path to To, nothing is overwritten
	Copy   Op = "copy" // the same; a directory with all it holds
	Delete Op = "delete"
	Append Op = "append" // Text, to what there is
	List   Op = "list"
	Stat   Op = "stat"
	Tree   Op = "tree"
)

// Call is one request. Paths are relative to the root.
type Call struct {
	Op       Op
	Path, To string
	Text     string // Write, Create, Append
	Old, New string // Edit
}

// Victim is what is attacked. Do gives all bytes that its caller would see, or an error for a refusal. It is called by
// several goroutines at once.
type Victim interface {
	Do(Call) (answer []byte, err error)
}

// Count counts the calls of one operation.
type Count struct{ OK, Denied, Leaked int64 }

// Report is what a storm brought.
type Report struct {
	Seed    uint64
	Elapsed time.Duration
	Swaps   int64 // changes made by the attackers
	Ops     map[Op]*Count
	Outside int      // differences of the outside tree
	Leaks   []string // the first of all kinds, described
}

// Total sums the operations.
func (r *Report) Total() Count {
	var t Count
	for _, c := range r.Ops {
		t.OK += c.OK
		t.Denied += c.Denied
		t.Leaked += c.Leaked
	}
	return t
}

// Calls is the number of calls that were answered at all.
func (r *Report) Calls() int64 { t := r.Total(); return t.OK + t.Denied }

// Leaked is how many calls showed or touched something outside.
func (r *Report) Leaked() int64 { return r.Total().Leaked + int64(r.Outside) }

// Fair checks that the storm was one: at least 20 % of the calls succeeded, 20 % were denied, and the attackers made at
// least one change for each call.
func (r *Report) Fair() error {
	t, n := r.Total(), r.Calls()
	var faults []string
	if n == 0 || t.OK*5 < n {
		faults = append(faults, "too few calls succeeded")
	}
	if n == 0 || t.Denied*5 < n {
		faults = append(faults, "too few calls were denied")
	}
	if r.Swaps < n {
		faults = append(faults, "too few swaps")
	}
	if faults == nil {
		return nil
	}
	return fmt.Errorf("no storm: %s: %s", strings.Join(faults, ", "), r)
}

// Clean checks that nothing leaked.
func (r *Report) Clean() error {
	if r.Leaked() == 0 {
		return nil
	}
	return fmt.Errorf("%d leaks: %s\n%s", r.Leaked(), r, strings.Join(r.Leaks, "\n"))
}

// Check is Fair and Clean.
func (r *Report) Check() error { return errors.Join(r.Fair(), r.Clean()) }

// String is one line of figures.
func (r *Report) String() string {
	t, n := r.Total(), max(r.Calls(), 1)
	s := fmt.Sprintf("seed %d, %s: %d calls, %d ok (%d %%), %d denied (%d %%), %.1f swaps a call, %d leaked (%.2f %%), %d differences outside;",
		r.Seed, r.Elapsed.Round(time.Millisecond), n, t.OK, t.OK*100/n, t.Denied, t.Denied*100/n, float64(r.Swaps)/float64(n),
		t.Leaked, float64(r.Leaked())*100/float64(n), r.Outside)
	for _, op := range []Op{Read, Write, Create, Edit, Mkdir, Move, Copy, Delete, Append, List, Stat, Tree} {
		if c := r.Ops[op]; c != nil && c.OK+c.Denied > 0 {
			s += fmt.Sprintf(" %s %d/%d", op, c.OK, c.OK+c.Denied)
		}
	}
	return s
}
