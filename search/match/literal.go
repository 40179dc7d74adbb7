package match

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"
)

// How rare bytes are in program text and prose, as -log2 of their share, measured over Go's sources, modules and
// /usr/share/doc. What is not listed is rarer.
var commonness = [...]struct {
	bits  int
	bytes string
}{
	{3, " "},
	{5, "etrnaiso\n"},
	{6, "\tl0cd,puf/hxm.\""},
	{7, "g()=b1TS_AEy><:2I-CvR"},
	{8, "{}OwP4k3NLD6F8MB597"},
	{9, "*GHU[]`;VjY'W\\#z"},
	{10, "+!X&qK%$|"},
}

const rarest = 12

func bits(c byte) int {
	for _, g := range commonness {
		if strings.IndexByte(g.bytes, c) >= 0 {
			return g.bits
		}
	}
	if c >= utf8.RuneSelf {
		return 10
	}
	return rarest
}

// share is how much of a text a byte makes up.
func share(c byte) float64 { return 1 / float64(uint(1)<<bits(c)) }

// literal is a text to look for. It finds the rarest of its bytes first: bytes.IndexByte is the fastest loop there is.
type literal struct {
	text []byte // in lower case with fold
	fold bool   // ASCII letters match both cases; the text then is ASCII without k and s, which have a third one
	rare int    // index of the rarest byte
	next int    // index of the rarest byte but for that
	keys [2]byte
	sum  int // bits of all bytes: how rarely it will be found
}

func newLiteral(text string, fold bool) literal {
	l := literal{text: []byte(text), fold: fold}
	best, second := -1, -1
	for i, c := range l.text {
		n := bits(c)
		if fold && isLetter(c) {
			n = min(n, bits(c&^0x20)) - 1
		}
		l.sum += n
		switch {
		case n > best:
			best, second, l.rare, l.next = n, best, i, l.rare
		case n > second:
			second, l.next = n, i
		}
	}
	if len(l.text) > 0 {
		c := l.text[l.rare]
		l.keys = [2]byte{c, c}
		if fold && isLetter(c) {
			l.keys[1] = c &^ 0x20
		}
	}
	return l
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

const nowhere = math.MaxInt

// cursor remembers where the keys of a literal stand next in one text, so that no byte of it is looked at twice.
type cursor struct{ at [2]int }

func (c *cursor) reset() { c.at = [2]int{-1, -1} }

// index is the first place at or behind low where l begins in text, nowhere if there is none.
func (l *literal) index(text []byte, low int, c *cursor) int {
	if l.keys[0] == l.keys[1] {
		return l.plain(text, low)
	}
	i := low + l.rare
	for {
		for k, key := range l.keys {
			if c.at[k] < i {
				c.at[k] = indexFrom(text, i, key)
			}
		}
		i = min(c.at[0], c.at[1])
		if i == nowhere {
			return nowhere
		}
		start := i - l.rare
		if start+len(l.text) > len(text) {
			return nowhere
		}
		if l.equal(text[start : start+len(l.text)]) {
			return start
		}
		i++
	}
}

// plain is index where the rarest byte has one form. Where that byte turns out to be common, the search of the standard
// library, which compares more bytes at once, takes over.
func (l *literal) plain(text []byte, low int) int {
	if len(l.text) == 1 {
		return indexFrom(text, low, l.keys[0])
	}
	i := low + l.rare
	for misses := 0; ; {
		i = indexFrom(text, i, l.keys[0])
		if i == nowhere {
			return nowhere
		}
		start := i - l.rare
		if start+len(l.text) > len(text) {
			return nowhere
		}
		if l.equal(text[start : start+len(l.text)]) {
			return start
		}
		i++
		if misses++; misses > 8 && i-low < 32*misses && !l.fold {
			if n := bytes.Index(text[start+1:], l.text); n >= 0 {
				return start + 1 + n
			}
			return nowhere
		}
	}
}

func indexFrom(text []byte, from int, c byte) int {
	if from >= len(text) {
		return nowhere
	}
	if n := bytes.IndexByte(text[from:], c); n >= 0 {
		return from + n
	}
	return nowhere
}

// equal compares p, which has the length of l.
func (l *literal) equal(p []byte) bool {
	if !l.fold {
		return p[l.next] == l.text[l.next] && string(p) == string(l.text)
	}
	if !same(p[l.next], l.text[l.next]) {
		return false
	}
	for i, c := range l.text {
		if !same(p[i], c) {
			return false
		}
	}
	return true
}

// same compares a byte with one in lower case.
func same(a, lower byte) bool {
	return a == lower || isLetter(lower) && a|0x20 == lower
}
