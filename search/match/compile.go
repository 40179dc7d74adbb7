package match

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/search/match/automaton"
)

// Bounds of one pattern.
const (
	MaxPattern = 16 << 10 // bytes
	maxInsts   = 5000     // instructions of the compiled form
)

// Options say how the text of a pattern is meant.
type Options struct {
	Literal    bool // the text itself, not a regular expression
	IgnoreCase bool // letters match what they fold to (Unicode simple folding)
	Word       bool // a match neither begins nor ends beside a word character (Unicode: letters, marks, digits, connectors)
}

// Matcher is a compiled pattern. It is safe for concurrent use; what a search has to remember stands in its Buffer.
type Matcher struct {
	tree *syntax.Regexp // what is searched, without the borders of Word
	word bool
	cost int // instructions of the engine

	need    []literal // one of them stands in every line that matches; nil: not known
	exact   bool      // and where it stands, it is the match (but for the borders of Word)
	filter  *automaton.Program
	engines engines
}

// Compile checks and compiles a pattern. The error is a *rootbound.Error argument_invalid whose Next says what to change.
func Compile(pattern string, o Options) (*Matcher, error) {
	switch {
	case len(pattern) > MaxPattern:
		return nil, invalid(fmt.Sprintf("pattern of %d bytes", len(pattern)), fmt.Sprintf("Send a pattern of at most %d bytes.", MaxPattern), nil)
	case !utf8.ValidString(pattern):
		return nil, invalid("pattern is not valid UTF-8", "Send the pattern as UTF-8 text.", nil)
	}
	text := pattern
	if o.Literal {
		text = regexp.QuoteMeta(pattern)
	}
	flags := syntax.Perl
	if o.IgnoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, refused(err)
	}
	if hasNewline(tree) {
		return nil, invalid("pattern with a newline", "A match lies within one line: search for one of the lines, and look at the others with context.", nil)
	}
	if size(tree) > maxInsts {
		return nil, tooComplex(nil)
	}
	m := &Matcher{tree: tree, word: o.Word}
	if err := m.engines.prepare(tree, o.Word); err != nil {
		return nil, tooComplex(err)
	}
	m.cost = size(tree)
	if l, ok := only(tree); ok {
		m.need, m.exact = []literal{l}, true
	} else {
		m.need = needed(tree)
	}
	if m.filter, err = automaton.Assemble(tree, o.Word); err != nil {
		return nil, tooComplex(err)
	}
	return m, nil
}

func invalid(detail, next string, err error) *rootbound.Error {
	return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: detail, Next: next, Err: err}
}

func tooComplex(err error) *rootbound.Error {
	return invalid("pattern compiles to too much", "Use fewer or smaller repetitions, or search for a literal part of it.", err)
}

// refused says in our words what the parser refuses.
func refused(err error) *rootbound.Error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return invalid("pattern", "Correct the pattern (RE2 syntax).", err)
	}
	detail := "pattern: " + string(e.Code) + " at " + rootbound.Quote(e.Expr)
	switch e.Code {
	case syntax.ErrInvalidRepeatSize:
		return invalid(detail, "Repeat at most 1000 times, repetitions inside repetitions multiplied.", err)
	case syntax.ErrLarge, syntax.ErrNestingDepth:
		return tooComplex(err)
	case syntax.ErrInvalidNamedCapture:
		if !strings.HasPrefix(e.Expr, "(?<=") && !strings.HasPrefix(e.Expr, "(?<!") { // read as the beginning of a name
			break
		}
		fallthrough
	case syntax.ErrInvalidPerlOp:
		return invalid(detail, "RE2 syntax has no look-around, no backreference and no possessive group: match more and look at the lines.", err)
	case syntax.ErrInvalidEscape:
		return invalid(detail, "RE2 syntax has no such escape (no backreference either); set literal for a text with backslashes.", err)
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingBracket, syntax.ErrMissingRepeatArgument, syntax.ErrTrailingBackslash:
		return invalid(detail, "Put a backslash before the character, or set literal to search for the text itself.", err)
	}
	return invalid(detail, "Correct the pattern (RE2 syntax), or set literal to search for the text itself.", err)
}

// hasNewline reports a newline that the pattern asks for. One that a class merely allows is no request.
func hasNewline(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && strings.ContainsRune(string(re.Rune), '\n') {
		return true
	}
	if re.Op == syntax.OpCharClass && len(re.Rune) == 2 && re.Rune[0] == '\n' && re.Rune[1] == '\n' {
		return true
	}
	for _, sub := range re.Sub {
		if hasNewline(sub) {
			return true
		}
	}
	return false
}

// size estimates the instructions before anything is compiled, so that a bomb costs nothing. It stops counting soon after
// the bound.
func size(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat:
		times := re.Max
		if times < 0 {
			times = re.Min + 1
		}
		return min(times*(size(re.Sub[0])+1)+1, 2*maxInsts)
	}
	for _, sub := range re.Sub {
		if n += size(sub) + 1; n > 2*maxInsts {
			return 2 * maxInsts
		}
	}
	return n
}
