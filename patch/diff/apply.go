package diff

import (
	"fmt"
	"strings"

	"github.com/rootbound/rootbound"
)

// budget bounds the steps of one Apply: comparing a line, or moving one, is a step. A diff that fits is found in a few
// steps a line.
const budget = 1 << 28

// row is a line of the file. What a hunk has put there is not matched again.
type row struct {
	text string
	done bool
}

// Apply gives the bytes after the change. before is what Old holds, nil where the change makes the file. Errors:
// edit_no_match naming the hunk, too_large over limit bytes (0: no limit), limit_reached where looking for the place of a
// hunk takes too long.
func (c *Change) Apply(before []byte, limit int64) ([]byte, error) {
	img := rows(string(before))
	steps := 0
	for i, h := range c.hunks {
		at, err := h.find(img, &steps)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			return nil, c.noMatch(i, "")
		}
		img = h.put(img, at)
		steps += len(img) / 64
	}
	size := int64(0)
	for i, r := range img {
		size += int64(len(r.text))
		if i < len(img)-1 && !strings.HasSuffix(r.text, "\n") {
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
	for _, r := range img {
		out = append(out, r.text...)
	}
	return out, nil
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
func (h *hunk) find(img []row, steps *int) (int, error) {
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
	if len(pre) > len(img) {
		return -1, nil
	}
	begins, ends := h.old <= 1, trailing == 0
	from := max(h.new-1, 0)
	switch {
	case begins:
		from = 0
	case ends:
		from = len(img) - len(pre)
	}
	from = min(from, len(img))
	fits := func(at int) bool {
		if at+len(pre) > len(img) || begins && at != 0 || ends && at+len(pre) != len(img) {
			*steps++
			return false
		}
		for i, t := range pre {
			*steps += 1 + len(t)/1024
			if r := &img[at+i]; r.done || r.text != t {
				return false
			}
		}
		return true
	}
	if fits(from) {
		return from, nil
	}
	for d := 1; from+d <= len(img) || from-d >= 0; d++ {
		if from+d <= len(img) && fits(from+d) {
			return from + d, nil
		}
		if from-d >= 0 && fits(from-d) {
			return from - d, nil
		}
		if *steps > budget {
			return -1, &rootbound.Error{Reason: rootbound.LimitReached, Detail: fmt.Sprintf("the place of the hunk in line %d of the diff takes too long to find", h.at)}
		}
	}
	return -1, nil
}

// put replaces the hunk's old lines at at by its new ones.
func (h *hunk) put(img []row, at int) []row {
	old := 0
	var post []row
	for _, l := range h.lines {
		if l.op != '+' {
			old++
		}
		if l.op != '-' {
			post = append(post, row{l.text, true})
		}
	}
	out := make([]row, 0, len(img)-old+len(post))
	out = append(out, img[:at]...)
	out = append(out, post...)
	return append(out, img[at+old:]...)
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
