package resource

import (
	"strings"

	"github.com/rootbound/rootbound"
)

// Scheme begins every URI of ours.
const Scheme = "rootbound://"

// Template is what clients are told the URIs look like (RFC 6570).
const Template = Scheme + "{project}/{+path}"

// URI names an object by its project and its path inside it, with "/" between names; "" and "." are the project itself.
// Nothing of the host is in it. Every byte but the unreserved ones of RFC 3986 §2.3 and the slash is percent-encoded, so
// the result is plain ASCII whatever the name is, and Parse gives back what went in.
func URI(project rootbound.RootID, path string) string {
	if path == "." {
		path = ""
	}
	var b strings.Builder
	b.Grow(len(Scheme) + len(project) + 1 + len(path) + 8)
	b.WriteString(Scheme)
	encode(&b, string(project), false)
	b.WriteByte('/')
	encode(&b, path, true)
	return b.String()
}

func encode(b *strings.Builder, s string, slash bool) {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		switch c := s[i]; {
		case unreserved(c), c == '/' && slash:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
}

// Parse reads a URI of ours: the project's id, and the path inside it, "." for the project itself. It decodes exactly once
// and repairs nothing (contract §5): what URL parsers drop, normalise or decode in two ways is refused, so that a proxy, a
// client and this server can never mean different objects by one URI. path has no empty, "." or ".." segment, no slash
// at either end and no NUL; it may hold every other byte and need not be UTF-8.
//
// Each object has one path, but not one URI: what need not be encoded may be. Compare what Parse gives, or URI of it.
//
// Errors are path_invalid, without the URI in their text.
func Parse(uri string) (project rootbound.RootID, path string, err error) {
	rest, ours := strings.CutPrefix(uri, Scheme)
	if !ours {
		return "", "", invalid("not a URI of this server")
	}
	id, rest, slash := strings.Cut(rest, "/")
	if !slash {
		return "", "", invalid("no slash behind the project")
	}
	name, bad := decode(id, unreserved)
	switch {
	case bad != "":
		return "", "", invalid(bad)
	case name == "":
		return "", "", invalid("no project")
	}
	if rest == "" {
		return rootbound.RootID(name), ".", nil
	}
	if path, bad = decode(rest, readable); bad != "" {
		return "", "", invalid(bad)
	}
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "":
			return "", "", invalid("an empty segment")
		case ".", "..":
			return "", "", invalid("a " + segment + " segment")
		}
	}
	return rootbound.RootID(name), path, nil
}

// decode undoes percent-encoding once. Bytes that are not plain must be encoded; an encoded slash would be a separator to
// one reader and part of a name to another, and no name holds a NUL.
func decode(s string, plain func(byte) bool) (out, bad string) {
	if !strings.Contains(s, "%") {
		for i := range len(s) {
			if !plain(s[i]) {
				return "", "a character that must be percent-encoded"
			}
		}
		return s, ""
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%':
			if i+2 >= len(s) {
				return "", "a broken percent-encoding"
			}
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi < 0 || lo < 0 {
				return "", "a broken percent-encoding"
			}
			c, i = byte(hi<<4|lo), i+2
			if c == '/' {
				return "", "an encoded slash"
			}
			if c == 0 {
				return "", "an encoded NUL"
			}
		case !plain(c):
			return "", "a character that must be percent-encoded"
		}
		b = append(b, c)
	}
	return string(b), ""
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// readable are the bytes that stand for themselves in a path (RFC 3986 §3.3): a query or a fragment begins with another.
func readable(c byte) bool {
	return unreserved(c) || strings.IndexByte("/:@!$&'()*+,;=", c) >= 0
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func invalid(why string) error {
	return &rootbound.Error{Reason: rootbound.PathInvalid, Op: rootbound.OpRead, Detail: why}
}
