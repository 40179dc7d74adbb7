package ignore

import "strings"

type op uint8

const (
	text op = iota // as it is
	one            // "?": any byte but "/"
	set            // "[…]": one byte, never "/"
	star           // "*": any bytes but "/"
	deep           // "**/": nothing, or anything that ends with "/"
	all            // "**" at the end or before an escaped "/": anything
)

type token struct {
	op   op
	text string
	set  *class
}

// class is a set of bytes.
type class [4]uint64

func (c *class) add(b byte)      { c[b>>6] |= 1 << (b & 63) }
func (c *class) has(b byte) bool { return c[b>>6]&(1<<(b&63)) != 0 }

// tokenSize is what a token takes, with its class or text.
const tokenSize = 64

// tokenize reads a pattern, false for one that can match nothing. Only in a bound pattern "**" is more than "*". It ends when
// there are more than most.
func tokenize(s string, bound bool, most int) ([]token, bool) {
	var toks []token
	var lit []byte
	flush := func() {
		if len(lit) > 0 {
			toks = append(toks, token{op: text, text: string(lit)})
			lit = lit[:0]
		}
	}
	for i := 0; i < len(s) && len(toks) <= most; {
		switch c := s[i]; c {
		case '\\':
			if i+1 == len(s) {
				return nil, false
			}
			lit = append(lit, s[i+1])
			i += 2
		case '?':
			flush()
			toks = append(toks, token{op: one})
			i++
		case '[':
			flush()
			cl, n := parseClass(s[i:])
			if n == 0 {
				return nil, false
			}
			toks = append(toks, token{op: set, set: cl})
			i += n
		case '*':
			flush()
			first := i
			for i < len(s) && s[i] == '*' {
				i++
			}
			whole := bound && i-first > 1 && (first == 0 || s[first-1] == '/')
			switch rest := s[i:]; {
			case whole && strings.HasPrefix(rest, "/"):
				toks = append(toks, token{op: deep})
				i++
			case whole && (rest == "" || strings.HasPrefix(rest, `\/`)):
				toks = append(toks, token{op: all})
			default:
				toks = append(toks, token{op: star})
			}
		default:
			lit = append(lit, c)
			i++
		}
	}
	flush()
	return toks, true
}

// parseClass reads "[…]" at the start of s; n is its length, 0 for one that never ends or names a class that does not exist:
// nothing matches a pattern with such a one.
func parseClass(s string) (c *class, n int) {
	c = &class{}
	i := 1
	negate := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negate {
		i++
	}
	before := 0 // start of a range that "-" would go on with; a range or a named class cannot begin one
	for first := true; ; first = false {
		if i == len(s) {
			return nil, 0
		}
		ch := s[i]
		switch {
		case ch == ']' && !first:
			if negate {
				for k := range c {
					c[k] = ^c[k]
				}
			}
			c['/'>>6] &^= 1 << ('/' & 63)
			return c, i + 1
		case ch == '\\':
			if i++; i == len(s) {
				return nil, 0
			}
			c.add(s[i])
			before = int(s[i])
		case ch == '-' && before > 0 && i+1 < len(s) && s[i+1] != ']':
			i++
			if s[i] == '\\' {
				if i++; i == len(s) {
					return nil, 0
				}
			}
			for b := before; b <= int(s[i]); b++ {
				c.add(byte(b))
			}
			before = 0
		case ch == '[' && strings.HasPrefix(s[i:], "[:"):
			end := strings.IndexByte(s[i+2:], ']')
			if end < 0 {
				return nil, 0
			}
			name, named := strings.CutSuffix(s[i+2:i+2+end], ":")
			if !named { // a "[" like any other
				c.add('[')
				before = '['
				break
			}
			if !c.addNamed(name) {
				return nil, 0
			}
			i += 2 + end
			before = 0
		default:
			c.add(ch)
			before = int(ch)
		}
		i++
	}
}

// addNamed adds a POSIX class, ASCII only; false if there is none of that name.
func (c *class) addNamed(name string) bool {
	var has func(byte) bool
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	alpha := func(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
	graph := func(b byte) bool { return '!' <= b && b <= '~' }
	switch name {
	case "alnum":
		has = func(b byte) bool { return alpha(b) || digit(b) }
	case "alpha":
		has = alpha
	case "blank":
		has = func(b byte) bool { return b == ' ' || b == '\t' }
	case "cntrl":
		has = func(b byte) bool { return b < ' ' || b == 0x7f }
	case "digit":
		has = digit
	case "graph":
		has = graph
	case "lower":
		has = func(b byte) bool { return 'a' <= b && b <= 'z' }
	case "print":
		has = func(b byte) bool { return graph(b) || b == ' ' }
	case "punct":
		has = func(b byte) bool { return graph(b) && !alpha(b) && !digit(b) }
	case "space": // git leaves vertical tab and form feed out
		has = func(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }
	case "upper":
		has = func(b byte) bool { return 'A' <= b && b <= 'Z' }
	case "xdigit":
		has = func(b byte) bool { return digit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }
	default:
		return false
	}
	for b := 1; b < 0x80; b++ {
		if has(byte(b)) {
			c.add(byte(b))
		}
	}
	return true
}

// matchTokens takes the earliest place behind each "*" and "**" and tries again behind the last of them only. That is enough:
// what lies between two stars matches at one place per name or not at all once it holds a "/", and what an earlier "**"
// could swallow, the later one can as well. So the steps are bounded by the square of the lengths; left bounds them for a whole
// question, and none left means no match.
func matchTokens(toks []token, s string, left *int) bool {
	i, p := 0, 0
	again, at := -1, 0     // behind the last "*", and where it was tried
	further, from := -1, 0 // behind the last "**", and where it was tried
	anywhere := false      // that "**" need not end with "/"
	for {
		if *left--; *left < 0 {
			return false
		}
		if i < len(toks) {
			switch t := &toks[i]; t.op {
			case text:
				if strings.HasPrefix(s[p:], t.text) {
					i, p = i+1, p+len(t.text)
					continue
				}
			case one:
				if p < len(s) && s[p] != '/' {
					i, p = i+1, p+1
					continue
				}
			case set:
				if p < len(s) && t.set.has(s[p]) {
					i, p = i+1, p+1
					continue
				}
			case star:
				i++
				if i == len(toks) {
					if strings.IndexByte(s[p:], '/') < 0 {
						return true
					}
					again = -1
					break
				}
				if p = seek(&toks[i], s, p); p >= 0 {
					again, at = i, p
					continue
				}
				again = -1
			case deep, all:
				if i++; t.op == all && i == len(toks) {
					return true
				}
				further, from, anywhere = i, p, t.op == all
				again = -1
				continue
			}
		} else if p == len(s) {
			return true
		}
		if again >= 0 && at < len(s) && s[at] != '/' {
			if at = seek(&toks[again], s, at+1); at >= 0 {
				i, p = again, at
				continue
			}
		}
		again = -1
		if further < 0 {
			return false
		}
		if anywhere {
			from++
		} else if n := strings.IndexByte(s[from:], '/'); n >= 0 {
			from += n + 1
		} else {
			return false
		}
		if from > len(s) {
			return false
		}
		i, p = further, from
	}
}

// seek finds the first place from p on, in the same name, where t can begin; -1 for none. It looks at the first byte only.
func seek(t *token, s string, p int) int {
	if t.op != text {
		return p
	}
	for ; p < len(s); p++ {
		if s[p] == t.text[0] {
			return p
		}
		if s[p] == '/' {
			return -1
		}
	}
	return -1
}
