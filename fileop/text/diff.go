package text

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
)

// DefaultDiff is the most bytes of a diff.
const DefaultDiff = 1 << 20

// diffContext is how many unchanged lines surround a change, as in the official server.
const diffContext = 4

const noNewline = "\\ No newline at end of file\n"

// Diff shows what changed between two texts in the form that clients of the official server know: a
// fenced block with an Index line, 67 "=", tabbed headers and unified hunks with counts always written. Line endings do
// not count. Equal texts give the headers alone. name is shown as it is but for control characters. The hunks take at
// most limit bytes (0: DefaultDiff); cut says that some are missing.
func Diff(name string, before, after []byte, limit int) (text string, cut bool) {
	if limit <= 0 {
		limit = DefaultDiff
	}
	name = rootbound.Clean(name)
	var b strings.Builder
	fmt.Fprintf(&b, "Index: %s\n%s\n--- %s\toriginal\n+++ %s\tmodified\n", name, strings.Repeat("=", 67), name, name)
	old, new := splitLines(unified(before)), splitLines(unified(after))
	limit += b.Len()
	for _, h := range hunksOf(runsOf(old, new)) {
		if cut = !h.write(&b, old, new, limit); cut {
			break
		}
	}
	body := b.String()
	fence := strings.Repeat("`", max(3, longestRun(body, '`')+1))
	return fence + "diff\n" + body + fence + "\n\n", cut
}

func unified(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte{'\n'}) }

func longestRun(s string, c byte) int {
	best, n := 0, 0
	for i := range len(s) {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		best = max(best, n)
	}
	return best
}

// splitLines keeps the newlines.
func splitLines(text []byte) []string {
	out := make([]string, 0, 1+bytes.Count(text, []byte{'\n'}))
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n') + 1
		if i == 0 {
			i = len(text)
		}
		out = append(out, string(text[:i]))
		text = text[i:]
	}
	return out
}

type runKind byte

const (
	same  runKind = ' '
	minus runKind = '-'
	plus  runKind = '+'
)

// run is count lines of one kind, from line old of the first text and line new of the second, counted from 0.
type run struct {
	kind            runKind
	old, new, count int
}

// hunk is runs that are shown together.
type hunk struct{ runs []run }

// hunksOf groups changes that have at most twice the context between them.
func hunksOf(runs []run) []hunk {
	var out []hunk
	var h *hunk
	for i, r := range runs {
		if r.kind != same {
			if h == nil {
				out = append(out, hunk{})
				h = &out[len(out)-1]
				if i > 0 {
					h.runs = append(h.runs, runs[i-1].last(diffContext))
				}
			}
			h.runs = append(h.runs, r)
			continue
		}
		if h == nil {
			continue
		}
		if r.count <= 2*diffContext && i < len(runs)-1 {
			h.runs = append(h.runs, r)
			continue
		}
		h.runs = append(h.runs, r.first(diffContext))
		h = nil
	}
	return out
}

func (r run) first(n int) run {
	r.count = min(r.count, n)
	return r
}

func (r run) last(n int) run {
	if over := r.count - n; over > 0 {
		r.old, r.new, r.count = r.old+over, r.new+over, n
	}
	return r
}

// write reports false, and writes nothing of the hunk, if b would grow beyond limit.
func (h hunk) write(b *strings.Builder, old, new []string, limit int) bool {
	var nOld, nNew, size int
	for _, r := range h.runs {
		if r.kind != plus {
			nOld += r.count
		}
		if r.kind != minus {
			nNew += r.count
		}
		for _, l := range r.lines(old, new) {
			size += len(l) + 1 // bytes that are not UTF-8 are shown as three
		}
	}
	if b.Len()+size > limit {
		return false
	}
	// a range without lines is numbered by the line before it
	lineOf := func(n, count int) int {
		if count == 0 {
			return n
		}
		return n + 1
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", lineOf(h.runs[0].old, nOld), nOld, lineOf(h.runs[0].new, nNew), nNew)
	for _, r := range h.runs {
		for _, l := range r.lines(old, new) {
			b.WriteByte(byte(r.kind))
			b.WriteString(strings.ToValidUTF8(l, string(utf8.RuneError)))
			if !strings.HasSuffix(l, "\n") {
				b.WriteString("\n" + noNewline)
			}
		}
	}
	return true
}

func (r run) lines(old, new []string) []string {
	if r.kind == plus {
		return new[r.new : r.new+r.count]
	}
	return old[r.old : r.old+r.count]
}
