package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
)

// budget bounds the steps of all changes of a diff: comparing a line is a step, moving some is another. A diff that fits is found in a
// few steps a line.
const (
	budget = 1 << 28
	share  = 1 << 24 // of one change at least: those of a diff share a budget
)

// row is a line of the file. What a hunk has put there is not matched again.
type row struct {
	text string
	done bool
}

// image is the file while it is changed: the lines before the place of the last change, and those after it from the
// last to the first. So hunks in their order cost what lies between them and not the whole file each.
type image struct {
	before, after []row
	steps, most   int
}

func imageOf(before []byte, most int) *image {
	after := rows(string(before))
	slices.Reverse(after)
	return &image{after: after, most: most}
}

func (m *image) len() int { return len(m.before) + len(m.after) }

func (m *image) at(i int) *row {
	if i < len(m.before) {
		return &m.before[i]
	}
	return &m.after[len(m.after)-1-(i-len(m.before))]
}

// seek makes the place of the next change line i.
func (m *image) seek(i int) {
	m.steps += 1 + max(i-len(m.before), len(m.before)-i)/8
	for len(m.before) > i {
		last := len(m.before) - 1
		m.after, m.before = append(m.after, m.before[last]), m.before[:last]
	}
	for len(m.before) < i {
		last := len(m.after) - 1
		m.before, m.after = append(m.before, m.after[last]), m.after[:last]
	}
}

// Apply gives the bytes after the change. before is what Old holds, nil where the change makes the file. Errors:
// edit_no_match naming the hunk, too_large over limit bytes (0: no limit), limit_reached where looking for the place of a
// hunk takes too long.
func (c *Change) Apply(before []byte, limit int64) ([]byte, error) {
	img := imageOf(before, c.most)
	for i := range c.hunks {
		h := &c.hunks[i]
		at, err := h.find(img)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			return nil, c.noMatch(i, "")
		}
		if h.put(img, at); img.steps > img.most {
			return nil, h.tooLong()
		}
	}
	size, n := int64(0), img.len()
	for i := range n {
		text := img.at(i).text
		size += int64(len(text))
		if i < n-1 && !strings.HasSuffix(text, "\n") {
			return nil, c.noMatch(len(c.hunks)-1, "it would join two lines")
		}
	}
	if limit > 0 && size > limit {
		return nil, &rootbound.Error{Reason: rootbound.TooLarge, Detail: fmt.Sprintf("%d bytes after the patch, the limit is %d", size, limit)}
	}
	if c.New == "" && size > 0 {
		return nil, c.noMatch(max(len(c.hunks)-1, 0), "the file holds more than the patch deletes")
	}
	out := make([]byte, 0, size)
	for i := range n {
		out = append(out, img.at(i).text...)
	}
	return out, nil
}

func (h *hunk) tooLong() error {
	return &rootbound.Error{Reason: rootbound.LimitReached, Detail: fmt.Sprintf("the place of the hunk in line %d of the diff takes too long to find", h.at)}
}

func (c *Change) noMatch(i int, why string) error {
	name := c.New
	if name == "" {
		name = c.Old
	}
	d := "the file"
	if len(c.hunks) > 0 {
		d = fmt.Sprintf("hunk %d (line %d of the diff)", i+1, c.hunks[i].at)
	}
	if why == "" {
		why = "does not fit"
	}
	return &rootbound.Error{Reason: rootbound.EditNoMatch, Path: name, Detail: d + ": " + why,
		Next: "Read the file and make the diff anew from what it holds now."}
}

// find looks for the place of a hunk as git apply does: from where the header says, then one line further down, one
// further up, and so on.
func (h *hunk) find(img *image) (int, error) {
	n := img.len()
	var pre []string
	trailing := 0
	for _, l := range h.lines {
		if l.op != '+' {
			pre = append(pre, l.text)
		}
		trailing++
		if l.op != ' ' {
			trailing = 0
		}
	}
	if len(pre) > n {
		return -1, nil
	}
	begins, ends := h.old <= 1, trailing == 0
	from := max(h.new-1, 0)
	switch {
	case begins:
		from = 0
	case ends:
		from = n - len(pre)
	}
	from = min(from, n)
	fits := func(at int) bool {
		if at+len(pre) > n || begins && at != 0 || ends && at+len(pre) != n {
			img.steps++
			return false
		}
		for i, t := range pre {
			img.steps += 1 + len(t)/1024
			if r := img.at(at + i); r.done || r.text != t {
				return false
			}
		}
		return true
	}
	if fits(from) {
		return from, nil
	}
	for d := 1; from+d <= n || from-d >= 0; d++ {
		if from+d <= n && fits(from+d) {
			return from + d, nil
		}
		if from-d >= 0 && fits(from-d) {
			return from - d, nil
		}
		if img.steps > img.most {
			return -1, h.tooLong()
		}
	}
	return -1, nil
}

// put replaces the hunk's old lines at at by its new ones.
func (h *hunk) put(img *image, at int) {
	img.seek(at)
	for _, l := range h.lines {
		if l.op != '+' {
			img.after = img.after[:len(img.after)-1]
		}
	}
	for _, l := range h.lines {
		if l.op != '-' {
			img.before = append(img.before, row{l.text, true})
		}
	}
}

func rows(s string) []row {
	if s == "" {
		return nil
	}
	out := make([]row, 0, strings.Count(s, "\n")+1)
	for l := range strings.Lines(s) {
		out = append(out, row{text: l})
	}
	return out
}
