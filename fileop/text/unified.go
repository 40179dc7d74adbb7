package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rootbound/rootbound"
)

// Side is one side of a unified diff in git's form. The zero value is a file that does not exist.
type Side struct {
	Name string // path inside the project, without prefix; empty: there is no file
	Text []byte
	Exec bool
}

// Unified shows how one file becomes another in git's form, line endings included: git apply takes it. Bytes that are not
// UTF-8 are shown as U+FFFD, and such a diff is for the eye only. Equal sides give nothing. It takes at most limit bytes
// (0: DefaultDiff); cut says that hunks are missing.
func Unified(old, new Side, limit int) (text string, cut bool) {
	if limit <= 0 {
		limit = DefaultDiff
	}
	var b strings.Builder
	a, z := old.Name, new.Name
	if a == "" {
		a = z
	}
	if z == "" {
		z = a
	}
	fmt.Fprintf(&b, "diff --git %s %s\n", gitName("a/"+a), gitName("b/"+z))
	from, to := gitName("a/"+a), gitName("b/"+z)
	switch {
	case old.Name == "":
		fmt.Fprintf(&b, "new file mode %s\n", mode(new.Exec))
		from = "/dev/null"
	case new.Name == "":
		fmt.Fprintf(&b, "deleted file mode %s\n", mode(old.Exec))
		to = "/dev/null"
	case old.Exec != new.Exec:
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", mode(old.Exec), mode(new.Exec))
	}
	head := b.Len()
	was, is := splitLines(old.Text), splitLines(new.Text)
	limit += head
	for i, h := range hunksOf(runsOf(was, is)) {
		if i == 0 {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
		}
		if cut = !h.write(&b, was, is, limit); cut {
			break
		}
	}
	if b.Len() == head && old.Name == new.Name && old.Exec == new.Exec {
		return "", false
	}
	return b.String(), cut
}

func mode(exec bool) string {
	if exec {
		return "100755"
	}
	return "100644"
}

// gitName quotes a name as git does where a byte of it could be taken for something else.
func gitName(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == 0x7f || c == '"' || c == '\\' || c >= 0x80 {
			plain = false
		}
	}
	if plain || rootbound.Clean(s) == s && !strings.ContainsAny(s, "\"\\") {
		return s
	}
	b := []byte{'"'}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20 || c >= 0x7f:
			b = append(append(b, '\\'), octal(c)...)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

func octal(c byte) string {
	s := strconv.FormatUint(uint64(c), 8)
	return "000"[:3-len(s)] + s
}
