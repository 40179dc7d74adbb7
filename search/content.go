package search

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/search/match"
)

// DefaultText is how many bytes of lines one page holds.
const DefaultText = 1 << 20

// Sweeper walks what lies below a directory and reads its files by several workers: *guard.Target and *beneath.Object. Of
// what is a file, it reads that one.
type Sweeper interface {
	Sweep(ctx context.Context, s beneath.Sweep) error
}

// Filter tells entries by their path relative to what is searched; Excludes is one. Safe for concurrent use.
type Filter interface {
	None() bool // it means nothing
	Match(rel string) bool
}

// ContentOptions bound a content search. Zero numbers: no bound, but for Limit and MaxText.
type ContentOptions struct {
	Include        Filter // the files that are looked at; nil, or one that means nothing: all
	Exclude        Filter // entries left out, with what lies below them; nil: nothing
	IncludeIgnored bool   // what .gitignore and .ignore files leave out is searched too, and .git (see Ignores)

	Context  int           // lines before and after each hit, 0 to match.MaxContext
	Limit    int           // hits of a page; 0: DefaultHits
	MaxText  int           // bytes of the page as text, with each line's path; 0: DefaultText. One hit is always given
	Prefix   int           // bytes that stand before each path in that text
	MaxFiles int64         // that are opened; looked at after each run of files (beneath.Run)
	MaxBytes int64         // that are read, ignore files included, looked at likewise; a file of more is left out and named in Skipped
	Time     time.Duration // a file that it ends in is left out and named in Skipped

	Cursor string // Next of the page before; empty: the first
	Step   func() // told of every entry that is looked at, by the goroutine that called Content; nil: nobody

	onLate func() // told when Time is over; nil: nobody
}

// Cut says what ended a search before its end.
type Cut string

// What ends a search.
const (
	CutHits  Cut = "hits"
	CutText  Cut = "text" // bytes of the page's lines
	CutFiles Cut = "files"
	CutBytes Cut = "bytes"
	CutTime  Cut = "time"
)

// FileHits are the hits of one file, in their order.
type FileHits struct {
	Path     string // relative to what was searched, "" if that is a file; bytes as on disk
	Encoding match.Encoding
	Hits     []match.Hit
	InParts  bool // a line was too long to be searched at once (match.Stats)
}

// Skip is a file or directory that could not be read, or not to its end.
type Skip struct {
	Path   string           // relative to what was searched
	Reason rootbound.Reason // too_large: for the project or for MaxBytes; limit_reached: Time ended in it; else io_error
}

// ContentResult is one page, its files in the order of a depth-first walk by name bytes.
type ContentResult struct {
	Files     []FileHits
	Hits      int // in all of Files
	Truncated bool
	Why       Cut    // if Truncated
	Next      string // cursor of the next page, if Truncated

	Visited  int    // entries looked at, also some that the next page begins with
	Searched int    // files that were read to their end, or to the hit that ended the page
	Binary   int    // files that were left out for it, or whose rest was
	InParts  int    // files with a line that was too long to be searched at once (match.Stats)
	Bytes    int64  // read
	Skipped  []Skip // what could not be read, at most MaxSkips
	Skips    int    // how many there were
	Unread   Unread // ignore files that could not be honoured
}

// Content searches the lines of the files below a directory, or of one file, for m: files in the order of the walk, lines in
// theirs, however many workers read. Links are not followed. Files are read up to the size they had when they were
// opened, binary ones are left out. What a page gave is given again by no later one; what changed in between may be
// missed. Errors: cancelled, argument_invalid for a cursor that is none, and those of w.
func Content(ctx context.Context, w Sweeper, m *match.Matcher, o ContentOptions) (ContentResult, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultHits
	}
	if o.MaxText <= 0 {
		o.MaxText = DefaultText
	}
	from, err := parsePlace(o.Cursor)
	if err != nil {
		return ContentResult{}, err
	}
	c := &content{ctx: ctx, m: m, o: o, from: from, past: o.Cursor == "", last: from}
	for i := range c.workers {
		c.workers[i].use(c)
	}
	if o.Time > 0 {
		c.late = newClock(o.Time, o.onLate)
		defer c.late.Stop()
	}
	course := beneath.Course{Visit: c.visit, Failed: func(rel string, _ error) { c.skip(Skip{rel, rootbound.IOError}) }}
	if !o.IncludeIgnored {
		above, _ := w.(Above)
		if c.ignores, err = NewIgnores(ctx, above); err != nil {
			return ContentResult{}, failed(err)
		}
		course = c.ignores.Course(course)
	}
	course.Visit = c.onTheWay(course.Visit)
	err = w.Sweep(ctx, beneath.Sweep{Course: course, Work: c.work})
	if t, ok := w.(interface{ Count(int64) }); ok { // for the record
		t.Count(c.r.Bytes + c.ignores.Read())
	}
	if err != nil {
		return ContentResult{}, failed(err)
	}
	c.r.Unread = c.ignores.Unread()
	if c.stopped != "" && !c.r.Truncated {
		c.last = c.next
		_ = c.cut(c.stopped)
	}
	return c.r, nil
}

// content is the state of one search. What tells is called one at a time; work only reads it.
type content struct {
	ctx  context.Context
	m    *match.Matcher
	o    ContentOptions
	from place
	past bool   // the walk is behind from
	late *Clock // nil: no bound

	behind  int   // entries that were looked at since then
	stopped Cut   // what ended the walk on its way
	next    place // where that was
	ignores *Ignores

	files, rules atomic.Int64 // bytes read of them: what tells and the walk are two goroutines

	workers [beneath.MaxWorkers]worker
	r       ContentResult
	text    int   // bytes of the lines in r
	last    place // up to where the search is done
}

func (c *content) skip(s Skip) {
	if c.r.Skips++; len(c.r.Skipped) < MaxSkips {
		c.r.Skipped = append(c.r.Skipped, s)
	}
}

// onTheWay counts entries, also those that visit is not shown, and stops a walk that meets nothing to search when the time
// is over.
func (c *content) onTheWay(visit func(*beneath.Node) (beneath.Step, error)) func(*beneath.Node) (beneath.Step, error) {
	return func(n *beneath.Node) (beneath.Step, error) {
		c.r.Visited++
		if c.o.Step != nil {
			c.o.Step()
		}
		if !c.past && order(n.Rel(), c.from.path) > 0 {
			c.past = true
		}
		c.rules.Store(c.ignores.Read())
		if c.past {
			if c.behind++; c.behind > 1 { // each page comes behind the one before
				why := c.spent()
				if why != "" {
					c.stopped, c.next = why, place{n.Rel(), 0}
					return beneath.Stop, nil
				}
			}
		}
		return visit(n)
	}
}

func (c *content) read() int64 { return c.files.Load() + c.rules.Load() }

// spent says what the way alone has used up: an entry may be dear to judge, and ignore files are read too.
func (c *content) spent() Cut {
	switch {
	case c.late.Late():
		return CutTime
	case c.o.MaxBytes > 0 && c.read() >= c.o.MaxBytes:
		return CutBytes
	}
	return ""
}

func (c *content) visit(n *beneath.Node) (beneath.Step, error) {
	dir := n.Type().IsDir()
	if !dir && !n.Type().IsRegular() {
		return beneath.Over, nil
	}
	if !c.past {
		rel := n.Rel()
		switch at := order(rel, c.from.path); {
		case at < 0 && !(dir && strings.HasPrefix(c.from.path, rel+"/")):
			return beneath.Over, nil // all of it was in the pages before
		case at == 0 && !dir && c.from.line < 0:
			return beneath.Over, nil
		case at >= 0:
			c.past = true
		}
	}
	if given(c.o.Exclude) && c.o.Exclude.Match(n.Rel()) {
		return beneath.Over, nil
	}
	if dir {
		return beneath.Into, nil
	}
	if given(c.o.Include) && !c.o.Include.Match(n.Rel()) {
		return beneath.Over, nil
	}
	return beneath.Take, nil
}

func given(f Filter) bool { return f != nil && !f.None() }

// take adds what a run gave to the page, in the order of the walk, and ends the search when that is full.
func (c *content) take(h *haul) error {
	r := &c.r
	if h.late != nil {
		h.why = CutTime
	}
	r.Searched += h.searched
	r.Binary += h.binary
	r.InParts += h.inParts
	r.Bytes += h.bytes
	c.files.Store(r.Bytes)
	for _, s := range h.skipped {
		c.skip(s)
	}
	for i := range h.files {
		if why := c.add(&h.files[i]); why != "" {
			return c.cut(why)
		}
	}
	if h.done {
		c.last = place{h.last, -1}
	}
	if h.late != nil && c.last == c.from { // or no page would ever come behind it
		c.skip(Skip{h.late.Path, rootbound.LimitReached})
		if why := c.add(h.late); why != "" {
			return c.cut(why)
		}
		c.last = place{h.late.Path, -1}
	}
	switch {
	case h.why != "":
		return c.cut(h.why)
	case c.o.MaxFiles > 0 && int64(r.Searched+r.Binary) >= c.o.MaxFiles:
		return c.cut(CutFiles)
	case c.o.MaxBytes > 0 && c.read() >= c.o.MaxBytes:
		return c.cut(CutBytes)
	case c.late.Late():
		return c.cut(CutTime)
	}
	return nil
}

// add adds the hits of one file as far as they fit.
func (c *content) add(f *FileHits) Cut {
	room := 0
	var why Cut
	for ; room < len(f.Hits) && why == ""; room++ {
		t := weigh(&f.Hits[room], len(f.Path)+c.o.Prefix)
		switch {
		case c.r.Hits == c.o.Limit:
			why = CutHits
		case c.r.Hits > 0 && c.text+t > c.o.MaxText:
			why = CutText
		default:
			c.r.Hits++
			c.text += t
			c.last = place{f.Path, f.Hits[room].Line}
			continue
		}
		break
	}
	if why != "" {
		f.Hits = f.Hits[:room]
	}
	if len(f.Hits) > 0 {
		c.r.Files = append(c.r.Files, *f)
	}
	return why
}

func (c *content) cut(why Cut) error {
	c.r.Truncated, c.r.Why, c.r.Next = true, why, c.last.String()
	return beneath.ErrEnough
}
