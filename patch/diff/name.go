package diff

import (
	"strconv"
	"strings"
)

// unquoted reads a name at the start of a header line's rest: quoted as git quotes it, or up to the line's end.
func unquoted(s string) (string, error) {
	s = strings.TrimSuffix(s, "\n")
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return strconv.Unquote(s[:i+1])
		}
	}
	return "", strconv.ErrSyntax
}

// cutTime takes off what GNU diff writes behind a name.
func cutTime(name string) string {
	name, _, _ = strings.Cut(name, "\t")
	return name
}

// strip takes the prefixes off a traditional header's names: a/ and b/ where they are there, one of them beside
// /dev/null; else the names are taken as they are.
func strip(old, new string) (string, string) {
	a, okA := strings.CutPrefix(old, "a/")
	b, okB := strings.CutPrefix(new, "b/")
	switch {
	case okA && (okB || new == devNull), okB && old == devNull:
		return a, b
	}
	return old, new
}
