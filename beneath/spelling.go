package beneath

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/rootbound/rootbound"
)

// nextName cuts the first real component from p; "" and "." are skipped. more tells whether anything but the end
// followed the name: "f/" and "f/." have more, and so ask for a directory.
func nextName(p string) (name, rest string, more bool) {
	for p != "" {
		i := strings.IndexByte(p, '/')
		if i < 0 {
			name, rest = p, ""
		} else {
			name, rest, more = p[:i], p[i+1:], true
		}
		if name != "" && name != "." {
			return name, rest, more
		}
		p, more = rest, false
	}
	return "", "", false
}

// noise counts the bytes before the first real component.
func noise(text string) int {
	name, rest, more := nextName(text)
	n := len(text) - len(name) - len(rest)
	if more {
		n--
	}
	return n
}

// plainName reports whether name can be one entry of a directory.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= maxName && !strings.ContainsAny(name, "/\x00")
}

func tempName() string { return TempPrefix + strings.ToLower(rand.Text()) }

// beside is name in the directory that holds at.
func beside(at Ref, name string) Ref {
	dir, _, _ := splitLast(at.Path)
	return Ref{at.Root, join(dir, name)}
}

// onlyNoise reports whether p has no real component left.
func onlyNoise(p string) bool {
	name, _, _ := nextName(p)
	return name == ""
}

// checkPath applies the rules that need no disk. It returns the cleaned path, which is the reached one if no link is on
// the way.
func checkPath(p string) (clean string, err error) {
	if len(p) > maxPath {
		return "", refuse(rootbound.PathInvalid, "too_long", nil)
	}
	if strings.IndexByte(p, 0) >= 0 {
		return "", refuse(rootbound.PathInvalid, "nul", nil)
	}
	if p != "" && p[0] == '/' {
		return "", refuse(rootbound.PathInvalid, "absolute", nil)
	}
	depth, noisy := 0, false
	for rest, name := p, ""; rest != ""; {
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			name, rest = rest, ""
		} else {
			name, rest = rest[:i], rest[i+1:]
			noisy = noisy || rest == ""
		}
		switch {
		case name == "" || name == ".":
			noisy = true
		case name == "..":
			noisy = true
			if depth--; depth < 0 {
				return "", refuse(rootbound.OutsideRoot, "", nil)
			}
		case len(name) > maxName:
			return "", refuse(rootbound.PathInvalid, "name_too_long", nil)
		default:
			depth++
		}
	}
	if !noisy {
		return p, nil
	}
	names := make([]string, 0, depth)
	for name, rest, _ := nextName(p); name != ""; name, rest, _ = nextName(rest) {
		if name == ".." {
			names = names[:len(names)-1]
		} else {
			names = append(names, name)
		}
	}
	return strings.Join(names, "/"), nil
}

// splitLast parts p into its parent and its final name, for what must be one plain name below a root.
func splitLast(p string) (dir, name string, err error) {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		dir, name = p[:i], p[i+1:]
	} else {
		name = p
	}
	switch {
	case name == "" && onlyNoise(p), name == "." && onlyNoise(dir):
		return "", "", &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "root",
			Next: "Use the path of something in it: a project or root itself is not written, moved or deleted."}
	case name == "":
		return "", "", slashAtEnd()
	case name == "." || name == "..":
		return "", "", &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "no_name", Next: "Send a path that ends in a name."}
	}
	return dir, name, nil
}

// tidy removes doubled slashes and "." of an absolute path; ".." stays. ok is false for what is not absolute.
func tidy(abs string) (string, bool) {
	if abs == "" || abs[0] != '/' {
		return "", false
	}
	var b strings.Builder
	for name, rest, _ := nextName(abs); name != ""; name, rest, _ = nextName(rest) {
		b.WriteByte('/')
		b.WriteString(name)
	}
	if b.Len() == 0 {
		return "/", true
	}
	return b.String(), true
}

func parentOf(canonical string) string {
	if i := strings.LastIndexByte(canonical, '/'); i > 0 {
		return canonical[:i]
	}
	return "/"
}

// climbOut is the absolute path that a link's text means when it has climbed to its root and goes on with "..": up the
// canonical path of the root, which holds no links. What then follows must name a member by itself.
func climbOut(canonical, text string) string {
	for name, rest, _ := nextName(text); name == ".."; name, rest, _ = nextName(text) {
		canonical, text = parentOf(canonical), rest
	}
	return canonical + "/" + text
}

// below is path without base, the directory that it lies in or is.
func below(base, path string) string {
	if base == "" {
		return path
	}
	return strings.TrimPrefix(path[len(base):], "/")
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// spelling is one path under which a member may be named.
type spelling struct {
	path   string
	member int
}

// spellings orders the paths of all members, most components first, so that the first match is the longest. A path that
// holds ".." names nothing by its text, so it is left out.
func spellings(members []Member) []spelling {
	var out []spelling
	for i, m := range members {
		for _, p := range append([]string{m.Root.Path(), m.Root.Spelled()}, m.Spelled...) {
			p, ok := tidy(p)
			if !ok || slices.Contains(strings.Split(p, "/"), "..") || slices.Contains(out, spelling{p, i}) {
				continue
			}
			out = append(out, spelling{p, i})
		}
	}
	depth := func(p string) int {
		if p == "/" {
			return 0
		}
		return strings.Count(p, "/")
	}
	slices.SortStableFunc(out, func(a, b spelling) int { return depth(b.path) - depth(a.path) })
	return out
}

// mapPath finds the longest spelling that abs begins with, by component. Neither a ".." nor another spelling of the same
// directory matches: only text that was approved does.
func mapPath(all []spelling, abs string) (Ref, bool) {
	if abs == "" || abs[0] != '/' {
		return Ref{}, false
	}
	for _, s := range all {
		if rest, ok := after(s.path, abs); ok {
			return Ref{s.member, strings.TrimLeft(rest, "/")}, true
		}
	}
	return Ref{}, false
}

func after(path, abs string) (rest string, ok bool) {
	rest = abs
	for want, more, _ := nextName(path); want != ""; want, more, _ = nextName(more) {
		var got string
		if got, rest, _ = nextName(rest); got != want {
			return "", false
		}
	}
	return rest, true
}

// behind is path with the names of rest, up to the first "..".
func behind(path, rest string) string {
	for name, rest, _ := nextName(rest); name != "" && name != ".."; name, rest, _ = nextName(rest) {
		path = join(path, name)
	}
	return path
}

// textAt is where the text of a link leads that stands at link, as far as text alone tells.
func textAt(all []spelling, link Ref, text string) (Ref, bool) {
	if text != "" && text[0] == '/' {
		return mapPath(all, text)
	}
	if i := strings.LastIndexByte(link.Path, '/'); i >= 0 {
		text = link.Path[:i+1] + text
	}
	return Ref{link.Root, text}, text != ""
}
