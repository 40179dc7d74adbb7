package diff

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/rootbound/rootbound"
)

// head is what the scan finds out about one file of the diff and the parser does not tell.
type head struct {
	at       int  // line, counted from 1
	git      bool // it begins with diff --git
	binary   bool
	old, new string // names of a traditional header, unquoted
	hunks    int
	hunkAt   []int
}

// scanner looks at the lines of a diff before it is parsed, for everything that a parser passes over: a person must be
// able to rely on it that what the diff says is what is done.
type scanner struct {
	heads    []head
	old, new int64 // lines the hunk still has to have
	at       int
	marker   bool // a line "\ No newline" may follow
	last     byte // first byte of the hunk's last line
	oldEnd   bool // the hunk's old, new side has ended without a line end
	newEnd   bool
	after    bool // the last lines were a hunk's
	inHead   bool // of a git header
	plus     bool // the line +++ comes next
	hunks    int
}

func scan(text string) ([]head, error) {
	if text != "" && text[len(text)-1] != '\n' {
		e := malformed(0, "its last line has no line end")
		e.Next = "Send the diff again with a line end after its last line."
		return nil, e
	}
	s := &scanner{}
	rest := text
	for rest != "" {
		s.at++
		l := rest[:strings.IndexByte(rest, '\n')+1]
		rest = rest[len(l):]
		if err := s.line(l, rest); err != nil {
			return nil, err
		}
		if len(s.heads) > MaxFiles {
			return nil, &rootbound.Error{Reason: rootbound.LimitReached, Detail: fmt.Sprintf("more than %d files in one diff", MaxFiles)}
		}
		if s.hunks > MaxHunks {
			return nil, &rootbound.Error{Reason: rootbound.LimitReached, Detail: fmt.Sprintf("more than %d hunks in one diff", MaxHunks)}
		}
	}
	if s.old > 0 || s.new > 0 {
		return nil, s.short()
	}
	return s.heads, nil
}

func (s *scanner) line(l, rest string) error {
	if s.old > 0 || s.new > 0 || s.marker && l[0] == '\\' {
		return s.inHunk(l)
	}
	s.marker = false
	switch {
	case s.plus:
		s.plus = false
		if s.inHead {
			return s.name(l)
		}
	case strings.HasPrefix(l, "diff --git "):
		return s.git(l)
	case strings.HasPrefix(l, "@@ -"):
		return s.hunk(l)
	case strings.HasPrefix(l, "@@"):
		return malformed(s.at, "a hunk header without line numbers")
	case strings.HasPrefix(l, "--- ") && strings.HasPrefix(rest, "+++ "):
		s.plus = true
		if s.inHead {
			return s.name(l)
		}
		return s.traditional(l, rest)
	case s.inHead:
		return s.header(l)
	case strings.HasPrefix(l, "Binary files ") && strings.HasSuffix(l, " differ\n"), strings.HasPrefix(l, "GIT binary patch"):
		if len(s.heads) == 0 || s.after {
			return &rootbound.Error{Reason: rootbound.NotText, Detail: fmt.Sprintf("line %d of the diff: a binary patch", s.at), Next: "Leave the binary file out of the diff."}
		}
		s.heads[len(s.heads)-1].binary = true
	case s.after && l != "-- \n" && l != "\n" && strings.IndexByte(" +-\\", l[0]) >= 0:
		return malformed(s.at, "a line that the hunk's header does not count")
	case l != "\n":
		s.after = false
	}
	return nil
}

// inHunk counts a line of a hunk.
func (s *scanner) inHunk(l string) error {
	if l[0] == '\\' {
		if len(l) < 12 || l[1] != ' ' || !s.marker {
			return malformed(s.at, "a backslash that marks nothing")
		}
		s.marker = false
		s.oldEnd, s.newEnd = s.oldEnd || s.last != '+', s.newEnd || s.last != '-'
		return nil
	}
	old, new := l[0] == ' ' || l[0] == '\n' || l[0] == '-', l[0] == ' ' || l[0] == '\n' || l[0] == '+'
	switch {
	case !old && !new:
		return s.short()
	case old && s.old == 0 || new && s.new == 0:
		return malformed(s.at, "the hunk has more lines than its header says")
	case old && s.oldEnd || new && s.newEnd:
		return malformed(s.at, "a line after the one without a line end")
	}
	if old {
		s.old--
	}
	if new {
		s.new--
	}
	s.marker, s.last = true, l[0]
	return nil
}

func (s *scanner) short() error {
	return malformed(s.at, "the hunk has fewer lines than its header says")
}

// git begins a file with a git header. Without the usual prefixes one could not tell a name from its first directory.
func (s *scanner) git(l string) error {
	if strings.HasSuffix(l, "\r\n") {
		return s.crlf()
	}
	old, _ := unquoted(l[len("diff --git "):])
	if len(old) < 2 || old[1] != '/' || strings.IndexByte("aico1", old[0]) < 0 {
		e := malformed(s.at, "names without the prefixes a/ and b/")
		if strings.HasPrefix(old, "/") {
			return outside("an absolute path in a diff")
		}
		return e
	}
	s.heads = append(s.heads, head{at: s.at, git: true})
	s.inHead, s.after = true, false
	return nil
}

func (s *scanner) crlf() error {
	e := malformed(s.at, "a header line that ends with CR LF")
	e.Next = "Send header lines that end with LF; the lines of a hunk keep the line ends of the file."
	return e
}

// header looks at one line of a git header; a line that is none ends it.
func (s *scanner) header(l string) error {
	h := &s.heads[len(s.heads)-1]
	known := false
	for _, p := range [...]string{"old mode ", "new mode ", "deleted file mode ", "new file mode ", "copy from ", "copy to ",
		"rename from ", "rename to ", "similarity index ", "dissimilarity index ", "index "} {
		known = known || strings.HasPrefix(l, p)
	}
	switch {
	case known && strings.HasSuffix(l, "\r\n"):
		return s.crlf()
	case known:
		return nil
	case strings.HasPrefix(l, "Binary files ") || strings.HasPrefix(l, "GIT binary patch"):
		h.binary = true
	case strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ "):
		return malformed(s.at, "one of the lines --- and +++ without the other")
	case l != "\n" && strings.IndexByte(" +-\\", l[0]) >= 0:
		return malformed(s.at, "a line that belongs to no hunk")
	}
	s.inHead = false
	return nil
}

// name looks at one of the lines --- and +++ of a git header.
func (s *scanner) name(l string) error {
	if strings.HasSuffix(l, "\r\n") {
		return s.crlf()
	}
	name, err := unquoted(l[4:])
	if err != nil {
		return malformed(s.at, "a quoted name that cannot be read")
	}
	if name = cutTime(name); strings.HasPrefix(name, "/") && name != devNull {
		return outside("an absolute path in a diff")
	}
	return nil
}

// traditional begins a file that has only the lines --- and +++.
func (s *scanner) traditional(l, rest string) error {
	next := rest[:strings.IndexByte(rest, '\n')+1]
	if strings.HasSuffix(l, "\r\n") || strings.HasSuffix(next, "\r\n") {
		return s.crlf()
	}
	if !strings.HasPrefix(rest[len(next):], "@@ -") {
		if strings.HasPrefix(rest[len(next):], "@@") {
			return malformed(s.at+2, "a hunk header without line numbers")
		}
		return malformed(s.at, "a file header without a hunk")
	}
	h := head{at: s.at}
	var err error
	if h.old, err = unquoted(l[4:]); err == nil {
		h.new, err = unquoted(next[4:])
	}
	if err != nil {
		return malformed(s.at, "a quoted name that cannot be read")
	}
	h.old, h.new = cutTime(h.old), cutTime(h.new)
	for _, name := range []string{h.old, h.new} {
		if strings.HasPrefix(name, "/") && name != devNull {
			return outside("an absolute path in a diff")
		}
	}
	s.heads = append(s.heads, h)
	s.after = false
	return nil
}

// hunk begins a hunk.
func (s *scanner) hunk(l string) error {
	if len(s.heads) == 0 || s.heads[len(s.heads)-1].binary {
		return malformed(s.at, "a hunk without a file header")
	}
	old, new, ok := ranges(l)
	if !ok {
		return malformed(s.at, "a hunk header that cannot be read")
	}
	if old[1] == 0 && new[1] == 0 {
		return malformed(s.at, "a hunk without lines")
	}
	h := &s.heads[len(s.heads)-1]
	h.hunks++
	h.hunkAt = append(h.hunkAt, s.at)
	s.hunks++
	s.old, s.new = old[1], new[1]
	s.oldEnd, s.newEnd, s.marker = false, false, false
	s.inHead, s.after = false, true
	return nil
}

// ranges reads "@@ -a,b +c,d @@ …".
func ranges(l string) (old, new [2]int64, ok bool) {
	body, _, found := strings.Cut(l[len("@@ -"):], " @@")
	a, b, two := strings.Cut(body, " +")
	if !found || !two {
		return old, new, false
	}
	old, ok = span(a)
	if !ok {
		return old, new, false
	}
	new, ok = span(b)
	return old, new, ok
}

// span reads "a,b" or "a". Numbers have at most nine digits: sums of them do not overflow.
func span(s string) (out [2]int64, ok bool) {
	a, b, two := strings.Cut(s, ",")
	if !two {
		b = "1"
	}
	for i, w := range [...]string{a, b} {
		if w == "" || len(w) > 9 {
			return out, false
		}
		for _, c := range []byte(w) {
			if c < '0' || c > '9' {
				return out, false
			}
			out[i] = out[i]*10 + int64(c-'0')
		}
	}
	return out, true
}

// checkName judges a name that is to be a path inside the project.
func checkName(name string) error {
	switch {
	case name == "":
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "an empty name in a diff"}
	case name[0] == '/':
		return outside("an absolute path in a diff")
	case strings.IndexByte(name, 0) >= 0:
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "a NUL in a name of a diff"}
	case strings.HasSuffix(name, "/"):
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "a name in a diff that ends with a slash"}
	case len(name) > 4096:
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "a name in a diff of more than 4096 bytes"}
	}
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "..":
			return outside("a name in a diff that climbs with ..")
		case "", ".":
			return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "a name in a diff with an empty part or a dot as a part"}
		}
	}
	if strings.IndexByte(name, '%') >= 0 {
		if once, err := url.PathUnescape(name); err == nil && (strings.IndexByte(once, 0) >= 0 || climbs(once)) {
			return &rootbound.Error{Reason: rootbound.PathEncodedTraversal, Detail: "a name in a diff"}
		}
	}
	return nil
}

func climbs(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

func outside(what string) *rootbound.Error {
	return &rootbound.Error{Reason: rootbound.OutsideRoot, Detail: what, Next: "Use names inside the project, as git diff writes them."}
}
