package glob

import (
	"strings"
	"unicode/utf8"
)

type nameKind uint8

const (
	literal nameKind = iota // text
	suffix                  // "*" and text
	prefix                  // text and "*"
	tokens                  // everything else
)

// name tests one name of a path.
type name struct {
	kind   nameKind
	text   string
	tokens []token
}

type tokenKind uint8

const (
	text tokenKind = iota
	star
	one
	class
)

type token struct {
	kind  tokenKind
	text  string
	class *charClass
}

// compileName reads a pattern for one name, false for one that can match nothing.
func compileName(s string, b *budget) (name, bool) {
	var toks []token
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			toks = append(toks, token{kind: text, text: lit.String()})
			lit.Reset()
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i+1 < len(s) {
				i++
			}
			lit.WriteByte(s[i])
		case '*':
			flush()
			if len(toks) == 0 || toks[len(toks)-1].kind != star {
				toks = append(toks, token{kind: star})
			}
		case '?':
			flush()
			toks = append(toks, token{kind: one})
		case '[':
			cl, n, ok := parseClass(s[i:])
			if n == 0 {
				if !b.read(16 * (len(s) - i)) {
					return name{}, false
				}
				lit.WriteByte(c)
				continue
			}
			if !ok {
				return name{}, false
			}
			flush()
			toks = append(toks, token{kind: class, class: cl})
			i += n - 1
		default:
			lit.WriteByte(c)
		}
	}
	flush()
	switch {
	case len(toks) == 1 && toks[0].kind == text:
		return name{kind: literal, text: toks[0].text}, true
	case len(toks) == 1 && toks[0].kind == star:
		return name{kind: suffix}, true
	case len(toks) == 2 && toks[0].kind == star && toks[1].kind == text:
		return name{kind: suffix, text: toks[1].text}, true
	case len(toks) == 2 && toks[0].kind == text && toks[1].kind == star:
		return name{kind: prefix, text: toks[0].text}, true
	}
	return name{kind: tokens, tokens: toks}, b.take(&b.parts, len(toks))
}

func (n *name) match(s string) bool {
	switch n.kind {
	case literal:
		return s == n.text
	case suffix:
		return strings.HasSuffix(s, n.text)
	case prefix:
		return strings.HasPrefix(s, n.text)
	}
	return matchTokens(n.tokens, s)
}

// matchTokens tries again behind the last star only.
func matchTokens(toks []token, s string) bool {
	i := 0
	again, from := -1, ""
	for {
		if i == len(toks) {
			if s == "" {
				return true
			}
		} else {
			t := &toks[i]
			switch t.kind {
			case star:
				i++
				if i == len(toks) {
					return true
				}
				again, from = i, s
				continue
			case text:
				if rest, ok := strings.CutPrefix(s, t.text); ok {
					i, s = i+1, rest
					continue
				}
			case one, class:
				if s != "" {
					r, n := utf8.DecodeRuneInString(s)
					if t.kind == one || t.class.match(r) {
						i, s = i+1, s[n:]
						continue
					}
				}
			}
		}
		if again < 0 || from == "" {
			return false
		}
		_, n := utf8.DecodeRuneInString(from)
		from = from[n:]
		i, s = again, from
	}
}
