package text

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
)

// Edit replaces Old by New. A "\n" of either stands for whatever ends the lines around it in the file.
type Edit struct {
	Old, New string
	All      bool // replace every occurrence; else there must be exactly one
}

// Applied says what one edit did.
type Applied struct {
	Line          int  // of the first place, counted from 1, in the text this edit met
	Count         int  // places replaced
	BlanksIgnored bool // Old was found only by ignoring blanks at both ends of its lines
}

// Misfit is the cause of an edit_no_match or edit_ambiguous (errors.As reaches it).
type Misfit struct {
	Edit    int   // index of the edit
	Count   int   // places found, counted up to maxPlaces
	Lines   []int // where, each line once and at most maxShown
	times   []int // how many of the places begin in each of Lines
	more    bool  // there are further lines
	Matched int   // leading lines of Old that stand in the file, blanks at their ends ignored, right above Near
	Near    []NearLine
}

// NearLine is a line of the file that resembles what was looked for.
type NearLine struct {
	Number int // counted from 1
	Text   string
}

func (m *Misfit) Error() string { return fmt.Sprintf("edit %d fits %d places", m.Edit+1, m.Count) }

const (
	maxPlaces = 1000    // places that are counted
	maxAll    = 1 << 20 // places that one edit replaces
	maxShown  = 10      // lines that are named
	maxWork   = 2 << 30 // bytes that the edits of one call go through, see effort
	maxNear   = 3
	maxLine   = 160 // bytes of a line that are shown
)

// effort is about what one edit costs: it goes through the whole text, and line endings of two bytes take longer.
func effort(text []byte) int { return 1024 + len(text) + 16*bytes.Count(text, []byte("\r\n")) }

// Apply applies edits in their order to content, which it does not change. The result holds at most limit bytes.
// Errors: argument_invalid, not_text, too_large, edit_no_match and edit_ambiguous (with a *Misfit), limit_reached (more
// edits than such a large text can be given at once, or more places than one edit replaces), cancelled.
func Apply(ctx context.Context, content []byte, edits []Edit, limit int64) ([]byte, []Applied, error) {
	return applyWithin(ctx, content, edits, limit, maxWork)
}

func applyWithin(ctx context.Context, content []byte, edits []Edit, limit int64, most int) ([]byte, []Applied, error) {
	if err := CheckMark(content); err != nil {
		return nil, nil, err
	}
	if err := CheckBinary(content, 0); err != nil {
		return nil, nil, err
	}
	var bom []byte
	if bytes.HasPrefix(content, utf8BOM) {
		bom = content[:len(utf8BOM):len(utf8BOM)]
	}
	text := content[len(bom):]
	limit -= int64(len(bom))
	applied := make([]Applied, 0, min(len(edits), 64))
	for i, e := range edits {
		if ctx.Err() != nil {
			return nil, nil, &rootbound.Error{Reason: rootbound.Cancelled, Err: context.Cause(ctx)}
		}
		if most -= effort(text); most < 0 && i > 0 {
			return nil, nil, &rootbound.Error{Reason: rootbound.LimitReached, Detail: fmt.Sprintf("%d edits of a file of %d bytes are more than one call makes", len(edits), len(content)),
				Next: fmt.Sprintf("Send at most %d of them at once.", i)}
		}
		if bom != nil { // it belongs to the file, not to its first line
			e.Old = strings.TrimPrefix(e.Old, string(utf8BOM))
			e.New = strings.TrimPrefix(e.New, string(utf8BOM))
		}
		next, a, err := applyOne(text, e, limit)
		if err != nil {
			return nil, nil, numbered(err, i, len(edits))
		}
		text = next
		applied = append(applied, a)
	}
	if bom == nil {
		return text, applied, nil
	}
	return append(bom, text...), applied, nil
}

func applyOne(text []byte, e Edit, limit int64) ([]byte, Applied, error) {
	if e.Old == "" {
		if len(text) > 0 {
			return nil, Applied{}, &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: "the text to replace is empty and the file is not",
				Next: "Send the text to replace, or write the whole file."}
		}
		if int64(len(e.New)) > limit {
			return nil, Applied{}, tooLarge(int64(len(e.New)), limit)
		}
		return []byte(e.New), Applied{Line: 1, Count: 1}, nil
	}
	v := viewOf(text)
	old, new := unify(e.Old), unify(e.New)
	at := places(v.norm, old, e.All)
	if len(at) == 0 && strings.Contains(e.Old, "\r") {
		// a return that ends no line of the file: taken literally
		if raw := places(text, []byte(e.Old), e.All); len(raw) > 0 {
			v, old, new, at = view{raw: text, norm: text}, []byte(e.Old), []byte(e.New), raw
		}
	}
	switch {
	case len(at) == 0:
		return applyLoosely(v, old, new, limit)
	case len(at) > 1 && !e.All:
		return nil, Applied{}, ambiguous(v, at)
	case len(at) > maxAll:
		return nil, Applied{}, &rootbound.Error{Reason: rootbound.LimitReached, Detail: "more than 1048576 places"}
	}
	head := commonPrefix(old, new)
	tail := commonSuffix(old[head:], new[head:])
	middle := new[head : len(new)-tail]
	size := int64(len(text)) + int64(len(at))*int64(len(new)-len(old))
	if size > limit {
		return nil, Applied{}, tooLarge(size, limit)
	}
	out := make([]byte, 0, max(size, 0))
	done := 0
	for _, p := range at {
		from, to := p+head, p+len(old)-tail
		out = append(out, text[done:v.offset(from)]...)
		out = v.appendText(out, middle, from, to)
		done = v.offset(to)
		if int64(len(out)) > limit { // line endings may be longer in the file
			return nil, Applied{}, tooLarge(int64(len(out)), limit)
		}
	}
	out = append(out, text[done:]...)
	if int64(len(out)) > limit {
		return nil, Applied{}, tooLarge(int64(len(out)), limit)
	}
	return out, Applied{Line: v.line(at[0]), Count: len(at)}, nil
}

// places are the offsets of needle in text: with all every one that does not overlap the one before, else as many as show
// that it is not one, overlapping ones too, since either could be meant.
func places(text, needle []byte, all bool) []int {
	step := 1
	if all {
		step = len(needle)
	}
	var at []int
	for from := 0; from <= len(text); {
		i := bytes.Index(text[from:], needle)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + step
		if !all && len(at) == maxPlaces || len(at) > maxAll {
			break
		}
	}
	return at
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// unify writes every line ending as "\n".
func unify(s string) []byte { return []byte(strings.ReplaceAll(s, "\r\n", "\n")) }

func ambiguous(v view, at []int) error {
	m := &Misfit{Count: len(at)}
	end := 0 // of the line that was named last
	for _, p := range at {
		if len(m.Lines) > 0 && p < end {
			m.times[len(m.times)-1]++
			continue
		}
		if m.more = len(m.Lines) == maxShown; m.more {
			break
		}
		m.Lines, m.times, end = append(m.Lines, v.line(p)), append(m.times, 1), len(v.norm)+1
		if i := bytes.IndexByte(v.norm[p:], '\n'); i >= 0 {
			end = p + i + 1
		}
	}
	return &rootbound.Error{Reason: rootbound.EditAmbiguous, Err: m}
}

// numbered completes the error of edit number i of n.
func numbered(err error, i, n int) error {
	e, ok := err.(*rootbound.Error)
	if !ok {
		return err
	}
	var d strings.Builder
	if n > 1 {
		fmt.Fprintf(&d, "edit %d of %d", i+1, n)
	}
	add := func(s string) {
		if s == "" {
			return
		}
		if d.Len() > 0 {
			d.WriteString(": ")
		}
		d.WriteString(s)
	}
	if m, ok := e.Err.(*Misfit); ok {
		m.Edit = i
		add(m.describe())
	}
	add(e.Detail)
	e.Detail = d.String()
	return e
}

func (m *Misfit) describe() string {
	var b strings.Builder
	if m.Count > 0 {
		more := ""
		if m.Count >= maxPlaces {
			more = "at least "
		}
		fmt.Fprintf(&b, "%s%d places, ", more, m.Count)
		if len(m.Lines) == 1 {
			fmt.Fprintf(&b, "all in line %d", m.Lines[0])
			return b.String()
		}
		b.WriteString("lines ")
		for i, l := range m.Lines {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%d", l)
			if n := m.times[i]; n > 1 {
				fmt.Fprintf(&b, " (%d times)", n)
			}
		}
		if m.more {
			b.WriteString(", …")
		}
		return b.String()
	}
	switch {
	case len(m.Near) == 0:
		return "no line resembles it"
	case m.Matched > 0:
		fmt.Fprintf(&b, "%d of its lines stand from line %d on, but then line %d is %s", m.Matched, m.Near[0].Number-m.Matched,
			m.Near[0].Number, rootbound.Quote(m.Near[0].Text))
		return b.String()
	}
	b.WriteString("nearest: ")
	for i, l := range m.Near {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "line %d is %s", l.Number, rootbound.Quote(l.Text))
	}
	return b.String()
}

func tooLarge(size, limit int64) error {
	return &rootbound.Error{Reason: rootbound.TooLarge, Detail: fmt.Sprintf("%d bytes, the limit is %d", size, limit)}
}
