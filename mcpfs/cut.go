package mcpfs

import (
	"github.com/rootbound/rootbound/mcpfs/wire"
	"github.com/rootbound/rootbound/search"
)

// cut says in structured data that an answer ended at place, at which bound, and how to go on: by the cursor it gives.
func (c call) cut(out *wire.Reply, bound, place string) (cursor string) {
	cursor = c.next(place)
	out.Cut, out.Next = true, map[string]any{"cursor": cursor}
	out.Add("cut_by", bound)
	return cursor
}

// whyCut says what ended a search, if it was not the number of matches.
func whyCut(why search.Cut) string {
	switch why {
	case search.CutText:
		return ", since more would not fit into one answer"
	case search.CutFiles:
		return ": not all was searched, since one answer looks into no more files"
	case search.CutBytes:
		return ": not all was searched, since one answer reads no more bytes"
	case search.CutTime:
		return ": not all was searched, since one answer takes no longer"
	}
	return ""
}

// none says that a page of a search has no matches.
func none(cursor string, more bool) string {
	what := "No matches found"
	if cursor != "" {
		what = "No more matches found"
	}
	if more {
		what += " so far"
	}
	return what
}

// clock starts the time that a walk may take and tells when it is over. stop must be called.
func (l *Limits) clock() (late func() bool, stop func()) {
	if l.late != nil {
		return l.late, func() {}
	}
	c := search.NewClock(l.SearchTime)
	return c.Late, c.Stop
}
