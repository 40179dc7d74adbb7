// Package diff reads a unified diff over several files and applies it to bytes in memory. It does no I/O.
//
// A diff is taken as git apply takes it: no fuzz; a hunk may stand elsewhere than its header says, and the nearest place
// that fits is taken; a hunk that begins at line 1 must begin the file, one without trailing context must end it. Where
// git guesses or drops something in silence, Parse refuses by name: docs/patches.md has the list. What is refused because
// of what it asks for, whatever the bytes of the file may be, is refused by Parse; Apply refuses what does not fit.
//
// Names are paths inside the project. Parse refuses those that could lead elsewhere, and nobody should rely on that: each
// name is resolved and judged again by whoever opens it.
package diff

import (
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/rootbound/rootbound"
)

// Bounds of one diff.
const (
	MaxBytes = 8 << 20
	MaxFiles = 500
	MaxHunks = 20_000
)

// Change is what a diff does to one file. Immutable after Parse.
type Change struct {
	Old, New string // paths; Old is empty for a file that is created, New for one that is deleted; they differ for a rename or copy
	Copy     bool   // Old stays
	MayBeNew bool   // the diff does not say whether the file exists: it must be absent or empty
	Exec     *bool  // the executable bit afterwards; nil: as it is

	hunks []hunk
	most  int // steps that Apply may take
}

type line struct {
	op   byte // ' ', '-', '+'
	text string
}

type hunk struct {
	old, new int // first lines as the header counts them
	at       int // line of the header in the diff
	lines    []line
}

// Parse reads a diff. The error is a *rootbound.Error: argument_invalid for what is no proper diff or asks for what is
// not supported, outside_root, path_invalid and path_encoded_traversal for names, special_file for links and gitlinks,
// not_text for binary patches, too_large and limit_reached for the bounds.
func Parse(text string) ([]Change, error) {
	if len(text) > MaxBytes {
		return nil, &rootbound.Error{Reason: rootbound.TooLarge, Detail: fmt.Sprintf("a diff of %d bytes, the limit is %d", len(text), MaxBytes),
			Next: "Send the change in several diffs, or as edits."}
	}
	heads, err := scan(text)
	if err != nil {
		return nil, err
	}
	if len(heads) == 0 {
		return nil, malformed(0, "there is no diff in it")
	}
	parsed, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return nil, malformedBy(err)
	}
	if len(parsed) != len(heads) {
		return nil, malformed(0, "its file headers cannot be told apart")
	}
	out := make([]Change, len(parsed))
	for i, f := range parsed {
		if out[i], err = change(f, heads[i]); err != nil {
			return nil, err
		}
		out[i].most = max(budget/len(out), share)
	}
	return out, distinct(out, heads)
}

// malformedBy keeps gitdiff's line and words, which are about the diff and not about files.
func malformedBy(err error) error {
	e := malformed(0, "it cannot be read")
	e.Err = err
	return e
}

func malformed(at int, what string) *rootbound.Error {
	if at > 0 {
		what = fmt.Sprintf("line %d of the diff: %s", at, what)
	} else {
		what = "the diff: " + what
	}
	return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: what, Next: "Send a unified diff as git diff writes it, or edits."}
}

// change turns one parsed file into a Change.
func change(f *gitdiff.File, h head) (Change, error) {
	c := Change{Old: f.OldName, New: f.NewName, Copy: f.IsCopy}
	if err := modes(f, h, &c); err != nil {
		return c, err
	}
	if f.IsBinary || f.BinaryFragment != nil || h.binary {
		return c, &rootbound.Error{Reason: rootbound.NotText, Detail: fmt.Sprintf("line %d of the diff: a binary patch", h.at),
			Next: "Leave the binary file out of the diff."}
	}
	if err := names(f, h, &c); err != nil {
		return c, err
	}
	if h.hunks != len(f.TextFragments) {
		return c, malformed(h.at, "the hunks of this file cannot be told apart")
	}
	if h.hunks == 0 && !f.IsNew && !f.IsDelete && !f.IsRename && !f.IsCopy && c.Exec == nil {
		return c, malformed(h.at, "this file header changes nothing")
	}
	for i, t := range f.TextFragments {
		n := hunk{old: int(t.OldPosition), new: int(t.NewPosition), at: h.hunkAt[i], lines: make([]line, len(t.Lines))}
		for j, l := range t.Lines {
			n.lines[j] = line{l.Op.String()[0], l.Line}
		}
		c.hunks = append(c.hunks, n)
	}
	if !h.git && !f.IsNew && !f.IsDelete && len(c.hunks) == 1 && f.TextFragments[0].OldLines == 0 {
		c.MayBeNew = true
	}
	return c, nil
}

// names sets and judges the paths of c.
func names(f *gitdiff.File, h head, c *Change) error {
	switch {
	case h.git && (c.Old == devNull || c.New == devNull):
		return malformed(h.at, "/dev/null without a line new file mode or deleted file mode")
	case h.git && f.IsNew && f.IsDelete:
		return malformed(h.at, "a file is both made and deleted")
	case h.git && (f.IsNew || f.IsDelete) && (f.IsRename || f.IsCopy) || f.IsRename && f.IsCopy:
		return malformed(h.at, "more than one of making, deleting, renaming and copying")
	case h.git && f.IsNew:
		c.Old = ""
	case h.git && f.IsDelete:
		c.New = ""
	case h.git && (f.IsRename || f.IsCopy) && c.Old == c.New:
		return malformed(h.at, "a file is renamed or copied to its own name")
	case h.git && !f.IsRename && !f.IsCopy && c.Old != c.New:
		return malformed(h.at, "the two names differ and it is no rename")
	case !h.git:
		old, new := strip(h.old, h.new)
		switch {
		case h.old == devNull && h.new == devNull:
			return malformed(h.at, "both names are /dev/null")
		case f.IsNew:
			old = ""
		case f.IsDelete:
			new = ""
		case old != new:
			return malformed(h.at, "the two names differ and it is no rename")
		}
		c.Old, c.New = old, new
	}
	for _, name := range []string{c.Old, c.New} {
		if name == "" && (c.Old != "" || c.New != "") {
			continue
		}
		if err := checkName(name); err != nil {
			return err
		}
	}
	return nil
}

const devNull = "/dev/null"

// Modes of a tree entry, as a diff writes them.
const (
	plain      = 0o100644
	executable = 0o100755
	symlink    = 0o120000
	gitlink    = 0o160000
)

// modes judges every mode the file's header tells.
func modes(f *gitdiff.File, h head, c *Change) error {
	for _, m := range []uint32{uint32(f.OldMode), uint32(f.NewMode)} {
		switch m {
		case 0, plain, executable:
		case symlink:
			return &rootbound.Error{Reason: rootbound.SpecialFile, Detail: fmt.Sprintf("line %d of the diff: a symbolic link (mode 120000)", h.at),
				Next: "Leave it out: patches never make, change or remove links."}
		case gitlink:
			return &rootbound.Error{Reason: rootbound.SpecialFile, Detail: fmt.Sprintf("line %d of the diff: a submodule (mode 160000)", h.at),
				Next: "Leave it out: patches are for files."}
		default:
			return malformed(h.at, fmt.Sprintf("mode %o; only 100644 and 100755 are supported", m))
		}
	}
	switch {
	case f.IsDelete || f.NewMode == 0:
	case f.IsNew:
		if f.NewMode == executable {
			c.Exec = new(true)
		}
	case f.OldMode != f.NewMode:
		c.Exec = new(f.NewMode == executable)
	}
	return nil
}

// distinct refuses what would touch one name twice, and a file that would lie below another.
func distinct(all []Change, heads []head) error {
	if len(all) > MaxFiles {
		return &rootbound.Error{Reason: rootbound.LimitReached, Detail: fmt.Sprintf("%d files in one diff, the limit is %d", len(all), MaxFiles)}
	}
	seen := map[string]bool{}
	var made []string
	for i := range all {
		c := &all[i]
		for _, name := range touched(c) {
			if seen[name] {
				return malformed(heads[i].at, "the same file twice")
			}
			seen[name] = true
		}
		if c.New != "" {
			made = append(made, c.New)
		}
	}
	for _, name := range made {
		for at := strings.LastIndexByte(name, '/'); at > 0; at = strings.LastIndexByte(name[:at], '/') {
			if seen[name[:at]] {
				return malformed(0, "one name is both a file and the directory of another")
			}
		}
	}
	return nil
}

// touched are the names a change reads or writes; a copy's source may be read by others too.
func touched(c *Change) []string {
	switch {
	case c.Old == "" || c.Copy:
		return []string{c.New}
	case c.New == "" || c.Old == c.New:
		return []string{c.Old}
	}
	return []string{c.Old, c.New}
}
