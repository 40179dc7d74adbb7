package match

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is looked for in front of an engine.
const (
	maxNeeded = 4  // alternatives: each is a pass over the text
	minBits   = 10 // of each, below which the text is full of it
)

// needed are literals of which every line with a match holds at least one; nil if none is known that helps.
func needed(re *syntax.Regexp) []literal {
	all := alternatives(re)
	for _, l := range all {
		if l.sum < minBits {
			return nil
		}
	}
	return all
}

// alternatives finds the set of literals for re that promises the fewest hits.
func alternatives(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return best(runs(re))
	case syntax.OpCapture, syntax.OpPlus:
		return alternatives(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return alternatives(re.Sub[0])
		}
	case syntax.OpConcat:
		var sets [][]literal
		for _, sub := range joined(re.Sub) {
			if set := alternatives(sub); set != nil {
				sets = append(sets, set)
			}
		}
		return bestSet(sets)
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			set := alternatives(sub)
			if set == nil {
				return nil
			}
			for _, l := range set {
				if !slices.ContainsFunc(all, func(o literal) bool { return o.fold == l.fold && string(o.text) == string(l.text) }) {
					all = append(all, l)
				}
			}
		}
		if len(all) <= maxNeeded {
			return all
		}
	case syntax.OpCharClass: // [Ff] that was not written as folding, or one of few characters
		if folded, ok := bothCases(re); ok {
			return best([]literal{newLiteral(string(folded), true)})
		}
	}
	return nil
}

// joined puts literals that stand side by side in a concatenation into one, also through groups.
func joined(subs []*syntax.Regexp) []*syntax.Regexp {
	var out []*syntax.Regexp
	var add func(re *syntax.Regexp)
	add = func(re *syntax.Regexp) {
		switch re.Op {
		case syntax.OpCapture:
			if inner := re.Sub[0].Op; inner == syntax.OpLiteral || inner == syntax.OpConcat {
				add(re.Sub[0])
				return
			}
		case syntax.OpConcat:
			for _, sub := range re.Sub {
				add(sub)
			}
			return
		case syntax.OpEmptyMatch:
			return
		case syntax.OpLiteral:
			if n := len(out); n > 0 && out[n-1].Op == syntax.OpLiteral && (out[n-1].Flags^re.Flags)&syntax.FoldCase == 0 {
				out[n-1] = &syntax.Regexp{Op: syntax.OpLiteral, Flags: re.Flags, Rune: slices.Concat(out[n-1].Rune, re.Rune)}
				return
			}
		}
		out = append(out, re)
	}
	for _, sub := range subs {
		add(sub)
	}
	return out
}

// runs are the pieces of a literal that can be looked for byte by byte. With folding that is ASCII without k and s, since
// U+212A and U+017F fold to them. U+FFFD stands for any byte that is no UTF-8.
func runs(re *syntax.Regexp) []literal {
	fold := re.Flags&syntax.FoldCase != 0
	var out []literal
	var run []byte
	flush := func() {
		if len(run) > 0 {
			out = append(out, newLiteral(string(run), fold))
			run = nil
		}
	}
	for _, r := range re.Rune {
		switch {
		case r == utf8.RuneError:
			flush()
		case !fold:
			run = utf8.AppendRune(run, r)
		case r < utf8.RuneSelf && unicode.ToLower(r) != 'k' && unicode.ToLower(r) != 's':
			run = append(run, byte(unicode.ToLower(r)))
		case unicode.SimpleFold(r) == r:
			run = utf8.AppendRune(run, r)
		default:
			flush()
		}
	}
	flush()
	return out
}

// bothCases is the lower case letter of a class that is its two cases.
func bothCases(re *syntax.Regexp) (rune, bool) {
	if len(re.Rune) != 4 || re.Rune[0] != re.Rune[1] || re.Rune[2] != re.Rune[3] {
		return 0, false
	}
	upper, lower := re.Rune[0], re.Rune[2]
	return lower, lower < utf8.RuneSelf && isLetter(byte(lower)) && upper == lower&^0x20 && lower != 'k' && lower != 's'
}

func best(all []literal) []literal {
	if len(all) == 0 {
		return nil
	}
	return []literal{slices.MaxFunc(all, func(a, b literal) int { return a.sum - b.sum })}
}

// bestSet prefers the set whose most frequent member is rarest, and fewer members.
func bestSet(sets [][]literal) []literal {
	var out []literal
	value := 0
	for _, set := range sets {
		least := rarest * MaxPattern
		for _, l := range set {
			least = min(least, l.sum)
		}
		if v := least - 4*(len(set)-1); out == nil || v > value {
			out, value = set, v
		}
	}
	return out
}

// only is the literal that the pattern is, ok false if it is more than that. Every place it is found at is a match.
func only(re *syntax.Regexp) (l literal, ok bool) {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	all := joined([]*syntax.Regexp{re})
	if len(all) != 1 || all[0].Op != syntax.OpLiteral {
		return literal{}, false
	}
	pieces := runs(all[0])
	if len(pieces) != 1 {
		return literal{}, false
	}
	n := 0
	for range string(pieces[0].text) {
		n++
	}
	return pieces[0], n == len(all[0].Rune)
}
