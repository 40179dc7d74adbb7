package glob

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// charClass is a set of characters.
type charClass struct {
	negate bool
	ranges []runeRange
	named  []namedClass
}

type runeRange struct{ low, high rune }

func (c *charClass) match(r rune) bool {
	for _, x := range c.ranges {
		if x.low <= r && r <= x.high {
			return !c.negate
		}
	}
	for _, n := range c.named {
		if n.has(r) {
			return !c.negate
		}
	}
	return c.negate
}

// namedClass is a POSIX class by its name.
type namedClass string

const classNames = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit"

func (n namedClass) has(r rune) bool {
	switch n {
	case "alnum":
		return unicode.In(r, unicode.L, unicode.Nl, unicode.Nd)
	case "alpha":
		return unicode.In(r, unicode.L, unicode.Nl)
	case "ascii":
		return r < utf8.RuneSelf
	case "blank":
		return r == '\t' || unicode.Is(unicode.Zs, r)
	case "cntrl":
		return unicode.Is(unicode.Cc, r)
	case "digit":
		return unicode.Is(unicode.Nd, r)
	case "graph":
		return !unicode.In(r, unicode.Z, unicode.C) && assigned(r)
	case "lower":
		return unicode.Is(unicode.Ll, r)
	case "print":
		return !unicode.Is(unicode.C, r) && assigned(r)
	case "punct":
		return unicode.Is(unicode.P, r)
	case "space":
		return unicode.Is(unicode.Z, r) || strings.ContainsRune("\t\r\n\v\f", r)
	case "upper":
		return unicode.Is(unicode.Lu, r)
	case "word":
		return unicode.In(r, unicode.L, unicode.Nl, unicode.Nd, unicode.Pc)
	case "xdigit":
		return strings.ContainsRune("0123456789abcdefABCDEF", r)
	}
	return false
}

// assigned reports that a character has a category: \p{C} of other engines counts those that have none.
func assigned(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C)
}

// parseClass reads a class at the start of s, which begins with "[". n is its length, 0 if "[" is only a character; ok is
// false for a class that is none, with which the whole name matches nothing.
func parseClass(s string) (c *charClass, n int, ok bool) {
	c = &charClass{}
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		c.negate = true
		i++
	}
	broken := false
	first := true
	low := rune(-1) // start of a range that waits for its end
	for i < len(s) {
		if s[i] == '/' {
			return nil, 0, false // names hold none, so the class never ends
		}
		if s[i] == ']' && !first {
			if len(c.ranges) == 0 && len(c.named) == 0 {
				broken = true
			}
			return c, i + 1, !broken
		}
		first = false
		escaped := false
		if s[i] == '\\' && i+1 < len(s) {
			escaped = true
			i++
		}
		if s[i] == '[' && !escaped {
			const longest = len(":xdigit:]") // or a class that never ends would be read again from each "["
			if name, _, found := strings.Cut(s[i+1:min(len(s), i+1+longest)], ":]"); found && strings.HasPrefix(name, ":") && isClass(name[1:]) {
				if low >= 0 {
					broken = true
				}
				low = -1
				c.named = append(c.named, namedClass(name[1:]))
				i += 1 + len(name) + len(":]")
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case low >= 0:
			if r >= low {
				c.ranges = append(c.ranges, runeRange{low, r})
			}
			low = -1
		case strings.HasPrefix(s[i:], "-]"):
			c.ranges = append(c.ranges, runeRange{r, r}, runeRange{'-', '-'})
			i++
		case strings.HasPrefix(s[i:], "-"):
			low = r
			i++
		default:
			c.ranges = append(c.ranges, runeRange{r, r})
		}
	}
	return nil, 0, false
}

func isClass(s string) bool {
	for _, n := range strings.Fields(classNames) {
		if n == s {
			return true
		}
	}
	return false
}
