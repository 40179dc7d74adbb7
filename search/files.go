package search

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

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
	Exclude Excludes // entries left out, with what lies below them
	Limit   int      // hits of a page; 0: DefaultHits
	Cursor  string   // Next of the page before; empty: the first
	Step    func()   // told of every entry that is looked at; nil: nobody
	Ignores *Ignores // leaves out what ignore files say; nil: nothing is left out by them

	Time   time.Duration // looked at behind each entry; 0: no bound
	onLate func()        // told when Time is over; nil: nobody
}

// Result is one page of hits, in the order of a depth-first walk by name bytes.
type Result struct {
	Hits      []Hit
	Truncated bool
	Why       Cut    // if Truncated: CutHits or CutTime
	Next      string // cursor of the next page

	Visited int      // entries looked at
	Skipped []string // directories that could not be read, relative, at most MaxSkips
	Skips   int      // how many there were
}

// Files walks a directory and gives what matches: files, directories, and links whose target is inside. Links are not
// followed. Directories that cannot be read are skipped and reported. Errors: cancelled, and those of w.
func Files(ctx context.Context, w Walker, p *Pattern, o Options) (Result, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultHits
	}
	var r Result
	byName := p.lastNameOnly()
	plain := o.Exclude.None() && o.Cursor == ""
	anchored := p.anchored()
	c := beneath.Course{Visit: func(n *beneath.Node) (beneath.Step, error) {
		r.Visited++
		if o.Step != nil {
			o.Step()
		}
		next := beneath.Into
		if plain && byName && !p.matchName(n.Name()) {
			return next, nil
		}
		rel := n.Rel()
		if anchored && n.Type().IsDir() && !p.mayHold(rel) {
			next = beneath.Over
		}
		if !o.Exclude.None() && o.Exclude.Match(rel) {
			return beneath.Over, nil
		}
		if o.Cursor != "" {
			switch c := order(rel, o.Cursor); {
			case c < 0 && !strings.HasPrefix(o.Cursor, rel+"/"):
				return beneath.Over, nil // all of it was in the pages before
			case c <= 0:
				return next, nil
			}
		}
		if !p.Match(rel) {
			return next, nil
		}
		if n.Type()&fs.ModeSymlink != 0 {
			if _, inside := n.Target(); !inside {
				return next, nil
			}
		}
		if len(r.Hits) == o.Limit {
			r.Truncated, r.Why, r.Next = true, CutHits, r.Hits[o.Limit-1].Path
			return beneath.Stop, nil
		}
		r.Hits = append(r.Hits, Hit{Path: rel, Dir: n.Type().IsDir()})
		return next, nil
	}, Failed: func(rel string, _ error) {
		if r.Skips++; len(r.Skipped) < MaxSkips {
			r.Skipped = append(r.Skipped, rel)
		}
	}}
	if o.Ignores != nil {
		c = o.Ignores.Course(c)
	}
	if o.Time > 0 {
		var late clock
		defer late.after(o.Time, o.onLate)()
		visit := c.Visit
		c.Visit = func(n *beneath.Node) (beneath.Step, error) {
			next, err := visit(n)
			if err == nil && next != beneath.Stop && late.Load() {
				if rel := n.Rel(); o.Cursor == "" || order(rel, o.Cursor) > 0 { // each page comes behind the one before
					r.Truncated, r.Why, r.Next = true, CutTime, rel
					return beneath.Stop, nil
				}
			}
			return next, err
		}
	}
	if err := w.Tour(ctx, c); err != nil {
		return Result{}, failed(err)
	}
	return r, nil
}

// order compares two paths in the order of the walk: name by name, a directory before what it holds.
func order(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, "/")
		y, restB, moreB := strings.Cut(b, "/")
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		switch {
		case !moreA && !moreB:
			return 0
		case !moreA:
			return -1
		case !moreB:
			return 1
		}
		a, b = restA, restB
	}
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
