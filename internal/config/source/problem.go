package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
)

// Problem is one mistake of a configuration: in a file with its place, or in a flag or variable, whose name File then is.
type Problem struct {
	File    string
	Line    int // from 1; 0: no place in a file
	Column  int // from 1, in characters
	Text    string
	Excerpt string // the line, and a caret below the place; ends with a line break

	Cause error // of the file system, if it is one
}

// Unwrap gives the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Error is "FILE:LINE:COLUMN: TEXT" and, below it, the excerpt.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	s := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
	if p.Excerpt != "" {
		s += "\n" + strings.TrimSuffix(p.Excerpt, "\n")
	}
	return s
}

// Position is a place in a file; the zero value is none.
type Position struct{ Line, Column int }

// Problems collects mistakes, so that a person sees all of them at once.
type Problems struct {
	File   string
	source []string
	Found  []*Problem
}

// NewProblems begins with none, for a file of that name and text.
func NewProblems(file string, source []byte) *Problems {
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(source)) // as the parser counts them
	return &Problems{File: file, source: strings.Split(lines, "\n")}
}

// At adds one at a place; the zero place is none.
func (p *Problems) At(pos Position, format string, args ...any) {
	p.Found = append(p.Found, &Problem{
		File: p.File, Line: pos.Line, Column: pos.Column,
		Text: rootbound.Clean(fmt.Sprintf(format, args...)), Excerpt: p.excerpt(pos),
	})
}

const longestLine = 160 // characters of a line that an excerpt shows

func (p *Problems) excerpt(pos Position) string {
	if pos.Line < 1 || pos.Line > len(p.source) {
		return ""
	}
	line := []rune(p.source[pos.Line-1])
	column := min(max(pos.Column, 1), len(line)+1)
	cut := ""
	if len(line) > longestLine {
		if column > longestLine {
			return "" // an excerpt without the place would only mislead
		}
		line, cut = line[:longestLine], "…"
	}
	number := fmt.Sprintf("%4d | ", pos.Line)
	var text, pad strings.Builder
	for i, r := range line {
		shown := string(r)
		if r == '\t' {
			shown = " "
		} else {
			shown = rootbound.Clean(shown)
		}
		text.WriteString(shown)
		if i < column-1 {
			pad.WriteString(strings.Repeat(" ", len([]rune(shown))))
		}
	}
	return number + text.String() + cut + "\n" + strings.Repeat(" ", len(number)-2) + "| " + pad.String() + "^\n"
}

// Err joins what was found in the order of the file; nil if nothing was.
func (p *Problems) Err() error {
	slices.SortStableFunc(p.Found, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	const most = 20
	var errs []error
	for i, f := range p.Found {
		if i == most {
			errs = append(errs, fmt.Errorf("%s: %d more problems", p.File, len(p.Found)-most))
			break
		}
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

// Nearest offers the word of words that was probably meant, as ": did you mean X?", or the list of them.
func Nearest(word string, words []string) string {
	best, distance := "", 3
	for _, w := range words {
		if d := edits(word, w); d < distance && d < len(w) {
			best, distance = w, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return "; known are " + strings.Join(words, ", ")
}

// edits is the number of characters to insert, remove or change to make b of a. Both are short.
func edits(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
