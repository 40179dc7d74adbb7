// Package spelling reads path arguments as text, before anything is looked up. What no path argument may hold is refused
// here, on every system by its own rules, and what is left is mapped to the grants of a snapshot (contract §5, Spelling).
// It touches no file system.
package spelling

import (
	"strings"

	"github.com/rootbound/rootbound"
)

// Bounds of a path argument (filesystem limits of Linux: 255 bytes a name; 128 KiB is what the resolver takes in all).
const (
	maxPath  = 128 << 10
	maxName  = 255
	maxSteps = 8192 // names and climbs: each costs a system call
)

func refuse(r rootbound.Reason, detail string) *rootbound.Error {
	return &rootbound.Error{Reason: r, Detail: detail}
}

// Check refuses what no path argument may hold, before any system call (contract §5, Spelling).
func Check(p string) *rootbound.Error { return check(p, false) }

func check(p string, decoded bool) *rootbound.Error {
	switch {
	case len(p) > maxPath:
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "longer than 128 KiB", Next: "Send a shorter path."}
	case strings.IndexByte(p, 0) >= 0:
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "holds a NUL byte", Next: "Send the path without it: no name holds one."}
	}
	if !decoded && strings.IndexByte(p, '%') >= 0 && encodedTraversal(p) {
		return refuse(rootbound.PathEncodedTraversal, "")
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "~ is not expanded", Next: "Send the path without ~, relative to the project."}
	}
	if first, _, more := strings.Cut(p, "/"); more && len(first) > 1 && first[0] == '~' && userName(first[1:]) {
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "~name is not expanded", Next: "Send the path without ~name, relative to the project."}
	}
	if scheme, _, ok := strings.Cut(p, ":"); ok && strings.EqualFold(scheme, "file") || strings.HasPrefix(p, "rootbound://") {
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "a URI", Next: "Send a path, not a URI."}
	}
	for rest, depth, steps := strings.TrimLeft(p, "/"), 0, 0; rest != ""; steps++ {
		var c string
		c, rest, _ = strings.Cut(rest, "/")
		if steps == maxSteps {
			return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "more than 8192 names", Next: "Send a shorter path."}
		}
		switch {
		case len(c) > maxName:
			return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "a name longer than 255 bytes", Next: "Use a shorter name: file systems hold none that is longer."}
		case c == "..":
			if depth--; depth < 0 {
				return refuse(rootbound.OutsideRoot, "")
			}
		case c != "" && c != ".":
			depth++
		}
	}
	return checkOS(p)
}

// Plain is Check for a path that is relative to a named project: not absolute, and every segment a name or ".". A slash at
// the end is allowed; whether it stands behind a directory is seen when the path is resolved. decoded says that p was
// decoded from a URI: there is no second look at what is encoded in it (contract §5).
func Plain(p string, decoded bool) *rootbound.Error {
	bad := func(why, next string) *rootbound.Error {
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: why, Next: next}
	}
	const plain = "Send a path relative to the project, without .. and doubled slashes."
	if p == "" {
		return bad("empty", `Send "." for the project itself.`)
	}
	if IsAbs(p) || isSeparator(p[0]) {
		return bad("absolute", plain)
	}
	if err := check(p, decoded); err != nil && err.Reason != rootbound.OutsideRoot {
		return err
	}
	for rest := p; rest != ""; {
		i := 0
		for i < len(rest) && !isSeparator(rest[i]) {
			i++
		}
		switch rest[:i] {
		case "":
			return bad("an empty segment", plain)
		case "..":
			return bad("a .. segment", plain)
		}
		rest = rest[min(i+1, len(rest)):]
	}
	return nil
}

func userName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return true
}

// encodedTraversal reports whether decoding once gives a ".." segment that was not there, or a NUL.
func encodedTraversal(p string) bool {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) {
			hi, lo := unhex(p[i+1]), unhex(p[i+2])
			if hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(p[i])
	}
	d := b.String()
	return strings.IndexByte(d, 0) >= 0 || climbs(d) > climbs(p)
}

func climbs(p string) (n int) {
	for c := range strings.SplitSeq(p, "/") {
		if c == ".." {
			n++
		}
	}
	return n
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
