package search

import (
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
	"github.com/rootbound/rootbound/search/match"
)

// haul is what a run of files gave.
type haul struct {
	files    []FileHits
	skipped  []Skip
	searched int
	binary   int
	inParts  int
	bytes    int64
	hits     int
	text     int
	last     string // the file up to which all is in it, if done
	done     bool
	why      Cut       // what ended it before its end, but for hits and text
	late     *FileHits // the file in which the time ended
}

// work searches a run of files. It ends when the page must be full with what it has.
func (c *content) work(worker int, r *beneath.Run) (tell func() error, weight int) {
	h, w := &haul{}, &c.workers[worker]
	w.run, w.haul = r, h
	done := -1
	for i := range r.Len() {
		if h.hits > c.o.Limit || h.text > c.o.MaxText {
			break
		}
		if h.late != nil || c.late.Late() && (i > 0 || !r.First()) { // each page comes behind the one before
			h.why = CutTime
			break
		}
		if c.o.MaxBytes > 0 && h.bytes >= c.o.MaxBytes {
			h.why = CutBytes
			break
		}
		if err := w.search(i); err != nil {
			return func() error { return err }, 0
		}
		if h.late == nil {
			done = i
		}
	}
	if h.done = done >= 0; h.done {
		h.last = r.Rel(done)
	}
	if h.hits > 0 && r.Inside() != nil {
		h.files, h.hits, h.text = nil, 0, 0 // the directory is not where it was: nothing of it is told
	}
	return func() error { return c.take(h) }, h.text
}

// notThere are the refusals of what is not there any more, or not for this caller: no word of it.
func notThere(r rootbound.Reason) bool {
	switch r {
	case rootbound.NotFound, rootbound.PathUnresolvable, rootbound.SpecialFile, rootbound.IsADirectory, rootbound.RuleDenied:
		return true
	}
	return false
}

// worker is one that searches files. It is kept from file to file, so that one without a hit costs no allocation.
type worker struct {
	c      *content
	buffer match.Buffer
	hit    func(match.Hit) bool
	stop   func() error
	first  func() error // stop in the first file of the walk

	run   *beneath.Run
	haul  *haul
	file  int // of run
	after int // lines of it that the pages before gave
	found FileHits
	end   time.Time // of first
}

func (w *worker) use(c *content) {
	w.c, w.hit, w.stop, w.first = c, w.take, w.late, w.lateFirst
}

// search searches one file. Its error ends the search.
func (w *worker) search(i int) error {
	c, r, h := w.c, w.run, w.haul
	f, err := r.Open(i)
	switch reason := rootbound.ReasonOf(err); {
	case err == nil:
	case notThere(reason):
		return nil
	case reason == rootbound.TooLarge, reason == rootbound.IOError:
		h.skipped = append(h.skipped, Skip{r.Rel(i), reason})
		return nil
	default:
		return err
	}
	if c.o.MaxBytes > 0 && f.Size() > c.o.MaxBytes {
		h.skipped = append(h.skipped, Skip{r.Rel(i), rootbound.TooLarge})
		return nil
	}
	w.file, w.after, w.found = i, 0, FileHits{}
	if c.o.Cursor != "" {
		if rel := r.Rel(i); rel == c.from.path {
			if w.after = c.from.line; w.after < 0 {
				return nil
			}
		}
	}
	stop := w.stop
	if i == 0 && r.First() && c.o.Time > 0 {
		w.end, stop = time.Now().Add(c.o.Time), w.first
	}
	stats, err := match.Scan(c.ctx, f, c.m, match.ScanOptions{Context: c.o.Context, Size: f.Size(), Stop: stop}, &w.buffer, w.hit)
	h.bytes += stats.Bytes
	if stats.InParts {
		h.inParts++
	}
	w.found.Encoding, w.found.InParts = stats.Encoding, stats.InParts
	switch {
	case err == errLate:
		w.found.Path = r.Rel(i)
		late := w.found
		h.late = &late
		return nil
	case rootbound.ReasonOf(err) == rootbound.IOError: // what it gave so far counts
		h.skipped = append(h.skipped, Skip{r.Rel(i), rootbound.IOError})
	case err != nil:
		return err
	case stats.Binary:
		h.binary++
	default:
		h.searched++
	}
	if len(w.found.Hits) > 0 {
		h.files = append(h.files, w.found)
	}
	return nil
}

// take is told of each hit in the file.
func (w *worker) take(t match.Hit) (more bool) {
	if t.Line <= w.after {
		return true
	}
	o, h, found := &w.c.o, w.haul, &w.found
	if found.Path == "" {
		found.Path = w.run.Rel(w.file)
	}
	found.Hits = append(found.Hits, t)
	h.hits++
	h.text += weigh(&t, len(found.Path)+o.Prefix)
	return h.hits <= o.Limit && h.text <= o.MaxText
}

func (w *worker) late() error {
	if w.c.late.Late() {
		return errLate
	}
	return nil
}

// lateFirst gives the first file of the walk the whole time, however long the way to it was.
func (w *worker) lateFirst() error {
	if time.Now().After(w.end) {
		return errLate
	}
	return nil
}

var errLate error = late{}

type late struct{}

func (late) Error() string { return "the time is over" }

// weigh is what a hit takes as text, and in structured form, roughly: the greater of the two.
func weigh(h *match.Hit, path int) int {
	const numbers, span = 40, 24
	n := len(h.Text) + (1+len(h.Before)+len(h.After))*(path+numbers) + span*len(h.Spans)
	for _, s := range h.Before {
		n += len(s)
	}
	for _, s := range h.After {
		n += len(s)
	}
	return n
}
