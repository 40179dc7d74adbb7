package search

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// DefaultHits is how many hits one page holds (contract §6).
const DefaultHits = 100

// MaxSkips is how many unreadable places a result names; more are only counted.
const MaxSkips = 20

// Walker visits what lies below a directory, depth first in byte order of names: *guard.Target and *beneath.Object.
type Walker interface {
	Tour(ctx context.Context, c beneath.Course) error
}

// Hit is one entry that matches.
type Hit struct {
	Path string // relative to the directory that was searched; bytes as on disk
	Dir  bool
}

// Options of a search.
type Options struct {
	Exclude Excludes               // entries left out, with what lies below them
	Limit   int                    // hits of a page; 0: DefaultHits
	MaxText int                    // bytes of the page as text, a line for each path; 0: DefaultText. One hit is always given
	Prefix  int                    // bytes that stand before each path in that text
	Cursor  string                 // Next of the page before; empty: the first
	Step    func()                 // told of every entry that is looked at; nil: nobody
	Ignores *Ignores               // leaves out what ignore files say; nil: nothing is left out by them
	Late    func() bool            // asked behind each entry: true ends the page there (Clock.Late); nil: nobody
	Widen   func() (narrow func()) // beneath.Course.Widen
}

// Result is one page of hits, in the order of a depth-first walk by name bytes.
type Result struct {
	Hits      []Hit
	Truncated bool
	Why       Cut    // if Truncated: CutHits, CutText or CutTime
	Next      string // cursor of the next page

	Visited int      // entries looked at
	Skipped []string // directories that could not be read, relative, at most MaxSkips
	Skips   int      // how many there were
}

// Files walks a directory and gives what matches: files, directories, and links whose target is inside. Links are not
// followed. Directories that cannot be read are skipped and reported. Each page comes at least one entry behind the one
// before, also where it has no hits. Errors: cancelled, and those of w.
func Files(ctx context.Context, w Walker, p *Pattern, o Options) (Result, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultHits
	}
	if o.MaxText <= 0 {
		o.MaxText = DefaultText
	}
	f := &names{p: p, o: o, quick: o.Exclude.None() && p.LastNameOnly(), anchored: p.Anchored(), behind: o.Cursor == ""}
	c := beneath.Course{Visit: f.visit, Ahead: f.ahead, Widen: o.Widen, Failed: func(rel string, _ error) {
		if f.r.Skips++; len(f.r.Skipped) < MaxSkips {
			f.r.Skipped = append(f.r.Skipped, rel)
		}
	}}
	if o.Ignores != nil {
		c = o.Ignores.Course(c)
	}
	c.Visit = f.onTheWay(c.Visit)
	if err := w.Tour(ctx, c); err != nil {
		return Result{}, failed(err)
	}
	return f.r, nil
}

// names is the state of one search.
type names struct {
	p        *Pattern
	o        Options
	quick    bool // the last name alone decides
	anchored bool
	behind   bool // the walk is behind the cursor
	text     int  // bytes of the lines in r
	r        Result
}

// onTheWay counts, goes where the page before ended without asking what entries on the way there match, which was done, and
// ends the page when the time is over: also among entries that visit is not shown.
func (f *names) onTheWay(visit func(*beneath.Node) (beneath.Step, error)) func(*beneath.Node) (beneath.Step, error) {
	return func(n *beneath.Node) (beneath.Step, error) {
		f.r.Visited++
		if f.o.Step != nil {
			f.o.Step()
		}
		if !f.behind {
			rel := n.Rel()
			at := order(rel, f.o.Cursor)
			switch {
			case at < 0 && strings.HasPrefix(f.o.Cursor, rel+"/"):
				return beneath.Into, nil
			case at < 0: // all of it was in the pages before
				return beneath.Over, nil
			}
			f.behind = at > 0
		}
		next, err := visit(n)
		if err == nil && next != beneath.Stop && f.behind && f.o.Late != nil && f.o.Late() {
			return f.cut(CutTime, n.Rel())
		}
		return next, err
	}
}

func (f *names) visit(n *beneath.Node) (beneath.Step, error) {
	if f.quick && (!f.behind || !f.p.MatchName(n.Name())) {
		return beneath.Into, nil
	}
	rel := n.Rel()
	next := beneath.Into
	if f.anchored && n.Type().IsDir() && !f.p.MayHold(rel) {
		next = beneath.Over
	}
	if !f.o.Exclude.None() && f.o.Exclude.Match(rel) {
		return beneath.Over, nil
	}
	if !f.behind || !f.p.Match(rel) {
		return next, nil
	}
	if n.Type()&fs.ModeSymlink != 0 {
		if _, inside := n.Target(); !inside {
			return next, nil
		}
	}
	line, last := f.o.Prefix+len(rel)+1, len(f.r.Hits)-1
	switch {
	case last+1 == f.o.Limit:
		return f.cut(CutHits, f.r.Hits[last].Path)
	case last >= 0 && f.text+line > f.o.MaxText:
		return f.cut(CutText, f.r.Hits[last].Path)
	}
	f.text += line
	f.r.Hits = append(f.r.Hits, Hit{Path: rel, Dir: n.Type().IsDir()})
	return next, nil
}

// ahead tells of a directory whether the walk will go into it.
func (f *names) ahead(n *beneath.Node) bool {
	if f.quick && f.behind {
		return true
	}
	rel := n.Rel()
	if !f.behind && order(rel, f.o.Cursor) < 0 {
		return strings.HasPrefix(f.o.Cursor, rel+"/")
	}
	return !(f.anchored && !f.p.MayHold(rel)) && (f.o.Exclude.None() || !f.o.Exclude.Match(rel))
}

func (f *names) cut(why Cut, next string) (beneath.Step, error) {
	f.r.Truncated, f.r.Why, f.r.Next = true, why, next
	return beneath.Stop, nil
}

// order compares two paths in the order of the walk: name by name, a directory before what it holds. The name that ends
// first comes first, so "/" counts as less than any byte of a name.
func order(a, b string) int {
	const block = 64
	i, n := 0, min(len(a), len(b))
	for n-i >= block && a[i:i+block] == b[i:i+block] { // deep down, paths have nearly all in common
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	switch {
	case i == len(a) || i == len(b):
		return cmp.Compare(len(a), len(b))
	case a[i] == '/':
		return -1
	case b[i] == '/':
		return 1
	}
	return cmp.Compare(a[i], b[i])
}

func failed(err error) error {
	var e *rootbound.Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &rootbound.Error{Reason: rootbound.Cancelled, Err: err}
	}
	return &rootbound.Error{Reason: rootbound.IOError, Err: err}
}
