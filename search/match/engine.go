package match

import (
	"io"
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
	behind // not where the text begins, but one character later: what a match asks of the one in front of it is there
	variants
	whole = atBegin | atEnd
)

// engines holds the standard engine for lines and for parts of lines, by borders. In a part, '^' and '$' hold nowhere but
// at a true border of the line. With Word, and behind a character, the match is the first group.
type engines struct {
	text  [variants]string
	group [variants]int
	once  [variants]sync.Once
	re    [variants]*regexp.Regexp
}

func (e *engines) prepare(tree *syntax.Regexp, word bool) error {
	anchored := hasOp(tree, syntax.OpBeginLine, syntax.OpBeginText, syntax.OpEndLine, syntax.OpEndText)
	for i := range e.text {
		b := borders(i)
		t := tree
		if anchored && b != whole {
			t = cut(tree, b)
		}
		s := t.String()
		switch {
		case word:
			before, after := `[^`+wordClass+`]`, `[^`+wordClass+`]`
			if b&(atBegin|behind) == atBegin {
				before = `(?:^|` + before + `)`
			}
			if b&atEnd != 0 {
				after = `(?:` + after + `|$)`
			}
			s, e.group[i] = before+`(`+s+`)`+after, 1
		case b&behind != 0:
			s, e.group[i] = `(?s:.)(`+s+`)`, 1
		}
		e.text[i] = s
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
	if e.group[b] == 0 {
		return e.span(e.at(b).FindIndex(text), b)
	}
	return e.span(e.at(b).FindSubmatchIndex(text), b)
}

// read is find in what r gives.
func (e *engines) read(r io.RuneReader, b borders) (Span, bool) {
	if e.group[b] == 0 {
		return e.span(e.at(b).FindReaderIndex(r), b)
	}
	return e.span(e.at(b).FindReaderSubmatchIndex(r), b)
}

func (e *engines) span(loc []int, b borders) (Span, bool) {
	if loc == nil {
		return Span{}, false
	}
	return Span{loc[2*e.group[b]], loc[2*e.group[b]+1]}, true
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
		if b&(atBegin|behind) != atBegin {
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
