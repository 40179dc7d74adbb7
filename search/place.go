package search

import (
	"strconv"
	"strings"

	"github.com/rootbound/rootbound"
)

// place is where a search is: behind a line of a file, or behind all of it.
type place struct {
	path string
	line int // -1: all of it
}

func (p place) String() string {
	if p.line < 0 {
		return "-:" + p.path
	}
	return strconv.Itoa(p.line) + ":" + p.path
}

// parsePlace reads a cursor. It is compared with what the walk meets and never opened, so that it may say what it likes.
func parsePlace(cursor string) (place, error) {
	if cursor == "" {
		return place{}, nil
	}
	line, path, ok := strings.Cut(cursor, ":")
	p := place{path, -1}
	if ok && line != "-" {
		n, err := strconv.ParseUint(line, 10, 31)
		p.line, ok = int(n), err == nil
	}
	if !ok {
		return place{}, &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: rootbound.NoCursor}
	}
	return p, nil
}
