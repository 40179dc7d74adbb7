package match

import (
	"regexp"
	"regexp/syntax"
	"sync"
)

// wordClass is what rg -w takes for a word character: Alphabetic, marks, decimal digits, connectors and joiners.
const wordClass = `\pL\pM\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}`

// borders say whether a text that is matched begins and ends where its line does.
type borders uint8

const (
	atBegin borders = 1 << iota
	atEnd
	whole = atBegin | atEnd
)

// engines holds the standard engine for lines and for parts of lines. In a part, '^' and '$' hold nowhere but at a
// true border of the line.
type engines struct {
	text  [4]string
	once  [4]sync.Once
	re    [4]*regexp.Regexp
	group int // of the match itself: 1 with Word, where group 0 takes in the characters beside it
}

func (e *engines) prepare(tree *syntax.Regexp, word bool) error {
	anchored := hasOp(tree, syntax.OpBeginLine, syntax.OpBeginText, syntax.OpEndLine, syntax.OpEndText)
	for b := range e.text {
		t := tree
		if anchored && borders(b) != whole {
			t = cut(tree, borders(b))
		}
		s := t.String()
		if word {
			before, after := `[^`+wordClass+`]`, `[^`+wordClass+`]`
			if borders(b)&atBegin != 0 {
				before = `(?:^|` + before + `)`
			}
			if borders(b)&atEnd != 0 {
				after = `(?:` + after + `|$)`
			}
			s = before + `(` + s + `)` + after
			e.group = 1
		}
		e.text[b] = s
	}
	re, err := regexp.Compile(e.text[whole])
	if err != nil {
		return err
	}
	e.once[whole].Do(func() { e.re[whole] = re })
	return nil
}

func (e *engines) at(b borders) *regexp.Regexp {
	e.once[b].Do(func() {
		if e.text[b] == e.text[whole] {
			e.re[b] = e.re[whole]
			return
		}
		e.re[b] = regexp.MustCompile(e.text[b]) // the whole one compiled: this one differs by what cannot match
	})
	return e.re[b]
}

// find is the leftmost match in text, ok false for none.
func (e *engines) find(text []byte, b borders) (Span, bool) {
	re := e.at(b)
	if e.group == 0 {
		loc := re.FindIndex(text)
		if loc == nil {
			return Span{}, false
		}
		return Span{loc[0], loc[1]}, true
	}
	loc := re.FindSubmatchIndex(text)
	if loc == nil {
		return Span{}, false
	}
	return Span{loc[2], loc[3]}, true
}

func hasOp(re *syntax.Regexp, ops ...syntax.Op) bool {
	for _, op := range ops {
		if re.Op == op {
			return true
		}
	}
	for _, sub := range re.Sub {
		if hasOp(sub, ops...) {
			return true
		}
	}
	return false
}

// cut is a copy of the tree in which anchors match nothing where the border is none of the line.
func cut(re *syntax.Regexp, b borders) *syntax.Regexp {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpBeginText:
		if b&atBegin == 0 {
			return &syntax.Regexp{Op: syntax.OpNoMatch}
		}
	case syntax.OpEndLine, syntax.OpEndText:
		if b&atEnd == 0 {
			return &syntax.Regexp{Op: syntax.OpNoMatch}
		}
	}
	c := *re
	c.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		c.Sub[i] = cut(sub, b)
	}
	return &c
}
